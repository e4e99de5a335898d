"""Which labels will Karpenter give a node of this type? Only those that what we know of types can tell.

As karpenter-provider-aws makes them: pkg/providers/instancetype/types.go, computeRequirements.
"""

import re
from collections.abc import Iterable

from reconciler.decide.requirement import Labels
from reconciler.model import names
from reconciler.model.gpu import GpuSpec
from reconciler.model.node import InstanceType

_PREFIX = f"{names.KARPENTER_AWS}instance-"
_SCHEME = re.compile(r"(^[a-z]+)(-[0-9]+tb)?([0-9]+)(?P<rest>.*)\.(?P<size>[^.]+)$")
"""Karpenter's own pattern, with what is left of the family and the size."""
_ARM = re.compile(r"^g|-gb\d")
"""Graviton is a `g` in the first place behind the generation (g5g), Grace the GB200's own half (p6e-gb200)."""


def of(kind: InstanceType, specs: Iterable[GpuSpec]) -> Labels:
    """What may stand on a node of the type. Where sources differ, each of their values may."""
    labels: dict[str, frozenset[str]] = {
        names.LABEL_INSTANCE_TYPE: frozenset({kind}),
        names.LABEL_OS: frozenset({"linux"}),  # the probe and the driver's figures are of Linux
    }
    found = _SCHEME.match(kind)
    if found is not None:
        arm = bool(_ARM.search(found["rest"]))
        labels |= {
            f"{_PREFIX}category": frozenset({found[1]}),
            f"{_PREFIX}generation": frozenset({found[3]}),
            f"{_PREFIX}family": frozenset({kind.partition(".")[0]}),
            f"{_PREFIX}size": frozenset({found["size"]}),
            names.LABEL_ARCH: frozenset({"arm64" if arm else "amd64"}),
        }
    return {**labels, **_gpu(list(specs))}


def _gpu(specs: list[GpuSpec]) -> Labels:
    models, counts, memories = set[str](), set[str](), set[str]()
    for spec in specs:
        row = spec.builtin
        models |= {spec.model} | ({row.model} if row is not None and row.instance_type == spec.instance_type else set())
        counts |= {str(spec.count)} | ({"0"} if spec.fractional else set())  # `Count`: 0 for a part of a GPU (g6f)
        memories |= {str(spec.ec2_mib)} if spec.ec2_mib else set()
        if row is not None and row.ec2_mib is not None and row.instance_type == spec.instance_type:
            memories.add(str(row.ec2_mib))
    labels = {
        f"{_PREFIX}gpu-name": frozenset(model.lower().replace(" ", "-") for model in models if model),
        f"{_PREFIX}gpu-manufacturer": frozenset(str(spec.vendor) for spec in specs),
        f"{_PREFIX}gpu-count": frozenset(counts),
        f"{_PREFIX}gpu-memory": frozenset(memories),
    }
    return {key: values for key, values in labels.items() if values}
