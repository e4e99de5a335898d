"""Where is the device plugin?"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class PluginPlace:
    """As the settings say."""

    namespace: str
    config_map: str
    selector: str
    """Label selector of its pods, as the API takes it."""

    @classmethod
    def of(cls, config_map: str, selector: str) -> Self:
        """`config_map` as policies name it: `namespace/name`. The pods are in the same namespace."""
        namespace, _, name = config_map.partition("/")
        return cls(namespace, name, selector)
