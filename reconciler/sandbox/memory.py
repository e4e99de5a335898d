"""How does a client reach the server without a wire? A Transport in memory, which obeys faults and keeps a record."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

import anyio
import anyio.lowlevel

from reconciler.runtime.transport import Request, Response, Stream, TransportError
from reconciler.sandbox.api import Api, Watch
from reconciler.sandbox.faults import Faults, faulty
from reconciler.sandbox.record import Record


class MemoryTransport:
    """Requests of one user, answered by an Api in the same process."""

    def __init__(self, api: Api, user: str, *, faults: Faults | None = None, record: Record | None = None) -> None:
        self._api = api
        self._user = user
        self._faults = faults if faults is not None else Faults()
        self._record = record if record is not None else Record()

    async def send(self, request: Request) -> Response:
        """Answer as a whole; a watch is read to its end. Raises TransportError."""
        async with self.stream(request) as stream:
            body = await stream.read()
        retry_after = stream.retry_after if isinstance(stream, _Answer) else None
        return Response(stream.status, body, retry_after)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        answer = await self._answered(request)
        status = 200 if isinstance(answer, Watch) else answer.status
        self._record.add(self._api.store.now(), self._user, request, status)
        if isinstance(answer, Response):
            yield _Answer(answer)
            return
        async with aclosing(faulty(answer.blocks, self._faults, request, self._user)) as blocks:
            yield _Watching(blocks, request)

    async def _answered(self, request: Request) -> Response | Watch:
        await anyio.lowlevel.checkpoint()
        try:
            forced = None
            if self._faults:
                with anyio.fail_after(request.timeout):
                    forced = await self._faults.before(request, self._user)
        except TimeoutError:
            self._record.add(self._api.store.now(), self._user, request, 0)
            raise _silent(request) from None
        except TransportError:
            self._record.add(self._api.store.now(), self._user, request, 0)
            raise
        answer = forced or self._api.handle(request)
        await self._faults.after(request, self._user)
        return answer


def _silent(request: Request) -> TransportError:
    return TransportError(f"the sandbox was silent for {request.timeout:g} s on {request.method} {request.path}")


class _Answer:
    """A whole answer, dressed as a stream."""

    def __init__(self, response: Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def retry_after(self) -> float | None:
        return self._response.retry_after

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._response.body

    async def read(self) -> bytes:
        return self._response.body


class _Watching:
    """A watch: each wait for the next block is bounded by the request's timeout."""

    def __init__(self, blocks: AsyncIterator[bytes], request: Request) -> None:
        self._blocks = blocks
        self._request = request

    @property
    def status(self) -> int:
        return 200

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            try:
                with anyio.fail_after(self._request.timeout):
                    block = await anext(self._blocks, None)
            except TimeoutError:
                raise _silent(self._request) from None
            if block is None:
                return
            yield block

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])
