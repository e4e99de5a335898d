"""Which profiles does the device plugin's ConfigMap offer, and since when?"""

from datetime import datetime

from msgspec import Raw

from reconciler.kube import managed_fields, plugin_profile
from reconciler.kube.parse import EPOCH, Odd, moment
from reconciler.kube.wire import ABSENT, ConfigMapWire, Meta
from reconciler.model.sharing import PluginConfig, Profile, UnusableProfile

LARGEST = 64 * 1024
"""Bytes of all profiles together that are read, in the order of their names: YAML is read slowly."""


class PluginConfigMeta(Meta, rename="camel"):
    managed_fields: Raw = ABSENT


class PluginConfigWire(ConfigMapWire, rename="camel"):
    metadata: PluginConfigMeta
    binary_data: dict[str, Raw] | None = None


def plugin_config(wire: PluginConfigWire, odd: Odd) -> PluginConfig:
    """Each key by itself: one that the plugin would refuse does not spoil the others."""
    profiles: dict[str, Profile | UnusableProfile] = {}
    left = LARGEST
    for key, text in sorted((wire.data or {}).items()):
        left -= len(text or "")
        if left < 0:
            profiles[key] = UnusableProfile(f"the profiles have more than {LARGEST} bytes together: this is not read")
        else:
            profiles[key] = plugin_profile.profile(text or "")
    for key in wire.binary_data or ():
        profiles[key] = UnusableProfile("it is under binaryData, so it is no text")
    return PluginConfig(profiles, _changed(wire.metadata, odd))


def _changed(meta: PluginConfigMeta, odd: Odd) -> datetime | None:
    at = managed_fields.last_change(meta.managed_fields)
    if at is not None:
        return at
    created = moment(meta.creation_timestamp, odd, "metadata.creationTimestamp")
    return None if created == EPOCH else created
