"""Which labels tell pods and people about a node's GPUs?"""

import re
from collections.abc import Mapping

from reconciler.model import names
from reconciler.model.record import Source

_LONGEST = 63
"""Characters of a label value (apimachinery, LabelValueMaxLength)."""
_MAKERS = re.compile(r"^(?:(?:nvidia|tesla)[ -]+)+", re.IGNORECASE)


def of(model: str, largest_mib: int, count: int, source: Source) -> Mapping[str, str]:
    """Our labels. A model of which no valid label value can be made is left out."""
    labels = {
        names.LABEL_MEMORY_MIB: str(largest_mib),
        names.LABEL_COUNT: str(count),
        names.LABEL_SOURCE: source.value,
    }
    value = valid(model)
    return {names.LABEL_MODEL: value} | labels if value else labels


def valid(text: str) -> str:
    """The nearest valid label value: spaces and what else is not allowed become hyphens."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:_LONGEST].strip("-_.")


def plain_name(nvml_name: str) -> str:
    """NVML's product name without the maker: `Tesla T4` and `NVIDIA L4` are EC2's `T4` and `L4`."""
    return _MAKERS.sub("", nvml_name).strip()
