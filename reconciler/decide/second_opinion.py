"""Do GPU Feature Discovery, Node Feature Discovery and the GPU Operator say the same of a node as we do?

Their labels are read, never written, and never decide anything: they may be old, or of a run that sees other things.
What differs is told with both numbers, so that a person can look.
"""

import re
from collections.abc import Iterator

from reconciler.decide import label
from reconciler.decide.verdict import SILENT, Verdict
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import Source
from reconciler.model.sharing import Profile

_GFD = "GPU Feature Discovery"
_STRATEGY = "nvidia.com/gpu.sharing-strategy"
_ON_PCI_BUS = re.compile(r"^feature\.node\.kubernetes\.io/pci-(?:[0-9a-f]{4}_)?10de\.present$")
"""NFD's label for a device of NVIDIA's, with or without the device class before the maker's number."""

_BYTES_FROM = 1024 * 1024
"""A GPU of 1 TiB there is none: such a number is bytes, as some GFD 0.6 and 0.7 wrote (gpu-feature-discovery 26)."""

_ROUNDING_MIB = 1
"""GFD floors the same NVML total to MiB as we do."""

_CAUTION = 1.25
"""How far above our figure NVML's may lie while no probe has confirmed ours: it starts low, to be raised later."""

_BY_NVML = frozenset({Source.NVML, Source.LEARNED})
_SAYS_NOTHING = SILENT | {Reason.VM_WORKLOAD}
_NO_GPU = frozenset({Reason.NO_GPU, Reason.NOT_NVIDIA})


def opinions(node: NodeView, verdict: Verdict, profile: Profile | None) -> tuple[str, ...]:
    """Sentences about what differs, none where all agree or nobody else says anything.

    `profile` is the one that the node should have by now; None where there is none, or while the plugin switches: GFD
    looks once a minute.
    """
    if verdict.reason in _SAYS_NOTHING:
        return ()
    if verdict.reason in _NO_GPU:
        return tuple(_of_none(node))
    if verdict.reason is Reason.MIG:
        return tuple(_of_mig(node))  # all labels of GFD are of single MIG devices then
    return tuple(said for of in (_memory, _count, _product) if (said := of(node, verdict))) + tuple(
        (*_of_sharing(node, profile), *_of_mig(node))
    )


def _memory(node: NodeView, verdict: Verdict) -> str:
    text = node.labels.get(names.GFD_MEMORY)
    if text is None:
        return ""  # also where NVML has no figure: the label is left out then
    theirs = _number(text)
    if theirs is None:
        return f"{_GFD} says {text!r} as the memory of a GPU ({names.GFD_MEMORY}), which is no number"
    if theirs >= _BYTES_FROM:
        theirs //= MIB
    if verdict.reason is Reason.NO_NVML:
        return f"{_GFD} once read {theirs} MiB for each GPU ({names.GFD_MEMORY}), our probe nothing"
    ours = _number(verdict.labels.get(names.LABEL_MEMORY_MIB, ""))
    if ours is None or verdict.source is Source.NONE:
        return ""
    far = abs(ours - theirs) > _ROUNDING_MIB
    near = not far or (verdict.source not in _BY_NVML and ours < theirs <= ours * _CAUTION)
    if near:
        return ""
    return f"{_GFD} says {theirs} MiB for each GPU ({names.GFD_MEMORY}), {_whose(verdict.source)} {ours}"


def _count(node: NodeView, verdict: Verdict) -> str:
    theirs = _number(node.labels.get(names.GFD_COUNT, ""))
    readable = _number(verdict.labels.get(names.LABEL_COUNT, ""))  # fewer than there are, where one is lost
    ours = readable if readable is not None else verdict.count
    if theirs is None or ours < 1 or theirs == ours:
        return ""
    return f"{_GFD} counts {_plural(theirs, 'GPU')} ({names.GFD_COUNT}), we {ours}"


def _product(node: NodeView, verdict: Verdict) -> str:
    """GFD's name is NVML's, which says more than EC2's: `NVIDIA-A100-SXM4-40GB` is an `A100`."""
    theirs = node.labels.get(names.GFD_PRODUCT, "")
    bare = theirs.removesuffix("-SHARED")
    if not bare or not verdict.model:
        return ""
    if "-MIG-" in bare:
        return f"{_GFD} sees MIG devices ({names.GFD_PRODUCT}={theirs}), we saw none"
    if _words(label.plain_name(verdict.model)) <= _words(bare):
        return ""
    return f"{_GFD} names the GPU {theirs} ({names.GFD_PRODUCT}), we {verdict.model}"


def _of_sharing(node: NodeView, profile: Profile | None) -> Iterator[str]:
    if profile is None:
        return
    theirs = _number(node.labels.get(names.GFD_REPLICAS, ""))
    if theirs and theirs != profile.replicas:  # 0: sharing is out of the question, for a parent of MIG devices
        slots = _plural(theirs, "slot")
        why = "; it may run without the plugin's ConfigMap" if theirs == 1 else ""
        yield f"{_GFD} gives each GPU {slots} ({names.GFD_REPLICAS}), the profile {profile.replicas}{why}"
    strategy = node.labels.get(_STRATEGY, "")
    wanted = "none" if profile.replicas == 1 else "mps" if profile.mps else "time-slicing"
    if strategy not in ("", wanted):
        yield f"{_GFD} says that GPUs are shared by {strategy} ({_STRATEGY}), the profile says {wanted}"


def _of_mig(node: NodeView) -> Iterator[str]:
    state = node.labels.get(names.MIG_CONFIG_STATE, "success")
    if state != "success":
        yield f"the GPU Operator's MIG manager says {state!r} ({names.MIG_CONFIG_STATE})"


def _of_none(node: NodeView) -> Iterator[str]:
    """A node that has no GPU of NVIDIA's, as we know its type."""
    theirs = _number(node.labels.get(names.GFD_COUNT, ""))
    if theirs:
        product = node.labels.get(names.GFD_PRODUCT, "of NVIDIA's")
        yield f"{_GFD} counts {_plural(theirs, 'GPU')}, {product} ({names.GFD_COUNT}), we none of NVIDIA's"
    elif any(value == "true" and _ON_PCI_BUS.match(name) for name, value in node.labels.items()):
        yield "Node Feature Discovery sees a device of NVIDIA's on the PCI bus, we know of none"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[^a-z0-9]+", name.lower()) if word}


def _whose(source: Source) -> str:
    return "our probe" if source is Source.NVML else f"our figure ({source.value})"


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None
