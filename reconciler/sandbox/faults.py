"""What goes wrong, for whom, how often? Rules that are switched on and off; the same seed gives the same mishaps."""

import random
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import anyio

from reconciler.runtime.transport import Request, Response, TransportError
from reconciler.sandbox.watching import error_line


@dataclass(frozen=True, slots=True)
class Answer:
    """The request is not carried out; this is answered instead."""

    response: Response


@dataclass(frozen=True, slots=True)
class Late:
    """The request waits this many seconds, and up to `jitter` more, before it is looked at."""

    seconds: float
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The request never arrives."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The request is carried out, but its answer never comes."""


@dataclass(frozen=True, slots=True)
class Drop:
    """An open watch ends, politely."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An open watch breaks off, in the middle of a line if one is under way."""


@dataclass(frozen=True, slots=True)
class Stall:
    """An open watch falls silent until the rule is taken away; the connection stays up."""


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An open watch says ERROR and ends: how 410 comes once the answer has begun."""

    code: int = 410
    reason: str = "Expired"
    message: str = "too old resource version: 1 (1000)"


Fault = Answer | Late | Unreachable | Lost | Drop | Cut | Stall | ErrorEvent
_ON_WATCH = (Drop, Cut, Stall, ErrorEvent)


@dataclass(eq=False, slots=True)
class Rule:
    """One fault and whom it meets. Empty patterns meet everyone; `times` None: until taken away."""

    fault: Fault
    method: str = ""
    path: str = ""
    user: str = ""
    times: int | None = None
    chance: float = 1.0
    watch: bool | None = None
    met: int = 0
    lifted: anyio.Event | None = field(default=None, repr=False)

    def matches(self, request: Request, user: str) -> bool:
        """Whether it is about this request; patterns are searched for, not matched whole."""
        watching = request.query.get("watch") in ("true", "1")
        return (
            (self.times is None or self.met < self.times)
            and (not self.method or self.method == request.method)
            and (self.watch is None or self.watch == watching)
            and re.search(self.path, request.path) is not None
            and re.search(self.user, user) is not None
        )


class Faults:
    """The rules in force. `on_change` wakes idle watches, so that a new rule meets them at once."""

    def __init__(self, *, seed: int = 0, on_change: Callable[[], None] = lambda: None) -> None:
        self._random = random.Random(seed)
        self._on_change = on_change
        self._rules: list[Rule] = []

    def __bool__(self) -> bool:
        return bool(self._rules)

    def add(
        self,
        fault: Fault,
        *,
        method: str = "",
        path: str = "",
        user: str = "",
        times: int | None = None,
        chance: float = 1.0,
        watch: bool | None = None,
    ) -> Rule:
        """Switch a fault on; keep the rule to switch it off again."""
        rule = Rule(fault, method, path, user, times, chance, watch)
        self._rules.append(rule)
        self._on_change()
        return rule

    def remove(self, rule: Rule) -> None:
        """Switch a fault off; watches that it stalled go on."""
        if rule in self._rules:
            self._rules.remove(rule)
        if rule.lifted is not None:
            rule.lifted.set()
        self._on_change()

    def clear(self) -> None:
        for rule in list(self._rules):
            self.remove(rule)

    def _met(self, request: Request, user: str, kinds: tuple[type[Fault], ...]) -> list[Rule]:
        found = []
        for rule in self._rules:
            if isinstance(rule.fault, kinds) and rule.matches(request, user) and self._random.random() < rule.chance:
                rule.met += 1
                found.append(rule)
        return found

    async def before(self, request: Request, user: str) -> Response | None:
        """Delay, break off, or answer in the server's place. Raises TransportError."""
        for rule in self._met(request, user, (Late, Unreachable, Answer)):
            match rule.fault:
                case Late(seconds, jitter):
                    await anyio.sleep(seconds + jitter * self._random.random())
                case Unreachable():
                    raise TransportError(f"cannot connect to the sandbox for {request.method} {request.path}")
                case Answer(response):
                    return response
                case Lost() | Drop() | Cut() | Stall() | ErrorEvent():
                    continue  # these meet an answer, not a request
        return None

    async def after(self, request: Request, user: str) -> None:
        """Lose the answer. Raises TransportError."""
        if self._met(request, user, (Lost,)):
            raise TransportError(f"the sandbox broke off before it answered {request.method} {request.path}")

    def on_watch(self, request: Request, user: str) -> Rule | None:
        """The fault that meets an open watch now."""
        return next(iter(self._met(request, user, _ON_WATCH)), None)


async def faulty(
    blocks: AsyncGenerator[bytes, None], faults: Faults, request: Request, user: str
) -> AsyncGenerator[bytes, None]:
    """Pass a watch's blocks on, empty ones left out, until a fault meets it. Raises TransportError when it is cut."""
    try:
        async for block in blocks:
            rule = faults.on_watch(request, user)
            match rule.fault if rule is not None else None:
                case Drop():
                    return
                case Cut():
                    if block:
                        yield block[: len(block) // 2]
                    raise TransportError(f"the sandbox broke off in the middle of {request.method} {request.path}")
                case ErrorEvent(code, reason, message):
                    yield error_line(code, reason, message)
                    return
                case Stall() if rule is not None:
                    if rule.lifted is None:
                        rule.lifted = anyio.Event()
                    await rule.lifted.wait()
            if block:
                yield block
    finally:
        await blocks.aclose()
