"""A node joins and its GPUs are shared as its rule says, before any pod can meet it half configured."""

from reconciler.model import names
from tests.stories.sharing_stage import offered, profile, shared_machine, shares, sharing_stage
from tests.stories.telling import virtual


@virtual
async def test_behind_the_startup_taint_a_node_gets_its_profile_and_opens_with_both_answers_true() -> None:
    async with sharing_stage() as play:
        await play.join("a", shared_machine())
        assert (play.reason(), shares(play)) == ("True/Verified", "True/Sliced")
        assert (profile(play), offered(play)) == ("ts-4", 4)
        assert names.STARTUP_TAINT not in play.taints()
        await play.quiet()
