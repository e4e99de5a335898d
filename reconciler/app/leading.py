"""When does this replica work? While it leads, and not a moment longer."""

import anyio

from reconciler.app.controller import Controller
from reconciler.kube.lease import Lease


async def lead(controller: Controller, lease: Lease) -> None:
    """Work in each of our terms as leader, until cancelled. What was touched in between waits in the queues."""
    while True:
        await lease.gained()
        async with anyio.create_task_group() as term:
            term.start_soon(controller.work)
            await lease.lost()
            term.cancel_scope.cancel()
