"""Law: what others may ask of the running controller over HTTP: health, readiness, metrics."""
