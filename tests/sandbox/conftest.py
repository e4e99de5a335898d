"""A bare API server in memory, asked without any transport."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.runtime.transport import Request, Response
from reconciler.sandbox.api import Api
from reconciler.sandbox.encoding import Json, decode, encode
from reconciler.sandbox.store import Store


class Server:
    """The API with a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = Store(lambda: self.time, history=50)
        self.api = Api(self.store)

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def respond(
        self, method: str, path: str, body: Any = None, content_type: str = "", query: Mapping[str, str] | None = None
    ) -> Response:
        data = body if isinstance(body, bytes) else b"" if body is None else encode(body)
        answer = self.api.handle(Request(method, path, query or {}, data, content_type))
        assert isinstance(answer, Response), "a watch is not read here"
        return answer

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "", query: Mapping[str, str] | None = None
    ) -> tuple[int, Json]:
        answer = self.respond(method, path, body, content_type, query)
        return answer.status, decode(answer.body)

    def make(self, path: str, body: Json) -> Json:
        """Create, and insist that it worked."""
        status, made = self.call("POST", path, body)
        assert status == 201, made
        return made

    def json_patch(self, path: str, *operations: Json) -> tuple[int, Json]:
        return self.call("PATCH", path, list(operations), "application/json-patch+json")

    def merge(self, path: str, change: Json) -> tuple[int, Json]:
        return self.call("PATCH", path, change, "application/merge-patch+json")

    def strategic(self, path: str, change: Json) -> tuple[int, Json]:
        return self.call("PATCH", path, change, "application/strategic-merge-patch+json")


@pytest.fixture
def server() -> Server:
    return Server()
