"""Law: machinery that could be a library. It knows keys, time and failure, and nothing of GPUs or Kubernetes."""
