"""decide/overlays.py: what is done so that overlays stand as they should."""

from dataclasses import replace

import pytest

from reconciler.model.node_pool import Requirement
from reconciler.model.overlay import (
    OverlayPolicy,
    OverlayReason,
    OverlayView,
    RemoveOverlay,
    Subject,
)
from reconciler.model.quantity import MIB
from tests.decide.paper_overlays import (
    MEMORY,
    facts,
    need,
    overlay,
    plan,
    pool,
    sentence,
    types,
)

T4 = {MEMORY: 14592 * MIB}


def ours(name: str, capacity: dict[str, int], *needs: Requirement, weight: int = 10, **others: object) -> OverlayView:
    return overlay(name, capacity, *needs, weight=weight, subject=Subject.MEMORY, **others)  # type: ignore[arg-type]  # as there


HERE = pool("dev", types("g4dn.xlarge"))
STANDS = ours("gpu-reconciler-memory-14592mi", T4, types("g4dn.xlarge"))


@pytest.mark.parametrize(
    ("found", "action"),
    [
        (STANDS, ""),
        (replace(STANDS, weight=11), "change"),
        (replace(STANDS, capacity={MEMORY: 1}), "change"),
        (replace(STANDS, capacity={**T4, "example.com/more": 1}), "change"),
        (replace(STANDS, requirements=(types("g4dn.xlarge", "g5.xlarge"),)), "change"),
        (replace(STANDS, requirements=()), "change"),
        (replace(STANDS, requirements=(*STANDS.requirements, need("a", "Exists"))), "change"),
        (replace(STANDS, subject=Subject.GPUS), "change"),
        (replace(STANDS, resource_version="8"), ""),
    ],
)
def test_an_overlay_of_ours_is_changed_where_it_differs_and_only_there(found: OverlayView, action: str) -> None:
    what = plan(facts(HERE, overlays=[found]))
    assert [(type(one).__name__, getattr(one, "over", None)) for one in what.actions] == (
        [("WriteOverlay", found)] if action else []
    )


def test_what_is_not_wanted_any_more_goes_first_and_nobody_elses_ever() -> None:
    old = ours("gpu-reconciler-memory-1mi", {MEMORY: MIB}, types("g4dn.xlarge"))
    theirs = overlay("price", {}, types("g4dn.xlarge"))
    what = plan(facts(HERE, overlays=[theirs, old]))
    assert what.actions[0] == RemoveOverlay(old.name, old.uid)
    assert len(what.actions) == 2

    none = plan(facts(overlays=[theirs, old, STANDS]))
    assert none.actions == (RemoveOverlay(STANDS.name, STANDS.uid), RemoveOverlay(old.name, old.uid))


def test_without_word_on_nodepools_nothing_is_removed_on_a_guess() -> None:
    """A right that was taken away, or a server that forgot the kind, looks like no NodePools at all."""
    what = plan(facts(overlays=[STANDS], pools_known=False))
    assert (what.actions, what.revisit) == ((), OverlayPolicy().look_again)
    assert plan(facts(pools_known=False)).revisit is None


def test_a_cluster_that_does_not_know_the_kind_is_told_what_is_missing() -> None:
    what = plan(facts(HERE, overlays_known=False))
    assert (what.actions, what.revisit) == ((), OverlayPolicy().look_again)
    assert "nodeoverlays.karpenter.sh" in sentence(what, OverlayReason.NO_KIND)
    assert plan(facts(overlays_known=False)).findings == ()
