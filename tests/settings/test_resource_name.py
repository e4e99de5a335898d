"""The rules are the API server's; tests on the real control plane show that it agrees."""

import pytest

from reconciler.settings import resource_name


@pytest.mark.parametrize(
    "name",
    [
        "gpu-reconciler.io/gpu-memory",
        "veriff.com/gpu-memory",
        "nvidia.com/gpu.shared",
        "example/x",
        "a.b-c.d/X_y.z-1",
        "kubernetes.io.example.com/memory",
        f"{'d' * 244}/x",
        f"example.com/{'n' * 63}",
    ],
)
def test_names_that_kubernetes_takes(name: str) -> None:
    assert resource_name.fault(name) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpu-memory", "no domain"),
        ("/gpu-memory", "no domain"),
        ("", "no domain"),
        ("kubernetes.io/gpu-memory", "below kubernetes.io"),
        ("node.kubernetes.io/gpu-memory", "below kubernetes.io"),
        ("mykubernetes.io/gpu-memory", "below kubernetes.io"),
        ("requests.example.com/gpu-memory", "requests."),
        ("Example.com/gpu-memory", "lower-case DNS"),
        ("exa_mple.com/gpu-memory", "lower-case DNS"),
        ("example..com/gpu-memory", "lower-case DNS"),
        ("example.com/gpu/memory", "more than one slash"),
        ("example.com/", "both ends"),
        ("example.com/-x", "both ends"),
        ("example.com/gpu memory", "both ends"),
        (f"{'d' * 245}/x", "245 characters"),
        (f"example.com/{'n' * 64}", "64 characters"),
    ],
)
def test_names_that_kubernetes_refuses(name: str, says: str) -> None:
    fault = resource_name.fault(name)
    assert fault is not None
    assert says in fault
