"""Which profiles are taken to be there, where nobody can look?"""

from reconciler.model.sharing import EXCLUSIVE, LEAST_REPLICAS, MOST_REPLICAS, Profile, profile_name


def shipped_profiles() -> dict[str, Profile]:
    """The profiles that we ship, as far as counts go."""
    shared = {profile_name(count): Profile(count) for count in range(LEAST_REPLICAS, MOST_REPLICAS + 1)}
    return {EXCLUSIVE: Profile(), **shared}
