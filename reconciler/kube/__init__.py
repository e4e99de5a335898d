"""Law: the only door to Kubernetes. Bytes are parsed here, once; no dict and no ApiException leaves."""
