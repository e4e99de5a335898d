"""Who serves the measured cluster? A process of its own that holds everything as bytes, so it is never the limit.

`python -m tests.bench.server NODES PODS [unique]` prints its port and serves until its standard input ends. It knows
lists with limit and continue, watches with and without the first objects, namespaces with nothing in them, PATCH, and
`POST /bench/churn?events=N`, which makes every open watch of pods tell N changes of status.
"""

import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlsplit

from tests.bench import nodes, pods

VERSION = "9000000"
BLOCK = 200_000
"""Bytes between looks at the socket's buffer."""

_HEAD = {"nodes": b'"kind":"Node"', "pods": b'"kind":"Pod"', "": b'"kind":"Nothing"'}
_LIST = {"nodes": b'"kind":"NodeList"', "pods": b'"kind":"PodList"'}


class Server:
    """Nodes and pods by plural, each as an API server lists it: without kind and apiVersion, which watches add."""

    def __init__(self, objects: dict[str, list[bytes]]) -> None:
        self._objects = objects
        self._churn = asyncio.Event()
        self._events = 0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection, kept alive until the client has enough."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                request, *headers = head.decode().split("\r\n")
                length = next((int(one[15:]) for one in headers if one.lower().startswith("content-length:")), 0)
                await reader.readexactly(length)
                method, target, _ = request.split(" ")
                await self._answer(method, target, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has hung up, or the server ends
        finally:
            writer.close()

    async def _answer(self, method: str, target: str, writer: StreamWriter) -> None:
        url = urlsplit(target)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        match method, url.path.split("/"):
            case "GET", ["", "api", "v1", ("nodes" | "pods") as plural]:
                if query.get("watch") in ("true", "True"):
                    await self._watch(plural, query, writer)
                else:
                    _whole(writer, 200, self._page(plural, query))
            case "GET", ["", _, *_, "namespaces", _, _] if query.get("watch") == "true":
                await self._watch("", query, writer)
            case "PATCH", ["", "api", "v1", "nodes", *_]:
                _whole(writer, 200, b'{"apiVersion":"v1",' + _HEAD["nodes"] + b"," + self._objects["nodes"][0][1:])
            case "POST", ["", "bench", "churn"]:
                self._events = int(query["events"])
                self._churn.set()
                self._churn = asyncio.Event()
                _whole(writer, 201, b"{}")
            case _:
                _whole(writer, 404, b'{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}')
        await writer.drain()

    def _page(self, plural: str, query: dict[str, str]) -> bytes:
        objects = self._objects[plural]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", len(objects)))
        more = str(start + limit) if start + limit < len(objects) else ""
        meta = f'{{"resourceVersion":"{VERSION}","continue":"{more}"}}'
        items = b",".join(objects[start : start + limit])
        return b'{"apiVersion":"v1",%b,"metadata":%b,"items":[%b]}' % (_LIST[plural], meta.encode(), items)

    async def _watch(self, plural: str, query: dict[str, str], writer: StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        if query.get("sendInitialEvents") in ("true", "True"):
            await _stream(writer, (_event("ADDED", plural, one) for one in self._objects.get(plural, ())))
            mark = b'{"resourceVersion":"%b","annotations":{"k8s.io/initial-events-end":"true"}}' % VERSION.encode()
            await _stream(writer, [_event("BOOKMARK", plural, b'{"metadata":%b}' % mark)])
        while True:
            await self._churn.wait()
            if plural == "pods":
                await _stream(writer, self._changes())

    def _changes(self) -> Iterator[bytes]:
        """Changes of status, pod after pod: what almost all events of a cluster at work are."""
        every = self._objects["pods"]
        for number in range(self._events):
            index = number % len(every)
            old, new = b'"resourceVersion":"%d"' % (1_000_000 + index), b'"resourceVersion":"%d"' % (9_000_001 + number)
            told = every[index].replace(old, new).replace(b'"restartCount":0', b'"restartCount":%d' % (number + 1))
            yield _event("MODIFIED", "pods", told)


def _event(verb: str, plural: str, data: bytes) -> bytes:
    """One line of a watch, as the one chunk that an API server makes of it."""
    line = b'{"type":"%b","object":{%b,"apiVersion":"v1",%b}\n' % (verb.encode(), _HEAD[plural], data[1:])
    return b"%x\r\n%b\r\n" % (len(line), line)


async def _stream(writer: StreamWriter, chunks: Iterable[bytes]) -> None:
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= BLOCK:
            writer.write(b"".join(held))
            await writer.drain()
            held, size = [], 0
    writer.write(b"".join(held))
    await writer.drain()


def _whole(writer: StreamWriter, status: int, body: bytes) -> None:
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


async def main(node_count: int, pod_count: int, unique: bool) -> None:
    """Serve on a free port of the loopback until standard input ends."""
    served = Server(
        {"nodes": list(nodes.nodes(node_count)), "pods": list(pods.pods(pod_count, node_count, unique=unique))}
    )
    listening = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), "unique" in sys.argv[3:]))
