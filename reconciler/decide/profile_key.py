"""May a rule use this key of the device plugin's ConfigMap, whatever node it is for?"""

from dataclasses import dataclass

from reconciler.decide import label, wish
from reconciler.model import names
from reconciler.model.sharing import Profile, UnusableProfile


@dataclass(frozen=True, slots=True)
class Judged:
    key: str
    usable: bool
    says: str
    """What the plugin makes of a GPU by it, or what is wrong."""
    replicas: int | None = None
    """None: the plugin would refuse the key."""
    renamed: bool = False
    mps: bool = False


def judge(key: str, profile: Profile | UnusableProfile) -> Judged:
    """The judgement on one key."""
    if isinstance(profile, UnusableProfile):
        return Judged(key, False, f"the plugin would refuse it: {profile.why}")
    fault = _fault(key, profile)
    as_name = f" as {names.GPU_SHARED_RESOURCE}" if profile.renamed else ""
    says = fault or f"{shows(profile.replicas)}{as_name}"
    return Judged(key, not fault, says, profile.replicas, profile.renamed, profile.mps)


def shows(replicas: int) -> str:
    """What becomes of one GPU, as a clause."""
    return "each GPU shows once" if replicas == 1 else f"each GPU shows {replicas} times"


def _fault(key: str, profile: Profile) -> str:
    if label.valid(key) != key:
        return "no node can name it: a label's value has at most 63 letters and digits, and between them also - _ and ."
    if profile.mps:
        return "it shares by MPS, which is left alone"
    if wish.replicas_of(key) not in (None, profile.replicas):
        return f"its name promises something else: {shows(profile.replicas)}"
    return ""
