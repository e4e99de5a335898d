"""Does the plugin's ConfigMap offer the profile that is wanted, and does it say what its name says?"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide import wish
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.wish import Wish
from reconciler.model.policy import SlicingPolicy
from reconciler.model.quoting import quoted
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import PluginConfig, Profile, UnusableProfile

_MOST_KEYS = 10
"""Of the ConfigMap, that a sentence names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the profile cannot be used, and what a person can do."""

    reason: SharingReason
    because: str


def of(wanted: Wish, facts: SharingFacts, policy: SlicingPolicy) -> Profile | Fault:
    """The profile, or what is wrong with it."""
    key, where, plugin = wanted.profile, f"ConfigMap {policy.config_map}", facts.plugin
    if plugin is None and not facts.plugin_readable:
        return Fault(
            SharingReason.PROFILE_MISSING,
            f"{where} may not be read: apply deploy/manifests/sharing, or name the one that may be in"
            " slicing.config_map",
        )
    if plugin is None:
        return Fault(
            SharingReason.PROFILE_MISSING,
            f"{where} does not exist: apply the one that `gpu-reconciler profiles` prints, or name yours in"
            " slicing.config_map",
        )
    match plugin.profiles.get(key):
        case None:
            return Fault(
                SharingReason.PROFILE_MISSING,
                f"{where} has no key {key} ({_keys(plugin)}): add it as `gpu-reconciler profiles` prints it",
            )
        case UnusableProfile(why):
            return Fault(
                SharingReason.PROFILE_INVALID,
                f"the plugin would refuse key {key} of {where}: {quoted(why)}. Put a corrected one under a new key:"
                " what is edited under its name is not picked up",
            )
        case Profile(mps=True):
            return Fault(
                SharingReason.MPS, f"key {key} of {where} shares by MPS, which is left alone: name another key"
            )
        case Profile() as profile:
            return _judged(wanted, profile, where)


def _judged(wanted: Wish, profile: Profile, where: str) -> Profile | Fault:
    """A key of ours must hold the count that is in its name; a key that a person named may hold any."""
    if wanted.replicas is None or profile.replicas == wanted.replicas:
        return profile
    says = f"{profile.replicas} replicas" if profile.replicas > 1 else "no sharing"
    return Fault(
        SharingReason.PROFILE_INVALID,
        f"key {wanted.profile} of {where} says {says}, its name says"
        f" {f'{wanted.replicas} replicas' if wanted.replicas > 1 else 'no sharing'}: correct the key as"
        " `gpu-reconciler profiles` prints it, or name it in the rule as `profile`",
    )


def mounts_in(facts: SharingFacts, policy: SlicingPolicy, now: datetime) -> timedelta | None:
    """How long until the plugin's pods are sure to see the ConfigMap as it is; None: they do now.

    A config-manager that finds a key missing ends, and a label set too early is a crash loop (nebuly-ai/nos 57). A pod
    that starts later mounts what is there by then.
    """
    changed = facts.plugin.changed if facts.plugin is not None else None
    if changed is None or all(pod.started is not None and pod.started > changed for pod in facts.pods):
        return None
    age = max(timedelta(0), now - changed)
    return policy.mounted_after - age if age < policy.mounted_after else None


def _keys(plugin: PluginConfig) -> str:
    keys = sorted(plugin.profiles, key=lambda key: (wish.replicas_of(key) or 0, key))
    if not keys:
        return "it has none"
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    return f"it has {', '.join(keys[:_MOST_KEYS])}{more}"
