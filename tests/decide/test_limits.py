"""decide/limits.py: which limit stops the next pod."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.limits import Limit, Load, binds, limits, sentence
from reconciler.model.node import Resources
from reconciler.model.quantity import MIB

MEMORY = "veriff.com/gpu-memory"
G4DN = {"cpu": 3920, "memory": 14 * 2**30, "pods": 29, "nvidia.com/gpu": 1, MEMORY: 15079 * MIB}
EXAMPLE = {MEMORY: 104 * MIB}
DAEMONS = Load({"cpu": 190, "memory": 200 * MIB}, pods=4)


@pytest.mark.parametrize(
    ("load", "pod", "first"),
    [
        (Load(), EXAMPLE, Limit("pods", 29, 29)),
        (DAEMONS, EXAMPLE, Limit("pods", 25, 29)),
        (DAEMONS, EXAMPLE | {"nvidia.com/gpu": 1}, Limit("nvidia.com/gpu", 1, 1)),
        (Load({"nvidia.com/gpu": 1}, 5), EXAMPLE | {"nvidia.com/gpu": 1}, Limit("nvidia.com/gpu", 0, 1)),
        (DAEMONS, {MEMORY: 4096 * MIB}, Limit(MEMORY, 3, 3)),
        (Load({MEMORY: 15000 * MIB}, 5), EXAMPLE, Limit(MEMORY, 0, 144)),
        (DAEMONS, EXAMPLE | {"cpu": 500}, Limit("cpu", 7, 7)),
        (DAEMONS, EXAMPLE | {"memory": 2 * 2**30}, Limit("memory", 6, 7)),
        (DAEMONS, {"amd.com/gpu": 1}, Limit("amd.com/gpu", 0, 0)),
        (Load({MEMORY: 99999 * MIB}, 40), EXAMPLE, Limit("pods", 0, 29)),
    ],
)
def test_the_limit_that_is_reached_first_comes_first(load: Load, pod: Resources, first: Limit) -> None:
    found = limits(G4DN, load, pod)

    assert binds(found) == found[0] == first


def test_every_limit_is_listed_and_what_a_pod_does_not_ask_for_is_none() -> None:
    assert limits(G4DN, DAEMONS, EXAMPLE | {"cpu": 0}) == (Limit("pods", 25, 29), Limit(MEMORY, 144, 144))


def test_people_are_told_what_binds_and_what_would_come_next() -> None:
    assert sentence(limits(G4DN, DAEMONS, EXAMPLE)) == (
        "pods binds first: 25 more pods of this size fit, 29 on the empty node (veriff.com/gpu-memory 144 of 144)"
    )
    assert sentence(limits({"pods": 3}, Load(), {})).endswith("3 on the empty node")
    assert sentence(()) == "nothing limits pods of this size"
    assert binds(()) is None


sizes = st.dictionaries(st.sampled_from(["cpu", "memory", MEMORY]), st.integers(0, 50), max_size=3)


@given(sizes, sizes, st.integers(0, 5), sizes)
def test_as_many_pods_fit_as_can_be_added_one_by_one(
    allocatable: Resources, requested: Resources, pods: int, pod: Resources
) -> None:
    """The arithmetic is the scheduler's: a pod fits while request <= allocatable - requested for all it asks for."""
    there = {**allocatable, "pods": 9}
    found = limits(there, Load(requested, pods), pod)
    placed, taken = 0, dict(requested)
    while pods + placed < 9 and all(
        size == 0 or size <= there.get(name, 0) - taken.get(name, 0) for name, size in pod.items()
    ):
        placed += 1
        taken = {name: taken.get(name, 0) + pod.get(name, 0) for name in {*taken, *pod}}

    assert found[0].fits == placed
