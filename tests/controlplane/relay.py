"""How does a test step in between two calls of the product? A relay before the API server that tells of each write.

It speaks plain HTTP to the product and one request a connection, and passes everything on, watches as they come.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.controlplane.cluster import ControlPlane

_NOT_PASSED_ON = ("host", "connection", "transfer-encoding", "content-length")


@dataclass(frozen=True, slots=True)
class Written:
    """A write that the API server has answered, and the answer of which has not been passed on yet."""

    method: str
    path: str
    body: bytes
    status: int


@contextlib.contextmanager
def relay(
    plane: ControlPlane,
    *,
    after_write: Callable[[Written], None] = lambda write: None,
    before: Callable[[str], None] = lambda path: None,
) -> Iterator[str]:
    """The relay's address.

    `before` is called with the path of each request before it is passed on. `after_write` is called once a write is
    answered, but for those of the election. Both are called in threads of the relay, which wait for their return.
    """
    upstream = _Upstream(plane)

    class Conversation(_Conversation):
        def open(self) -> contextlib.AbstractContextManager[http.client.HTTPSConnection]:
            return upstream.connection()

        def asked(self, path: str) -> None:
            before(path)

        def written(self, write: Written) -> None:
            after_write(write)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Conversation)
    server.daemon_threads = False  # the end waits for them
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        upstream.cut()
        server.server_close()


class _Upstream:
    """Connections to the API server, to be cut all at once: a watch would go on for minutes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._address = urlsplit(plane.url).netloc
        self._tls = ssl.create_default_context(cafile=plane.ca_file)
        self._open: set[http.client.HTTPSConnection] = set()

    @contextlib.contextmanager
    def connection(self) -> Iterator[http.client.HTTPSConnection]:
        with contextlib.closing(http.client.HTTPSConnection(self._address, context=self._tls, timeout=120)) as one:
            self._open.add(one)
            try:
                yield one
            finally:
                self._open.discard(one)

    def cut(self) -> None:
        for one in list(self._open):
            if one.sock is not None:
                with contextlib.suppress(OSError):
                    one.sock.shutdown(socket.SHUT_RDWR)


class _Conversation(BaseHTTPRequestHandler):
    """One request, passed on, and its answer, passed back."""

    def open(self) -> contextlib.AbstractContextManager[http.client.HTTPSConnection]:
        raise NotImplementedError

    def asked(self, path: str) -> None:
        raise NotImplementedError

    def written(self, write: Written) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def do_PATCH(self) -> None:
        self._pass_on()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        self.asked(path)
        headers = {key: value for key, value in self.headers.items() if key.lower() not in _NOT_PASSED_ON}
        # Either side may go at any time: that is what the tests are about.
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException), self.open() as connection:
            connection.request(self.command, self.path, body or None, headers)
            with connection.getresponse() as answer:
                if self.command != "GET" and "/leases" not in path:
                    self.written(Written(self.command, path, body, answer.status))
                self._pass_back(answer)

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        self.end_headers()
        while data := answer.read1(65536):
            self.wfile.write(data)
            self.wfile.flush()
