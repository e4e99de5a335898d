"""controllers/echo.py: a node is looked at again when what we wrote shows, and no later than two seconds on."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest

from reconciler.controllers.echo import LONGEST, Echoes
from reconciler.model.node import NodeKey, NodeName, NodeView
from reconciler.model.plan import Action, Advertise, Announce, Done, Lost, Outcome, RunProbe
from reconciler.model.probe_state import NotProbed, Probing
from reconciler.model.reasons import Reason

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
KEY = NodeKey(NodeName("a"), "u1")
PATCH = Advertise(KEY)
PROBE = RunProbe(KEY, "b1", None)
TOLD = Announce(KEY, Reason.VERIFIED, "all is well")


def node(version: str, key: NodeKey = KEY) -> NodeView:
    return NodeView(key, None, "b1", True, NOW, {}, (), {}, {}, resource_version=version)


def wrote(*pairs: tuple[Action, Outcome], version: str = "7") -> Echoes:
    echoes = Echoes()
    echoes.wrote(node(version), NotProbed(), [action for action, _ in pairs], [outcome for _, outcome in pairs])
    return echoes


async def test_an_older_view_waits_and_one_that_shows_the_patch_does_not() -> None:
    echoes = wrote((TOLD, Done()), (PATCH, Done("9")))
    assert echoes.left(node("7"), NotProbed()) == timedelta(seconds=LONGEST)
    assert echoes.left(node("8"), NotProbed()) is not None, "somebody else's write came between"
    assert echoes.left(node("9"), NotProbed()) is None
    assert echoes.left(node("7"), NotProbed()) is None, "it was waited for once"


async def test_a_newer_view_shows_the_patch_too_and_numbers_are_no_texts() -> None:
    assert wrote((PATCH, Done("9"))).left(node("10"), NotProbed()) is None


async def test_versions_that_are_no_numbers_must_be_the_same() -> None:
    echoes = wrote((PATCH, Done("b-1")))
    assert echoes.left(node("z-9"), NotProbed()) is not None
    assert echoes.left(node("b-1"), NotProbed()) is None


async def test_an_echo_that_never_comes_is_waited_for_no_longer_than_that() -> None:
    echoes = wrote((PATCH, Done("9")))
    await anyio.sleep(LONGEST - 0.5)
    assert echoes.left(node("7"), NotProbed()) == timedelta(seconds=0.5)
    await anyio.sleep(0.5)
    assert echoes.left(node("7"), NotProbed()) is None


async def test_a_rest_that_no_time_span_can_tell_is_over() -> None:
    """Else the node would be looked at again at once, and again, before that time could pass."""
    echoes = wrote((PATCH, Done("9")))
    await anyio.sleep(LONGEST - 1e-7)
    assert echoes.left(node("7"), NotProbed()) is None


async def test_a_probe_that_was_started_is_waited_for_until_it_shows() -> None:
    echoes = wrote((PROBE, Done()))
    assert echoes.left(node("8"), NotProbed()) is not None
    assert echoes.left(node("7"), Probing(NOW)) is None


async def test_of_a_patch_and_a_probe_both_must_show() -> None:
    echoes = wrote((PATCH, Done("9")), (PROBE, Done()))
    assert echoes.left(node("9"), NotProbed()) is not None
    assert echoes.left(node("8"), Probing(NOW)) is not None
    assert echoes.left(node("9"), Probing(NOW)) is None


@pytest.mark.parametrize(
    ("action", "outcome"),
    [(TOLD, Done()), (PATCH, Lost("gone")), (PROBE, Lost("gone")), (PATCH, Done())],
    ids=["an event", "a lost patch", "a lost probe", "a patch in a dry run"],
)
async def test_what_leaves_no_mark_on_the_node_is_not_waited_for(action: Action, outcome: Outcome) -> None:
    assert wrote((action, outcome)).left(node("7"), NotProbed()) is None


async def test_a_namesake_and_a_node_that_is_gone_wait_for_nothing() -> None:
    assert wrote((PATCH, Done("9"))).left(node("7", NodeKey(KEY.name, "u2")), NotProbed()) is None
    echoes = wrote((PATCH, Done("9")))
    echoes.gone(KEY.name)
    assert echoes.left(node("7"), NotProbed()) is None
