"""Which profiles are taken to be there, where nobody can look?"""

from collections.abc import Mapping

from reconciler.kube import shipped_profiles as shipped
from reconciler.kube.plugin_profile import profile
from reconciler.model.sharing import Profile, UnusableProfile


def shipped_profiles() -> Mapping[str, Profile | UnusableProfile]:
    """Those that we ship, as the device plugin would read them."""
    return {key: profile(text) for key, text in shipped.contents().items()}
