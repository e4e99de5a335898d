"""How does a test talk to the API server, with nothing between it and the JSON?"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]  # tests look into objects as the server sent them; there is no shape to parse them into

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
_JSON = "application/json"
JSON_PATCH = "application/json-patch+json"


class ApiError(Exception):
    """The API server refused: `status` is the HTTP status, `body` its Status object."""

    def __init__(self, what: str, status: int, body: Json) -> None:
        super().__init__(f"{what}: {status} {body.get('reason')}: {body.get('message')}")
        self.status = status
        self.body = body


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server answered, refusals included."""

    status: int
    body: Json


class Api:
    """One identity's JSON client. Each request is a connection of its own, so there is nothing to close."""

    def __init__(self, url: str, ca_file: str, token: str, user_agent: str = "controlplane-tests") -> None:
        self._url = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": user_agent, "Accept": "application/json"}

    def request(
        self, method: str, path: str, body: object = None, content_type: str = _JSON, **params: object
    ) -> Answer:
        """Any request, whatever the server says to it. `params` is the query string."""
        return self._asked(method, path, body, content_type, params)

    def get(self, path: str, **params: object) -> Json:
        """GET, or `ApiError`."""
        return _wanted(f"GET {path}", self._asked("GET", path, None, _JSON, params))

    def post(self, path: str, body: object, **params: object) -> Json:
        """POST, or `ApiError`."""
        return _wanted(f"POST {path}", self._asked("POST", path, body, _JSON, params))

    def put(self, path: str, body: object, **params: object) -> Json:
        """PUT, or `ApiError`."""
        return _wanted(f"PUT {path}", self._asked("PUT", path, body, _JSON, params))

    def patch(self, path: str, body: object, content_type: str | None = None, **params: object) -> Json:
        """PATCH, or `ApiError`: a list is a JSON patch, anything else a strategic merge patch, unless told."""
        kind = content_type or (JSON_PATCH if isinstance(body, list) else STRATEGIC)
        return _wanted(f"PATCH {path}", self._asked("PATCH", path, body, kind, params))

    def delete(self, path: str, body: object = None, **params: object) -> Json:
        """DELETE, or `ApiError`; an object that is not there is deleted already."""
        answer = self._asked("DELETE", path, body, _JSON, params)
        return answer.body if answer.status == 404 else _wanted(f"DELETE {path}", answer)

    def watch(self, path: str, seconds: float = 10, **params: object) -> Iterator[Json]:
        """The events of a watch, until the server ends it or `seconds` have gone by."""
        query = {"watch": "true", "timeoutSeconds": max(1, round(seconds)), **params}
        deadline = time.monotonic() + seconds
        with self._sent("GET", path, None, _JSON, query, timeout=seconds) as response:
            if response.status >= 400:
                raise ApiError(f"WATCH {path}", response.status, _decoded(response.read()))
            try:
                while time.monotonic() < deadline and (line := response.readline()):
                    yield json.loads(line)
            except TimeoutError:
                return

    def _asked(self, method: str, path: str, body: object, content_type: str, params: Json) -> Answer:
        with self._sent(method, path, body, content_type, params, timeout=30) as response:
            return Answer(response.status, _decoded(response.read()))

    @contextlib.contextmanager
    def _sent(
        self, method: str, path: str, body: object, content_type: str, params: Json, timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        target = f"{path}?{urlencode(params)}" if params else path
        with contextlib.closing(
            http.client.HTTPSConnection(self._url.netloc, context=self._tls, timeout=timeout)
        ) as connection:
            payload = None if body is None else json.dumps(body)
            connection.request(method, target, payload, {**self._headers, "Content-Type": content_type})
            with connection.getresponse() as response:
                yield response


def _wanted(what: str, answer: Answer) -> Json:
    if answer.status >= 400:
        raise ApiError(what, answer.status, answer.body)
    return answer.body


def _decoded(raw: bytes) -> Json:
    try:
        decoded = json.loads(raw)
    except ValueError:  # /readyz and some refusals are plain text
        return {"message": raw.decode(errors="replace")}
    return decoded if isinstance(decoded, dict) else {"message": str(decoded)}
