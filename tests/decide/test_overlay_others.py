"""decide/overlays.py: what about other people's overlays, and what Karpenter says of ours."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.model.node_pool import Requirement
from reconciler.model.overlay import (
    OverlayReason,
    OverlayView,
    Subject,
)
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.quantity import MIB
from reconciler.model.sharing import Replicas
from tests.decide.fake_node import NOW
from tests.decide.paper_overlays import (
    FAMILY,
    GPU,
    MEMORY,
    SLICES,
    facts,
    gpus_of,
    memory_of,
    need,
    overlay,
    plan,
    pool,
    reasons,
    sentence,
    types,
)

SMALL = types("g4dn.xlarge", "g4dn.2xlarge", "g5.xlarge")
T4 = {MEMORY: 14592 * MIB}
SLICED_DEV = SlicingPolicy(rules=(SlicingRule(Replicas(4), node_pools=frozenset({"dev"})),))


def ours(name: str, capacity: dict[str, int], *needs: Requirement, weight: int = 10, **others: object) -> OverlayView:
    return overlay(name, capacity, *needs, weight=weight, subject=Subject.MEMORY, **others)  # type: ignore[arg-type]  # as there


HERE = pool("dev", types("g4dn.xlarge"))
STANDS = ours("gpu-reconciler-memory-14592mi", T4, types("g4dn.xlarge"))


def test_an_overlay_of_the_same_weight_is_left_its_types() -> None:
    """Karpenter would apply one of the two to nothing at all, and which one is a matter of names."""
    theirs = overlay("theirs", {MEMORY: MIB}, types("g4dn.xlarge"), weight=10)
    what = plan(facts(pool("dev", SMALL), pool("prod", SMALL), overlays=[theirs]))
    assert (memory_of(what, "g4dn.xlarge"), memory_of(what, "g4dn.2xlarge")) == (None, 14592)
    assert "for g4dn.xlarge with the same weight as ours (10)" in sentence(what, OverlayReason.YIELDED)


def test_where_theirs_is_for_one_nodepool_ours_names_the_others() -> None:
    one_pool = need("karpenter.sh/nodepool", "In", "dev")
    theirs = overlay("theirs", {MEMORY: MIB}, types("g4dn.xlarge"), one_pool, weight=10)
    here = (pool("dev", SMALL), pool("prod", SMALL))
    what = plan(facts(*here, overlays=[theirs]))
    assert (memory_of(what, "g4dn.xlarge"), memory_of(what, "g4dn.xlarge", "prod")) == (None, 14592)

    elsewhere = facts(pool("dev", types("g5.xlarge")), pool("prod", SMALL), overlays=[theirs])
    (limited,) = [one for one in plan(elsewhere).wanted if "g4dn.xlarge" in one.types]
    assert limited.pool == "prod", "Karpenter sees theirs meet ours in dev, which cannot even launch the type"


@pytest.mark.parametrize(
    ("theirs", "yields"),
    [
        (overlay("t", {MEMORY: 1}, weight=10), True),
        (overlay("t", {MEMORY: 1}, need(FAMILY, "In", "g4dn"), weight=10), True),
        (overlay("t", {MEMORY: 1}, need("karpenter.sh/capacity-type", "In", "spot"), weight=10), True),
        (overlay("t", {MEMORY: 1}, need("topology.kubernetes.io/zone", "In", "a"), weight=10), True),
        (overlay("t", {MEMORY: 1}, need("team", "In", "x"), weight=10), True),
        (overlay("t", {MEMORY: 1}, need("team", "In", "y"), weight=10), False),
        (overlay("t", {MEMORY: 1}, need("other", "In", "x"), weight=10), False),
        (overlay("t", {MEMORY: 1}, need("other", "NotIn", "x"), weight=10), True),
        (overlay("t", {MEMORY: 1}, need("karpenter.k8s.aws/instance-cpu", "In", "4"), weight=10), False),
        (overlay("t", {MEMORY: 1}, types("g5.xlarge"), weight=10), False),
        (overlay("t", {GPU: 1}, weight=10), False),
        (overlay("t", {}, weight=10), False),
        (overlay("t", {MEMORY: 1}, weight=9), False),
        (overlay("t", {MEMORY: 1}, weight=11), False),
    ],
)
def test_theirs_meets_ours_as_karpenter_matches_overlays(theirs: OverlayView, yields: bool) -> None:
    here = pool("dev", types("g4dn.xlarge"), labels={"team": "x"})
    what = plan(facts(here, overlays=[theirs]))
    assert (memory_of(what, "g4dn.xlarge") is None) is yields
    assert (OverlayReason.YIELDED in reasons(what)) is yields


def test_slices_step_back_from_an_overlay_of_the_same_weight_too() -> None:
    theirs = overlay("theirs", {GPU: 2}, types("g5.xlarge"), weight=10)
    what = plan(facts(pool("dev", SMALL), overlays=[theirs]), SLICES, slicing=SLICED_DEV)
    assert (gpus_of(what, "g5.xlarge"), gpus_of(what, "g4dn.xlarge")) == (None, 4)
    assert "sets nvidia.com/gpu for g5.xlarge" in sentence(what, OverlayReason.YIELDED)


@pytest.mark.parametrize(
    ("weight", "reason", "says"),
    [
        (11, OverlayReason.OUTVOTED, "with weight 11, which is more than ours (10): Karpenter goes by theirs"),
        (0, OverlayReason.OUTVOTES, "with weight 0, which is less than ours (10): Karpenter goes by ours"),
    ],
)
def test_another_weight_settles_it_and_is_said(weight: int, reason: OverlayReason, says: str) -> None:
    theirs = overlay("theirs", {MEMORY: MIB, "other": 1}, types("g4dn.xlarge", "m5.large"), weight=weight)
    what = plan(facts(HERE, overlays=[theirs]))
    assert memory_of(what, "g4dn.xlarge") == 14592
    assert f"NodeOverlay theirs sets {MEMORY} for g4dn.xlarge {says}" == sentence(what, reason)
    assert [finding.warning for finding in what.findings] == [weight > 10]


def test_a_name_that_somebody_else_has_taken_is_left_alone() -> None:
    theirs = overlay("gpu-reconciler-memory-14592mi", {"a": 1})
    what = plan(facts(HERE, overlays=[theirs]))
    assert what.actions == ()
    assert "exists without our label" in sentence(what, OverlayReason.NAME_TAKEN)


def test_a_conflict_that_karpenter_found_is_said_with_who_may_be_in_the_way() -> None:
    """One that we could not foresee: the other asks for what only Karpenter knows of the type."""
    rival = overlay("rival", {MEMORY: 1}, need("karpenter.k8s.aws/instance-cpu", "In", "4"), weight=10)
    lost = replace(STANDS, validated=False, conflict=True, why_not="Conflict: conflict with another overlay")
    what = plan(facts(HERE, overlays=[lost, rival]))
    assert what.actions == ()
    assert "to none of its types" in sentence(what, OverlayReason.CONFLICT)
    assert "(rival)" in sentence(what, OverlayReason.CONFLICT)


def test_a_refusal_is_said_in_karpenters_words() -> None:
    refused = replace(STANDS, validated=False, why_not="RuntimeValidation: invalid capacity")
    what = plan(facts(HERE, overlays=[refused]))
    assert sentence(what, OverlayReason.REFUSED).endswith("RuntimeValidation: invalid capacity")


def test_a_conflict_among_ours_on_their_way_is_not_told_at_once() -> None:
    lost = replace(STANDS, validated=False, conflict=True, changed=NOW - timedelta(seconds=2))
    what = plan(facts(HERE, overlays=[lost]))
    assert (what.findings, what.revisit) == ((), timedelta(seconds=8))


def test_karpenters_silence_means_that_its_gate_is_off_after_a_while() -> None:
    silent = replace(STANDS, validated=None, changed=NOW - timedelta(seconds=30))
    patient = plan(facts(HERE, overlays=[silent]))
    assert (patient.findings, patient.revisit) == ((), timedelta(seconds=90))

    later = plan(facts(HERE, overlays=[silent]), now=NOW + timedelta(seconds=90))
    assert "settings.featureGates.nodeOverlay=true" in sentence(later, OverlayReason.GATE_OFF)
    assert later.revisit is None
    assert later.findings[0].about == STANDS.name

    theirs = overlay("theirs", {"a": 1}, validated=None)
    assert plan(facts(HERE, overlays=[STANDS, theirs])).findings == (), "theirs are not ours to tell of"


def test_an_overlay_that_does_not_say_when_it_was_changed_counts_as_old() -> None:
    unsaid = replace(STANDS, validated=None, changed=None)
    assert reasons(plan(facts(HERE, overlays=[unsaid]))) == [OverlayReason.GATE_OFF]


def test_many_names_are_shortened() -> None:
    kinds = [f"g{family}.12xlarge" for family in ("4dn", "5", "6", "6e", "7", "7e")]
    kinds += ["g4dn.metal", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge"]
    what = plan(facts(pool("dev", types(*kinds))))
    assert "p4d.24xlarge and 2 more (MultiGPU)" in sentence(what, OverlayReason.NOTHING_KNOWN)
