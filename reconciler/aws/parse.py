"""What does an entry of DescribeInstanceTypes say about GPUs? From botocore's dict to a model value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reconciler.aws.builtin import Builtin, accelerator
from reconciler.model.fields import LARGEST_MIB, MOST_GPUS
from reconciler.model.gpu import GpuSpec, NoGpu, SpecAnswer, SpecUnknown, Vendor
from reconciler.model.node import InstanceType

_VENDORS = {"nvidia": Vendor.NVIDIA, "amd": Vendor.AMD, "habana": Vendor.HABANA}

# Where EC2 lists what is no GPU: the part of the answer, the list in it. Neuron devices stand in two places.
_ACCELERATOR_LISTS = (
    ("NeuronInfo", "NeuronDevices"),
    ("InferenceAcceleratorInfo", "Accelerators"),
    ("FpgaInfo", "Fpgas"),
    ("MediaAcceleratorInfo", "Accelerators"),
)

_LARGEST_MIB = MOST_GPUS * LARGEST_MIB
"""EC2 has given the sum of all GPUs for each."""


class FieldError(ValueError):
    """A field that must be there is missing or of the wrong kind; the text names it."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One entry of GpuInfo.Gpus, without its count."""

    model: str
    vendor: Vendor
    mib: int
    partition: float | None


def spec(entry: Mapping[str, Any], builtin: Builtin) -> SpecAnswer:
    """EC2's answer on one type. An entry that cannot be understood is SpecUnknown and names the field."""
    instance_type = InstanceType(str(entry.get("InstanceType", "")))
    info = entry.get("GpuInfo")
    if not info:
        return _without_gpus(instance_type, entry, builtin)
    try:
        gpus = _list(info, "Gpus", "GpuInfo")
        kinds = [_kind(gpu, f"GpuInfo.Gpus[{place}]") for place, gpu in enumerate(gpus)]
        count = sum(_count(gpu, f"GpuInfo.Gpus[{place}]") for place, gpu in enumerate(gpus))
        if count > MOST_GPUS:
            raise FieldError(f"GpuInfo.Gpus counts {count}, and no instance has more than {MOST_GPUS}")
    except FieldError as error:
        return SpecUnknown(instance_type, f"EC2's answer on {instance_type} cannot be read: {error}")
    if len(set(kinds)) != 1:
        listed = " and ".join(sorted(f"{kind.model} with {kind.mib} MiB" for kind in set(kinds)))
        return SpecUnknown(
            instance_type,
            f"EC2 lists several kinds of GPU for {instance_type} ({listed}): one figure per GPU cannot be true of "
            "both; set its memory by hand (settings: capacity.overrides)",
        )
    kind, row = kinds[0], builtin.row(instance_type)
    partition = kind.partition or (row.partition if row else 1.0)
    said = GpuSpec(
        instance_type=instance_type,
        model=kind.model,
        vendor=kind.vendor,
        count=count,
        # As it came, also where EC2 gives the sum of all GPUs for each (g6.12xlarge until 2025-04): the row beside it
        # shows the difference, and decide/ is where the two are judged.
        ec2_mib=kind.mib,
        partition=partition,
    )
    return replace(said, builtin=builtin.beside(said))


def _without_gpus(instance_type: InstanceType, entry: Mapping[str, Any], builtin: Builtin) -> SpecAnswer:
    for part, key in _ACCELERATOR_LISTS:
        info = entry.get(part)
        if not isinstance(info, Mapping):
            continue
        devices = info.get(key)
        device = devices[0] if isinstance(devices, Sequence) and devices else None
        name = device.get("Name") if isinstance(device, Mapping) else None
        maker = device.get("Manufacturer") if isinstance(device, Mapping) else None
        words = [str(word) for word in (maker, name) if word]
        if name and maker and str(name).startswith(str(maker)):  # "Qualcomm AI100" of Qualcomm
            words = [str(name)]
        return NoGpu(instance_type, accelerator(instance_type) or " ".join(words) or part.removesuffix("Info"))
    # p6e-gb200 has four GPUs per instance, and EC2 publishes no GpuInfo for it.
    known = builtin.answer(instance_type, f"EC2 describes {instance_type} without its GPUs")
    return known if isinstance(known, GpuSpec) else NoGpu(instance_type, accelerator(instance_type))


def _kind(gpu: Any, where: str) -> _Kind:
    if not isinstance(gpu, Mapping):
        raise FieldError(f"{where} is not an object")
    memory = gpu.get("MemoryInfo")
    mib = _number(memory, "SizeInMiB", f"{where}.MemoryInfo", _LARGEST_MIB) if isinstance(memory, Mapping) else None
    if not mib:
        raise FieldError(f"{where}.MemoryInfo.SizeInMiB is missing")
    return _Kind(
        model=_text(gpu, "Name", where),
        vendor=_VENDORS.get(_text(gpu, "Manufacturer", where).lower(), Vendor.OTHER),
        mib=mib,
        partition=_partition(gpu, where),
    )


def _count(gpu: Mapping[str, Any], where: str) -> int:
    """LogicalGpuCount where there is one, else Count, which is 0 for slices by AWS's intent; 0: EC2 does not say."""
    return _number(gpu, "LogicalGpuCount", where, MOST_GPUS) or _number(gpu, "Count", where, MOST_GPUS) or 0


def _partition(gpu: Mapping[str, Any], where: str) -> float | None:
    value = gpu.get("GpuPartitionSize")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise FieldError(f"{where}.GpuPartitionSize is {value!r}, not a share above 0 and up to 1")
    return float(value)


def _number(entry: Mapping[str, Any], key: str, where: str, most: int) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise FieldError(f"{where}.{key} is {value!r}, not a whole number from 0 to {most}")
    return value


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise FieldError(f"{where}.{key} is missing")
    return value


def _list(entry: Any, key: str, where: str) -> Sequence[Any]:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise FieldError(f"{where}.{key} is missing or empty")
    return value
