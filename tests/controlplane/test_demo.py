"""Does the demo's story play on the real control plane as it does on the embedded one?"""

import pytest

from tests.demo import running


@pytest.mark.timeout(400)
@pytest.mark.controlplane
def test_the_same_story_plays_on_the_real_control_plane() -> None:
    """The sandbox's kubelets, the real scheduler and controllers, and the controller with its shipped rights."""
    ended = running.run("--real")
    assert ended.told() == list(running.STORY), ended.output
    assert (ended.code, ended.left) == (0, ())
