"""How does the kubelet ask whether we live, and Prometheus what we count? The one HTTP listener."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from reconciler.serve.metrics import CONTENT_TYPE, Metrics


@asynccontextmanager
async def listen(
    host: str, port: int, metrics: Metrics, *, healthy: Callable[[], str], ready: Callable[[], str]
) -> AsyncIterator[int]:
    """Serve /healthz, /readyz and /metrics while the block runs; yields the port that was bound (0 asks for any).

    `healthy` and `ready` return an empty text when all is well, else what is wrong, which the answer repeats.
    """

    def verdict(ask: Callable[[], str]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(_: web.Request) -> web.Response:
            trouble = ask()
            return web.Response(text=trouble or "ok", status=503 if trouble else 200)

        return answer

    async def page(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    application = web.Application()
    application.router.add_get("/healthz", verdict(healthy))
    application.router.add_get("/readyz", verdict(ready))
    application.router.add_get("/metrics", page)
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
