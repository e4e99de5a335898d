"""How is a setting spelled in the file and in the environment, and which one did somebody mean?"""

import difflib
from collections.abc import Collection

from reconciler.settings.shape import SettingPath

PREFIX = "GPU_RECONCILER_"
DELIMITER = "__"
CONFIG = f"{PREFIX}CONFIG"
"""Names the settings file; the only variable with the prefix that is no setting."""

BORROWED: dict[str, SettingPath] = {
    "AWS_REGION": ("aws", "region"),
    "AWS_DEFAULT_REGION": ("aws", "region"),
    "KUBECONFIG": ("kubernetes", "kubeconfig"),
}
"""Well-known variables that count where our own is not set; the first that is set wins."""

_GROUP_AND_FIELD = 2

_TELLING = 3
"""Characters that a last part must exceed to say what was meant."""


def in_file(path: SettingPath) -> str:
    """`capacity.margin_mib`; a part with a dot of its own is quoted; `slicing.rules[2]` is the third rule."""
    spelled = ".".join(f'"{part}"' if "." in part else part for part in path)
    return spelled.replace(".[", "[")


def in_environment(path: SettingPath) -> str:
    """`GPU_RECONCILER_CAPACITY__MARGIN_MIB`; what lies in a map or a list is spelled by that, its value is JSON."""
    return PREFIX + DELIMITER.join(path[:_GROUP_AND_FIELD]).upper()


def meant(wrong: str, known: Collection[str]) -> str | None:
    """The known spelling that is most like this one, or that ends like it; None when none is near."""
    bare = {name.removeprefix(PREFIX): name for name in known}
    wanted = wrong.removeprefix(PREFIX)
    near = difflib.get_close_matches(wanted, bare, n=1, cutoff=0.75)
    if near:
        return bare[near[0]]
    last = wanted.replace(DELIMITER, ".").rpartition(".")[2].lower()
    return next((bare[name] for name in bare if name.lower().endswith(last) and len(last) > _TELLING), None)
