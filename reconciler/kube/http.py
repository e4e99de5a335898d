"""How does a request reach the API server over HTTP? One aiohttp session of our own, and its failures in words.

Not kubernetes_asyncio's client: its session looks up proxies and .netrc in threads for each request (two thirds of the
cost of a PATCH), has no time limits, and decodes every answer (docs/architecture.md).
"""

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib import metadata

import aiohttp
import anyio
from anyio import CancelScope
from yarl import URL

from reconciler.kube.credentials import Credentials
from reconciler.runtime.transport import Request, Response, Stream, TransportError

CONNECT = 10.0
"""Seconds to get a connection, TLS included."""
CONNECTIONS = 32
"""At once; each watch holds one. More writes at once make nothing faster (docs/architecture.md)."""
BUFFER = 256 * 1024
"""Bytes read ahead of a slow reader."""


class UnusableConfig(Exception):
    """There is no way to the API server in what was configured; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is and how it proves itself. Files are paths; `proxy` is only what a kubeconfig names."""

    url: str
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = None


@asynccontextmanager
async def opened(endpoint: Endpoint, credentials: Credentials) -> AsyncIterator["HttpTransport"]:
    """A transport for the length of the block. Raises UnusableConfig."""
    try:
        secure = _tls(endpoint) if endpoint.url.startswith("https") else False
    except OSError as error:
        raise UnusableConfig(f"the certificates for {endpoint.url} cannot be used: {error}") from error
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=secure),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"gpu-reconciler/{_version()}", "Accept-Encoding": "identity"},
        trust_env=False,
        read_bufsize=BUFFER,
    )
    try:
        yield HttpTransport(session, endpoint, credentials)
    finally:
        with CancelScope(shield=True):
            await session.close()


class HttpTransport:
    """Sends requests with the credentials of the moment; after a 401 they are looked up again, once."""

    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint, credentials: Credentials) -> None:
        self._session = session
        self._base = endpoint.url.rstrip("/")
        self._server_name = endpoint.server_name
        self._proxy = endpoint.proxy
        self._credentials = credentials

    async def send(self, request: Request) -> Response:
        """The whole answer within the request's time. Raises TransportError."""
        with self.in_words(request.timeout), anyio.fail_after(request.timeout):
            answer = await self._asked(request, aiohttp.ClientTimeout(total=None, connect=CONNECT))
            try:
                return Response(answer.status, await answer.read(), _retry_after(answer))
            finally:
                answer.close()

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """The answer as it comes; silence for the request's time breaks it off."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        limits = aiohttp.ClientTimeout(total=None, connect=CONNECT, sock_read=request.timeout)
        with self.in_words(request.timeout):
            answer = await self._asked(request, limits)
        try:
            yield _HttpStream(answer, lambda: self.in_words(request.timeout))
        finally:
            # Not only released: a watch that is left would go on filling the connection.
            answer.close()

    async def _asked(self, request: Request, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        header = await self._credentials.authorization()
        answer = await self._once(request, limits, header)
        if answer.status != 401:
            return answer
        try:
            renewed = await self._credentials.renewed(header)
        except BaseException:
            answer.close()
            raise
        if not renewed:
            return answer
        answer.close()
        return await self._once(request, limits, await self._credentials.authorization())

    async def _once(self, request: Request, limits: aiohttp.ClientTimeout, header: str) -> aiohttp.ClientResponse:
        headers = {"Accept": request.accept}
        if header:
            headers["Authorization"] = header
        if request.content_type:
            headers["Content-Type"] = request.content_type
        return await self._session.request(
            request.method,
            URL(self._base + request.path, encoded=True).with_query(request.query),
            data=request.body or None,
            headers=headers,
            timeout=limits,
            allow_redirects=False,
            server_hostname=self._server_name,
            proxy=self._proxy,
        )

    @contextmanager
    def in_words(self, patience: float) -> Iterator[None]:
        """Failures inside the block become TransportErrors that say what happened, and where."""
        try:
            yield
        except aiohttp.ConnectionTimeoutError as error:
            raise TransportError(f"cannot connect to {self._base} within {CONNECT:g} s") from error
        except TimeoutError as error:
            raise TransportError(f"{self._base} was silent for {patience:g} s") from error
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
            raise TransportError(f"{self._base} broke off: {error}") from error
        except aiohttp.ClientConnectorError as error:
            raise TransportError(f"cannot connect to {self._base}: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise TransportError(f"{self._base}: {type(error).__name__}: {error}") from error


class _HttpStream:
    """An answer that is under way."""

    def __init__(self, answer: aiohttp.ClientResponse, in_words: Callable[[], AbstractContextManager[None]]) -> None:
        self._answer = answer
        self._in_words = in_words

    @property
    def status(self) -> int:
        return self._answer.status

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """An object and not a generator: whoever stops in the middle leaves nothing that must be closed."""
        with self._in_words():
            data = await self._answer.content.readany()
        if not data:
            raise StopAsyncIteration
        return data

    async def read(self) -> bytes:
        with self._in_words():
            return await self._answer.read()


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    """Made once: the system's certificates alone take 46 ms. Raises OSError for files that are no certificates."""
    context = ssl.create_default_context(cafile=endpoint.ca_file)
    # Python 3.13 began to refuse CAs without an authority key identifier, which clusters of some age have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if endpoint.cert_file:
        context.load_cert_chain(endpoint.cert_file, keyfile=endpoint.key_file)
    if not endpoint.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _retry_after(answer: aiohttp.ClientResponse) -> float | None:
    """Seconds; a date counts from the server's own clock."""
    text = answer.headers.get("Retry-After", "").strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until, now = parsedate_to_datetime(text), parsedate_to_datetime(answer.headers.get("Date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _version() -> str:
    try:
        return metadata.version("gpu-reconciler")
    except metadata.PackageNotFoundError:
        return "dev"
