"""Who asked for what? A bounded list of requests and a count of all of them, so that tests can count calls by user."""

from collections import Counter, deque
from dataclasses import dataclass
from datetime import datetime

from reconciler.runtime.transport import Request


@dataclass(frozen=True, slots=True)
class Call:
    """One request, when it came in, and how it was answered; status 0: it never was."""

    at: datetime
    user: str
    method: str
    path: str
    watch: bool
    body: bytes
    status: int

    def __str__(self) -> str:
        return f"{self.user}: {'WATCH' if self.watch else self.method} {self.path} -> {self.status}"


class Record:
    """The newest calls in full, and a number for every (user, method, status) since the start."""

    def __init__(self, keep: int = 20_000) -> None:
        self.calls: deque[Call] = deque(maxlen=keep)
        self.counts: Counter[tuple[str, str, int]] = Counter()

    def add(self, at: datetime, user: str, request: Request, status: int) -> None:
        watching = request.query.get("watch") in ("true", "1")
        self.calls.append(Call(at, user, request.method, request.path, watching, request.body, status))
        self.counts[user, request.method, status] += 1

    def of(self, user: str, *methods: str) -> list[Call]:
        """The user's calls, of these methods where given, oldest first."""
        return [call for call in self.calls if call.user == user and (not methods or call.method in methods)]

    def writes(self, user: str) -> list[Call]:
        """The user's calls that could change something."""
        return self.of(user, "POST", "PUT", "PATCH", "DELETE")
