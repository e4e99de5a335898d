"""Which amounts does the server take, and how does it write them back?"""

import pytest

from tests.contract.world import MEMORY, Json, World, bare_node, make, patch, pod, pods_path


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("15360Mi", "15Gi"),
        ("15079Mi", "15079Mi"),
        ("16384Mi", "16Gi"),
        ("15.5Gi", "15872Mi"),
        ("15811477504", "15811477504"),
        ("16000000000", "16G"),
        ("1000", "1k"),
        ("3000m", "3"),
        ("3Ki", "3Ki"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("100e4", "1e6"),
        ("0", "0"),
        ("0Mi", "0"),
        ("1.5k", "1500"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_a_quantity_reads_back_in_its_canonical_form(sent: str, read: str, world: World) -> None:
    """Compare parsed integers, never the text that was sent."""
    with bare_node(world) as path:
        node = patch(world, f"{path}/status", {"status": {"capacity": {MEMORY: sent}}})
        assert node["status"]["capacity"][MEMORY] == read


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("0.5", 'Invalid value: "500m": must be an integer'),
        ("1500m", 'Invalid value: "1500m": must be an integer'),
        ("0.1Mi", "must be an integer"),
        ("-1", 'Invalid value: "-1": must be greater than or equal to 0'),
    ],
)
def test_a_node_has_whole_amounts_of_extended_resources(sent: str, message: str, world: World) -> None:
    with bare_node(world) as path:
        answer = world.request(
            "PATCH", f"{path}/status", {"status": {"capacity": {MEMORY: sent}}}, "application/merge-patch+json"
        )
        assert (answer.status, answer.body["reason"]) == (422, "Invalid")
        assert f"status.capacity.{MEMORY}" in answer.body["message"]
        assert message in answer.body["message"]


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"limits": {MEMORY: "2"}, "requests": {MEMORY: "1"}}, f'"1": must be equal to {MEMORY} limit of 2'),
        ({"requests": {MEMORY: "1"}}, "Required value: Limit must be set for non overcommitable resources"),
        ({"limits": {MEMORY: "0.5"}}, f'limits[{MEMORY}]: Invalid value: "500m": must be an integer'),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}, "must be less than or equal to cpu limit of 1"),
        ({"limits": {"gpu": "1"}}, "must be a standard resource for containers"),
    ],
)
def test_a_pod_that_asks_wrongly_is_refused(resources: Json, message: str, world: World) -> None:
    body = pod("wrong")
    body["spec"]["containers"][0]["resources"] = resources
    answer = world.request("POST", pods_path(world), body)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert message in answer.body["message"]


def test_limits_alone_are_the_requests_too(world: World) -> None:
    made = make(world, pods_path(world), pod("limited", {MEMORY: "15360Mi"}, schedulerName="nobody"))
    assert made["spec"]["containers"][0]["resources"] == {"limits": {MEMORY: "15Gi"}, "requests": {MEMORY: "15Gi"}}


def test_a_quantity_that_is_none_cannot_even_be_read(world: World) -> None:
    """400, since the object is no object of its kind."""
    body = {"metadata": {"name": "broken"}, "status": {"capacity": {MEMORY: "abc"}}}
    answer = world.request("POST", "/api/v1/nodes", body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "quantities must match the regular expression" in answer.body["message"]
