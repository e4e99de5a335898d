"""kube/cache and kube/shared_bytes: what is known is what was told, whatever the order."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kube.cache import ClaimCache, NodeCache, PodCache
from reconciler.kube.news import News, Seen, Synced, Vanished
from reconciler.kube.shared_bytes import Shared
from reconciler.model.node import Condition, InstanceType, NodeClaimView, NodeKey, NodeName, NodeView
from reconciler.model.workload import PodRef, PodView

T4, A10 = InstanceType("g4dn.xlarge"), InstanceType("g5.xlarge")


def node(name: str, kind: InstanceType | None = T4, version: str = "1") -> NodeView:
    key = NodeKey(NodeName(name), f"uid-{name}")
    return NodeView(key, kind, "b", True, datetime(2026, 1, 1, tzinfo=UTC), {}, (), {}, {}, resource_version=version)


def pod(uid: str, on: str, created: str = "", **requests: int) -> PodView:
    return PodView(PodRef("dev", f"p-{uid}", uid), NodeName(on), requests, created)


def test_nodes_are_found_by_name_and_by_type() -> None:
    changed: list[str] = []
    cache = NodeCache(changed.append)
    for view in (node("b"), node("a"), node("c", A10), node("d", None)):
        cache.take(Seen(view.name, view))

    assert cache.of_type(T4) == ["a", "b"]
    assert [view.name for view in cache.all()] == ["b", "a", "c", "d"]
    assert cache.get(NodeName("x")) is None

    cache.take(Seen("a", node("a", A10)))
    cache.take(Vanished("c"))
    cache.take(Vanished("unknown"))
    assert (cache.of_type(T4), cache.of_type(A10)) == (["b"], ["a"])
    assert changed == ["b", "a", "c", "d", "a", "c"]


def test_an_equal_node_is_no_news_but_its_version_counts() -> None:
    changed: list[str] = []
    cache = NodeCache(changed.append)
    cache.take(Seen("a", node("a", version="1")))
    cache.take(Seen("a", node("a", version="2")))
    found = cache.get(NodeName("a"))

    assert changed == ["a"]
    assert found is not None
    assert found.resource_version == "2"


def test_after_a_new_list_what_was_not_told_is_gone() -> None:
    changed: list[str] = []
    cache = NodeCache(changed.append)
    for name in ("a", "b"):
        cache.take(Seen(name, node(name)))
    cache.take(Synced({"b"}))

    assert [view.name for view in cache.all()] == ["b"]
    assert changed == ["a", "b", "a"]


def test_a_pod_that_holds_nothing_of_interest_wakes_nobody() -> None:
    touched: list[str] = []
    cache = PodCache({"gpu"}, touched.append)
    cache.take(Seen("1", pod("1", "n1", cpu=100)))
    cache.take(Seen("2", pod("2", "n2", gpu=5, cpu=1)))
    cache.take(Seen("2", replace(pod("2", "n2", gpu=7, cpu=1))))
    cache.take(Vanished("1"))

    assert touched == ["n2", "n2"]
    assert cache.requested(NodeName("n2"), "gpu") == 7
    assert cache.requested(NodeName("n1"), "cpu") == 0


def test_a_pod_that_holds_a_gpu_of_any_kind_wakes_its_node_where_that_is_asked_for() -> None:
    touched: list[str] = []
    cache = PodCache({"nvidia.com/gpu"}, touched.append, prefixes=("nvidia.com/mig-",))
    for uid, requests in (
        ("1", {"nvidia.com/gpu": 2}),
        ("2", {"cpu": 1, "nvidia.com/mig-1g.5gb": 3}),
        ("3", {"cpu": 1, "nvidia.com/gpux": 9, "x/nvidia.com/mig-": 9}),
        ("4", {"nvidia.com/gpu.shared": 1}),
    ):
        cache.take(Seen(uid, replace(pod(uid, f"n{uid}"), requests=requests)))

    assert touched == ["n1", "n2"]
    assert [cache.held(NodeName(f"n{uid}")) for uid in "12345"] == [2, 3, 0, 1, 0]


def test_gpus_under_a_name_that_people_gave_them_are_held_like_any() -> None:
    cache = PodCache(gpu_resource="example.com/gpu")
    for uid, name in (("1", "example.com/gpu"), ("2", "nvidia.com/gpu"), ("3", "example.com/gpu-memory")):
        cache.take(Seen(uid, replace(pod(uid, "n"), requests={name: 1})))

    assert cache.held(NodeName("n")) == 2


def test_pods_of_a_node_come_oldest_first() -> None:
    cache = PodCache()
    for uid, created in (("1", "2026-03-02"), ("2", "2026-03-01"), ("3", "2026-03-01")):
        cache.take(Seen(uid, pod(uid, "n", created)))

    assert [view.ref.uid for view in cache.on_node(NodeName("n"))] == ["2", "3", "1"]


def test_a_claim_promises_its_type_once() -> None:
    promised: list[str] = []
    cache = ClaimCache(promised.append)
    cache.take(Seen("c", NodeClaimView("c", None, None)))
    cache.take(Seen("c", NodeClaimView("c", T4, None)))
    cache.take(Seen("c", NodeClaimView("c", T4, NodeName("n"))))

    assert promised == [T4]
    assert len(cache) == 1


def condition(status: str) -> Condition:
    return Condition("Initialized", status, "R", "m", datetime(2026, 1, 1, tzinfo=UTC))


def test_a_claim_tells_its_node_of_each_step_and_is_found_by_it() -> None:
    touched: list[str] = []
    cache = ClaimCache(changed=touched.append)
    first = NodeClaimView("c", T4, None)
    for claim in (first, replace(first, node=NodeName("n")), replace(first, node=NodeName("n"), requests={"cpu": 1})):
        cache.take(Seen("c", claim))
    waiting = replace(first, node=NodeName("n"), initialized=condition("Unknown"))
    for _ in range(2):
        cache.take(Seen("c", waiting))
    assert (touched, cache.of_node(NodeName("n"))) == (["n", "n", "n"], waiting)

    cache.take(Seen("c", replace(waiting, initialized=condition("True"), consistent=condition("False"))))
    cache.take(Vanished("c"))
    assert touched == ["n"] * 5
    assert cache.of_node(NodeName("n")) is None


def test_a_node_taken_over_by_another_claim_keeps_that_one() -> None:
    """The old claim's end comes after the new one's beginning where names of nodes are reused."""
    cache = ClaimCache()
    old, new = (NodeClaimView(name, T4, NodeName("n")) for name in ("old", "new"))
    cache.take(Seen("old", old))
    cache.take(Seen("new", new))
    cache.take(Vanished("old"))

    assert cache.of_node(NodeName("n")) == new


seen = st.builds(
    lambda uid, on, amounts: Seen(uid, pod(uid, on, **amounts)),
    st.sampled_from("abcd"),
    st.sampled_from(["n1", "n2"]),
    st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 9)),
)
gone: st.SearchStrategy[News[PodView]] = st.one_of(
    st.builds(Vanished, st.sampled_from("abcd")),
    st.builds(Synced, st.sets(st.sampled_from("abcd"))),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(seen, gone), max_size=30))
def test_the_running_sums_are_the_sums(news: list[News[PodView]]) -> None:
    cache = PodCache()
    for one in news:
        cache.take(one)

    for on in ("n1", "n2"):
        pods = [view for view in cache.views() if view.node == on]
        expected: dict[str, int] = {}
        for view in pods:
            for name, amount in view.requests.items():
                expected[name] = expected.get(name, 0) + amount
        assert cache.totals(NodeName(on)) == {name: amount for name, amount in expected.items() if amount}
        assert sorted(view.ref.uid for view in cache.on_node(NodeName(on))) == sorted(view.ref.uid for view in pods)


def test_equal_bytes_are_one_value_and_the_table_stays_bounded() -> None:
    made: list[bytes] = []

    def decode(raw: bytes) -> list[bytes]:
        made.append(raw)
        return [raw]

    table = Shared(decode, generation=10)
    often = table.get(b"often")
    for number in range(1000):
        table.get(str(number).encode())
        assert table.get(b"often") is often

    assert made.count(b"often") == 1
    assert len(table) <= 20
