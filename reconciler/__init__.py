"""gpu-reconciler: keeps the GPU memory that nodes advertise true, for as long as they live.

Rooms, from the top: `cli`, `app`, `controllers` and `settings`, then the siblings `decide`, `kube`, `aws`, `probe`,
`sandbox` and `serve`, and at the bottom `model` and `runtime`. docs/architecture.md tells their laws.
"""
