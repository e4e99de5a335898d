"""What do nodes look like whose device plugin is a service of the host? No pod, and a label that nobody follows."""

from dataclasses import replace

from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_config import SHARED
from reconciler.sandbox.plugin_script import GPU


def bottlerocket(machine: Machine, *, replicas: int = 1, renamed: bool = True) -> Machine:
    """The NVIDIA variant of Bottlerocket. How often a GPU shows is in its user data, and renaming is its default.

    Settings `kubelet-device-plugins.nvidia.time-slicing.{replicas,rename-by-default}`.
    """
    name = SHARED if renamed and replicas > 1 else GPU
    others = {key: count for key, count in machine.devices.items() if key != GPU}
    devices = {**others, name: machine.gpus * replicas}
    return replace(machine, devices=devices, plugin=None, os_image="Bottlerocket OS 1.50.0 (aws-k8s-1.36-nvidia)")


def auto_mode(machine: Machine) -> Machine:
    """EKS Auto Mode: the plugin is there and "isn't visible as a daemon set"."""
    labels = {**machine.labels, "eks.amazonaws.com/compute-type": "auto"}
    image = "Bottlerocket (EKS Auto, Nvidia) 2026.1.1 (aws-k8s-1.36-nvidia)"
    return replace(machine, labels=labels, plugin=None, os_image=image)
