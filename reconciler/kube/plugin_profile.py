"""How does one key of the device plugin's ConfigMap share GPUs? NVIDIA's file, read as NVIDIA's plugin reads it.

NVIDIA/k8s-device-plugin, api/config/v1 (config.go, sharing.go, replicas.go): YAML becomes JSON, and that Go structs.
So unknown fields are passed over, the structs' own names match in any case, those of the hand-read ones do not, and
only the first document counts. `renameByDefault` under `flags` is such an unknown field: it does nothing.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reconciler.kube.plugin_yaml import NotYaml, first_document
from reconciler.model import names
from reconciler.model.fields import FieldError, Fields
from reconciler.model.sharing import LEAST_REPLICAS, Profile, UnusableProfile

_MIG_STRATEGIES = ("none", "single", "mixed")
_PREFIX = "nvidia.com/"
"""What the plugin puts before a resource name that lacks it (resources.go, NewResourceName)."""
_MOST_REPLICAS = 2**31 - 1


@lru_cache(maxsize=256)
def profile(text: str) -> Profile | UnusableProfile:
    """What the plugin would make of this text. Total: what it would refuse is a value that says why."""
    try:
        document = first_document(text)
        return Profile() if document is None else _profile(Fields.of(document))
    except NotYaml as error:
        return UnusableProfile(str(error))
    except FieldError as error:
        return UnusableProfile(str(error).replace("JSON object", "map"))
    except ValueError:  # YAML reads hexadecimal of any length, and Python writes out no more than 4300 digits
        return UnusableProfile("a number in it is too long to be read")


def _profile(config: Fields) -> Profile:
    version = _any_case(config, "version")
    if version not in (None, "", "v1"):
        raise FieldError(f"version is {str(version)[:40]!r}, not v1")
    _judge_flags(config)
    sharing = _any_case(config, "sharing")
    if sharing is None:
        return Profile()
    found = Fields.of(sharing, "sharing")
    sliced = _replicated(found, "timeSlicing")
    mps = _replicated(found, "mps") if _any_case(found, "mps") is not None else None
    if mps is not None:  # the plugin prefers it (sharing.go, ReplicatedResources)
        return Profile(mps.replicas, mps.renamed, mps=True)
    return sliced if sliced is not None else Profile()


def _judge_flags(config: Fields) -> None:
    flags = _any_case(config, "flags")
    if flags is None:
        return
    strategy = _any_case(Fields.of(flags, "flags"), "migStrategy")
    if strategy is not None and strategy not in _MIG_STRATEGIES:
        raise FieldError(f"flags.migStrategy is {str(strategy)[:40]!r}, not one of {', '.join(_MIG_STRATEGIES)}")


def _replicated(sharing: Fields, key: str) -> Profile | None:
    """What `timeSlicing` or `mps` makes of `nvidia.com/gpu`; None where the key is not there.

    A key with nothing behind it is not the same: Go hands null to the struct's own reader, which misses `resources`.
    """
    spelt = _spelling(sharing.entry, key)
    if spelt is None:
        return None
    path = sharing.name(key)
    found = Fields.of(sharing.entry[spelt] if sharing.entry[spelt] is not None else {}, path)
    renamed = found.flag("renameByDefault") if found.has("renameByDefault") else False
    if found.has("failRequestsGreaterThanOne"):
        found.flag("failRequestsGreaterThanOne")
    resources = found.objects("resources") if found.has("resources") else []
    if not resources:
        raise FieldError(f"{path}.resources is missing or empty; leave `sharing` out where nothing is shared")
    counts = [(_resource(one), _count(one)) for one in resources]
    gpu = max((count for name, count in counts if name == names.GPU_RESOURCE), default=None)
    return Profile() if gpu is None else Profile(gpu, renamed)


def _resource(entry: Fields) -> str:
    name = entry.text("name")
    return name if name.startswith(_PREFIX) else _PREFIX + name


def _count(entry: Fields) -> int:
    value = entry.entry.get("replicas")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # Go writes 4.0 as 4 on the way through JSON
    if isinstance(value, bool) or not isinstance(value, int):
        raise (
            entry.wrong("replicas", "a whole number")
            if "replicas" in entry.entry
            else FieldError(f"{entry.name('replicas')} is missing")
        )
    if not LEAST_REPLICAS <= value <= _MOST_REPLICAS:
        why = "; leave `sharing` out where nothing is shared" if value == 1 else ""
        raise FieldError(f"{entry.name('replicas')} is {value}; the plugin takes {LEAST_REPLICAS} or more{why}")
    return value


def _any_case(fields: Fields, key: str) -> Any:
    """The value under a name that Go's JSON matches in any case."""
    spelt = _spelling(fields.entry, key)
    return None if spelt is None else fields.entry[spelt]


def _spelling(entry: Mapping[Any, Any], key: str) -> str | None:
    if key in entry:
        return key
    return next((one for one in entry if isinstance(one, str) and one.lower() == key.lower()), None)
