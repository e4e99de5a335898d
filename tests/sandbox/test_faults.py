"""sandbox/faults: each mishap, for whom it is meant, as often as it is meant."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from reconciler.runtime.transport import Request, Response, TransportError
from reconciler.sandbox import mishaps
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import decode, encode
from reconciler.sandbox.faults import Answer, Cut, Drop, ErrorEvent, Fault, Late, Lost, Stall, Unreachable

MAPS = "/api/v1/namespaces/default/configmaps"


def story(main: Callable[[Sandbox], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with Sandbox() as sandbox:
            await main(sandbox)

    run_virtual(whole)


async def create(sandbox: Sandbox, name: str, user: str = "ours") -> Response:
    return await sandbox.transport(user).send(Request("POST", MAPS, body=encode({"metadata": {"name": name}})))


def test_a_forced_answer_meets_only_whom_it_is_for_and_only_so_often() -> None:
    async def main(sandbox: Sandbox) -> None:
        sandbox.faults.add(mishaps.CONFLICT, method="POST", path="configmaps", user="^ours$", times=2)
        assert [(await create(sandbox, name)).status for name in ("a", "b", "c")] == [409, 409, 201]
        assert (await create(sandbox, "d", "other")).status == 201
        # What was answered instead was not carried out.
        listed = decode((await sandbox.transport("other").send(Request("GET", MAPS))).body)
        assert [item["metadata"]["name"] for item in listed["items"]] == ["c", "d"]

    story(main)


@pytest.mark.parametrize(
    ("answer", "status", "retry_after", "is_json"),
    [
        (mishaps.THROTTLED, 429, 1.0, False),
        (mishaps.THROTTLED_SILENTLY, 429, None, False),
        (mishaps.BUDGET_EMPTY, 429, None, True),
        (mishaps.BUDGET_BUSY, 429, 10, True),
        (mishaps.MANY_BUDGETS_500, 500, None, True),
        (mishaps.ERROR_500, 500, None, True),
        (mishaps.ERROR_500_HTML, 500, None, False),
        (mishaps.GONE, 410, None, True),
        (mishaps.UNAVAILABLE, 503, 1.0, True),
        (mishaps.UNAUTHORIZED, 401, None, True),
        (mishaps.FORBIDDEN, 403, None, True),
    ],
)
def test_ready_made_answers(answer: Answer, status: int, retry_after: float | None, is_json: bool) -> None:
    async def main(sandbox: Sandbox) -> None:
        sandbox.faults.add(answer)
        response = await create(sandbox, "a")
        assert (response.status, response.retry_after) == (status, retry_after)
        assert response.body.startswith(b"{") is is_json
        if is_json:
            assert decode(response.body)["code"] == status

    story(main)


def test_latency_delays_and_beyond_the_timeout_it_is_silence() -> None:
    async def main(sandbox: Sandbox) -> None:
        rule = sandbox.faults.add(Late(5, jitter=1), user="ours")
        began = anyio.current_time()
        assert (await create(sandbox, "a")).status == 201
        assert 5 <= anyio.current_time() - began <= 6
        sandbox.faults.remove(rule)
        sandbox.faults.add(Late(60), user="ours")
        with pytest.raises(TransportError, match="silent for 30 s"):
            await create(sandbox, "b")
        assert (await sandbox.transport("other").send(Request("GET", f"{MAPS}/b"))).status == 404

    story(main)


@pytest.mark.parametrize(("fault", "carried_out"), [(Unreachable(), False), (Lost(), True)])
def test_a_request_may_be_lost_on_the_way_there_or_its_answer_on_the_way_back(fault: Fault, carried_out: bool) -> None:
    async def main(sandbox: Sandbox) -> None:
        sandbox.faults.add(fault, user="ours", times=1)
        with pytest.raises(TransportError):
            await create(sandbox, "a")
        assert (await create(sandbox, "a")).status == (409 if carried_out else 201)

    story(main)


async def read(sandbox: Sandbox, chunks: list[bytes], timeout: float = 60.0) -> str:
    """Read a watch of configmaps; says how it ended."""
    request = Request("GET", MAPS, {"watch": "true", "timeoutSeconds": "300"}, timeout=timeout)
    try:
        async with sandbox.transport("ours").stream(request) as stream:
            async for chunk in stream.chunks():
                chunks.append(chunk)  # noqa: PERF401  # what came before a break is kept
    except TransportError as error:
        return str(error)
    return "ended"


@pytest.mark.parametrize(
    ("fault", "end"),
    [(Drop(), "ended"), (Cut(), "broke off in the middle"), (ErrorEvent(), "ended"), (Stall(), "silent for 60 s")],
)
def test_an_idle_watch_is_met_at_once(fault: Fault, end: str) -> None:
    """Nothing has to happen in the cluster for a fault to be felt."""

    async def main(sandbox: Sandbox) -> None:
        chunks: list[bytes] = []
        ends: list[tuple[float, str]] = []

        async def reader() -> None:
            how = await read(sandbox, chunks)
            ends.append((anyio.current_time(), how))

        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await anyio.sleep(10)
            sandbox.faults.add(fault, path="configmaps", user="ours", watch=True)
        at, how = ends[0]
        assert end in how
        assert at == (60 if isinstance(fault, Stall) else 10)
        assert [decode(chunk)["type"] for chunk in chunks] == (["ERROR"] if isinstance(fault, ErrorEvent) else [])

    story(main)


def test_a_cut_leaves_half_a_line() -> None:
    async def main(sandbox: Sandbox) -> None:
        chunks: list[bytes] = []
        await create(sandbox, "a", "other")
        sandbox.faults.add(Cut(), user="ours", times=1)
        assert "broke off" in await read(sandbox, chunks)
        whole = b"".join(chunks)
        assert whole
        assert b"\n" not in whole

    story(main)


def test_a_stalled_watch_goes_on_when_the_rule_is_taken_away_and_has_lost_nothing() -> None:
    async def main(sandbox: Sandbox) -> None:
        chunks: list[bytes] = []
        async with anyio.create_task_group() as group:
            group.start_soon(read, sandbox, chunks)
            await anyio.sleep(1)
            rule = sandbox.faults.add(Stall(), user="ours", times=1)
            await create(sandbox, "a", "other")
            await anyio.sleep(20)
            assert chunks == []
            sandbox.faults.remove(rule)
            await anyio.sleep(1)
            assert [decode(line)["type"] for line in b"".join(chunks).splitlines()] == ["ADDED"]
            group.cancel_scope.cancel()

    story(main)


def test_chance_is_the_same_for_the_same_seed() -> None:
    def outcomes(seed: int) -> list[int]:
        statuses: list[int] = []

        async def main() -> None:
            async with Sandbox(seed=seed) as sandbox:
                sandbox.faults.add(mishaps.ERROR_500, user="ours", chance=0.5)
                statuses.extend([(await create(sandbox, f"m{number}")).status for number in range(20)])

        run_virtual(main)
        return statuses

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert {201, 500} == set(outcomes(1))


def test_every_call_is_on_record_with_its_user() -> None:
    async def main(sandbox: Sandbox) -> None:
        await create(sandbox, "a")
        sandbox.faults.add(Unreachable(), user="ours", times=1)
        with pytest.raises(TransportError):
            await create(sandbox, "b")
        await sandbox.transport("ours").send(Request("GET", MAPS))
        assert [(call.method, call.status) for call in sandbox.record.of("ours")] == [
            ("POST", 201),
            ("POST", 0),
            ("GET", 200),
        ]
        assert len(sandbox.record.writes("ours")) == 2
        assert sandbox.record.counts["ours", "POST", 201] == 1
        assert str(sandbox.record.of("ours")[0]) == f"ours: POST {MAPS} -> 201"

    story(main)
