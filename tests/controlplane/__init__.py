"""Our own reading of Kubernetes, checked on Kubernetes: real etcd, API server, scheduler, controllers and kubelets."""
