"""What does the Eviction API answer?"""

from collections.abc import Iterator

import pytest

from tests.contract.world import (
    OTHER_UID,
    Answer,
    Json,
    World,
    bare_node,
    eventually,
    get,
    make,
    pod,
    pods_path,
    running_pod,
)

VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(world: World, name: str, **options: object) -> Answer:
    body: Json = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": world.namespace},
        **({"deleteOptions": options} if options else {}),
    }
    return world.request("POST", pods_path(world, name, "eviction"), body)


def budget(world: World, name: str, least: int, **more: object) -> None:
    path = f"/apis/policy/v1/namespaces/{world.namespace}/poddisruptionbudgets"
    make(
        world,
        path,
        {
            "metadata": {"name": name},
            "spec": {"minAvailable": least, "selector": {"matchLabels": {"role": "web"}}, **more},
        },
    )
    eventually(
        world, lambda: get(world, f"{path}/{name}").get("status", {}).get("observedGeneration"), "it is processed"
    )


@pytest.fixture
def node(world: World) -> Iterator[str]:
    with bare_node(world) as path:
        yield path.rpartition("/")[2]


def test_without_a_budget_a_pod_may_go(world: World, node: str) -> None:
    """201 with a Status, and the condition that tells why it went."""
    running_pod(world, "web", node)
    answer = evict(world, "web", gracePeriodSeconds=30)
    assert (answer.status, answer.body["status"]) == (201, "Success")
    left = get(world, pods_path(world, "web"))
    assert "deletionTimestamp" in left["metadata"]
    condition = next(each for each in left["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "EvictionByEvictionAPI")
    assert condition["message"] == "Eviction API: evicting"


def test_a_budget_allows_as_many_as_it_says_and_then_none(world: World, node: str) -> None:
    """429 without Retry-After, with the budget's arithmetic as its cause."""
    for name in ("web-1", "web-2", "web-3"):
        running_pod(world, name, node, role="web")
    budget(world, "keep", 2)
    assert evict(world, "web-1", gracePeriodSeconds=30).status == 201
    answer = evict(world, "web-2")
    assert answer.gist == (429, "TooManyRequests", VIOLATES)
    cause = {
        "reason": "DisruptionBudget",
        "message": "The disruption budget keep needs 2 healthy pods and has 2 currently",
    }
    eventually(world, lambda: evict(world, "web-2").body["details"] == {"causes": [cause]}, "the budget counts again")


def test_two_budgets_are_a_misconfiguration(world: World, node: str) -> None:
    """500 without a reason."""
    running_pod(world, "web", node, role="web")
    budget(world, "one", 0)
    budget(world, "two", 0)
    text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    assert evict(world, "web").gist == (500, None, text)


def test_a_precondition_that_does_not_hold_is_a_409_and_costs_a_disruption(world: World, node: str) -> None:
    """So the UID is to be compared before the call as well."""
    for name in ("web-1", "web-2"):
        running_pod(world, name, node, role="web")
    budget(world, "keep", 1)
    answer = evict(world, "web-1", preconditions={"uid": OTHER_UID})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert f"the UID in the precondition ({OTHER_UID}) does not match the UID in record" in answer.body["message"]
    assert evict(world, "web-2").status == 429


@pytest.mark.parametrize(
    ("name", "inner", "gist"),
    [
        ("none", "none", (404, "NotFound", 'pods "none" not found')),
        ("web", "other", (400, "BadRequest", "name in URL does not match name in Eviction object")),
    ],
)
def test_mistakes_in_the_name(name: str, inner: str, gist: tuple[int, str, str], world: World, node: str) -> None:
    running_pod(world, "web", node)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": inner, "namespace": world.namespace}}
    assert world.request("POST", pods_path(world, name, "eviction"), body).gist == gist


def test_a_pod_that_is_pending_or_over_asks_no_budget(world: World) -> None:
    body = pod("web", schedulerName="nobody")
    body["metadata"]["labels"]["role"] = "web"
    make(world, pods_path(world), body)
    budget(world, "keep", 5)
    assert evict(world, "web").status == 201
    assert world.request("GET", pods_path(world, "web")).status == 404


@pytest.mark.parametrize(("policy", "status"), [("AlwaysAllow", 201), ("IfHealthyBudget", 429)])
def test_a_pod_that_is_not_ready_goes_as_the_policy_says(policy: str, status: int, world: World, node: str) -> None:
    running_pod(world, "web", node, ready=False, role="web")
    budget(world, "keep", 1, unhealthyPodEvictionPolicy=policy)
    assert evict(world, "web", gracePeriodSeconds=30).status == status


def test_a_dry_run_spends_nothing(world: World, node: str) -> None:
    for name in ("web-1", "web-2"):
        running_pod(world, name, node, role="web")
    budget(world, "keep", 1)
    for name in ("web-1", "web-2"):
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": world.namespace}}
        assert world.request("POST", pods_path(world, name, "eviction"), body, dryRun="All").status == 201
    assert evict(world, "web-1").status == 201
