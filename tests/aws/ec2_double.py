"""A web server that answers like AWS, for the answers that moto does not give: errors, odd entries, silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]

    def values(self, prefix: str) -> list[str]:
        """`InstanceType.1`, `InstanceType.2`, ... in their order."""
        return [value for key, value in self.form.items() if key.startswith(f"{prefix}.")]

    @property
    def access_key(self) -> str:
        """Who signed it."""
        return self.headers["Authorization"].split("Credential=")[1].split("/")[0]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Rule = Callable[[Request], Answer | None]
"""None: no answer at all; the connection stays open until the client gives up."""


@dataclass(slots=True)
class Double:
    url: str
    rule: Rule
    requests: list[Request] = field(default_factory=list)


@contextmanager
def serving(rule: Rule) -> Iterator[Double]:
    """A server on a free port of this machine."""
    over = threading.Event()

    class Conversation(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._do()

        def do_PUT(self) -> None:
            self._do()

        def do_POST(self) -> None:
            self._do()

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = {key: values[0] for key, values in parse_qs(body).items()}
            request = Request(self.command, self.path, dict(self.headers.items()), form)
            double.requests.append(request)
            answer = double.rule(request)
            if answer is None:
                over.wait(30)
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body.encode())))
            self.end_headers()
            self.wfile.write(answer.body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Conversation)
    server.daemon_threads = True
    double = Double(f"http://127.0.0.1:{server.server_port}", rule)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield double
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def always(answer: Answer | None) -> Rule:
    return lambda request: answer


def in_turn(answers: Sequence[Answer]) -> Rule:
    """One after the other; the last one for good."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def identity() -> Answer:
    """A success of GetCallerIdentity."""
    arn = "<Arn>arn:aws:sts::123456789012:assumed-role/gpu-reconciler/x</Arn>"
    result = f"<GetCallerIdentityResult>{arn}</GetCallerIdentityResult>"
    return Answer(body=f"<GetCallerIdentityResponse>{result}</GetCallerIdentityResponse>")


def error(code: str, message: str = "words of AWS", status: int = 400, **headers: str) -> Answer:
    body = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        "<RequestID>1</RequestID></Response>"
    )
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def gpu_types(*names: str, token: str = "") -> Answer:
    """A success: each type has one T4."""
    gpu = (
        "<name>T4</name><manufacturer>NVIDIA</manufacturer><count>1</count><memoryInfo><sizeInMiB>16384</sizeInMiB>"
        "</memoryInfo>"
    )
    items = "".join(
        f"<item><instanceType>{name}</instanceType><gpuInfo><gpus><item>{gpu}</item></gpus></gpuInfo></item>"
        for name in names
    )
    following = f"<nextToken>{token}</nextToken>" if token else ""
    return Answer(
        body='<DescribeInstanceTypesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
        f"<requestId>1</requestId><instanceTypeSet>{items}</instanceTypeSet>{following}</DescribeInstanceTypesResponse>"
    )
