"""Law: environment and file become frozen Settings, once, and plain policies; the only reader of the environment."""
