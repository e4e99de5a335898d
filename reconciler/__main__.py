"""`python -m reconciler`: the same program as `gpu-reconciler`."""

from reconciler.cli import main

main()
