"""Law: environment and file become frozen Settings, once, and plain policies.

No other module reads a setting from the environment. Elsewhere is read only what is none: where the API server is, as
the kubelet tells every container (kube/connection.py); AWS's credentials (botocore); what the probe, a program of its
own, is told (probe/__main__.py).
"""
