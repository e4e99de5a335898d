"""Who else writes a node's labels? Somebody with a view of its own, who puts it back whenever it differs."""

from dataclasses import dataclass

import anyio

from reconciler.runtime.transport import TransportError
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.mirror import Bell, Mirror
from reconciler.sandbox.plugin_script import CONFIG_LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelWriter:
    """`value` None removes the label. It writes `delay` seconds after it saw another value, at most `times` times."""

    node: str
    value: str | None
    label: str = CONFIG_LABEL
    manager: str = "argocd-controller"
    delay: float = 1.0
    times: int | None = None


async def write_again(client: Client, writer: LabelWriter) -> None:
    """Until cancelled, or until it has written as often as it may."""
    bell = Bell()
    mirror = Mirror(client, NODES, bell, fields=f"metadata.name={writer.node}")
    async with anyio.create_task_group() as group:
        group.start_soon(mirror.run)
        written = 0
        while written != writer.times:
            node = mirror.get("", writer.node)
            if node is None or (node["metadata"].get("labels") or {}).get(writer.label) == writer.value:
                await bell.wait()
                continue
            await anyio.sleep(writer.delay)
            try:
                change = {"metadata": {"labels": {writer.label: writer.value}}}
                mirror.note(await client.merge(NODES, "", writer.node, change))
            except (Rejected, TransportError):
                continue
            written += 1
        group.cancel_scope.cancel()
