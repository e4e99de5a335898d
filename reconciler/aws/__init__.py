"""Law: the only door to AWS. Blocking calls go to worker threads; answers leave as model values."""
