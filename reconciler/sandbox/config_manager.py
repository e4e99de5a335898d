"""Which config does a node get, and when does the plugin hear of it? NVIDIA's config-manager (cmd/config-manager).

As an init container it chooses once; beside the plugin it follows the node's label and sends SIGHUP. Whatever is wrong
ends it with status 1: a label that names no file, no default, a link to a file that went away.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from reconciler.sandbox.client import Client
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.mirror import Bell, Mirror
from reconciler.sandbox.programs import Exit

NAMED = "default"
"""The key that the fallback strategy `named` takes."""


class Failed(Exception):
    """The config-manager ends; the text is the last line of its log."""


class Folder(Protocol):
    """The ConfigMap as the pod has it mounted, and the link beside it that the plugin reads."""

    def names(self) -> Collection[str]: ...

    @property
    def target(self) -> str | None:
        """The name that the link leads to, whether or not such a file is there; None: no link."""
        ...

    def point(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings of a config-manager: NODE_LABEL, DEFAULT_CONFIG, FALLBACK_STRATEGIES, ONESHOT."""

    label: str
    default: str = ""
    fallbacks: Sequence[str] = ()
    once: bool = False

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "Choice":
        strategies = tuple(each for each in env.get("FALLBACK_STRATEGIES", "").split(",") if each)
        return cls(env["NODE_LABEL"], env.get("DEFAULT_CONFIG", ""), strategies, env.get("ONESHOT") == "true")


def choose(value: str, choice: Choice, names: Collection[str]) -> str:
    """The config for this value of the label; empty: no config at all. Raises Failed."""
    if not names:
        raise Failed("no configuration files available")
    for given in (value, choice.default):
        if given:
            if given not in names:
                raise Failed(f"specified config {value} does not exist")  # of the default it says the label, too
            return given
    for strategy in choice.fallbacks:
        if strategy == "named" and NAMED in names:
            return NAMED
        if strategy == "single" and len(names) == 1:
            return next(iter(names))
        if strategy == "empty":
            return ""
        if strategy not in ("named", "single"):
            raise Failed(f"unknown fallback strategy: {strategy}")
    raise Failed("no config was set, no default was provided, and all fallbacks failed")


def update(value: str, choice: Choice, folder: Folder) -> bool:
    """Point the link where the label wants it; whether it led elsewhere before. Raises Failed."""
    name = choose(value, choice, folder.names())
    target = folder.target
    if target is not None and target != "" and target not in folder.names():
        # The link is there and leads nowhere: to os.Stat it is absent, to os.Symlink it is not.
        raise Failed("error creating symlink: file exists")
    if target == name:
        return False  # "Already configured. Skipping update...": what the file says now is not looked at
    folder.point(name)
    return True


async def config_manager(
    node: str,
    choice: Choice,
    folder: Folder,
    client: Client,
    hang_up: Callable[[], None],
    trouble: Callable[[], str],
    *,
    hasty: bool = False,
) -> Exit:
    """Run until cancelled, or until there is an exit status.

    `hang_up` sends SIGHUP. `trouble` is what else ends the program, asked at every change. `hasty`: go by no label
    before the node is known.
    """
    bell = Bell()
    mirror = Mirror(client, NODES, bell, fields=f"metadata.name={node}")
    done = Exit(0)
    async with anyio.create_task_group() as group:
        group.start_soon(mirror.run)
        try:
            if why := trouble():
                raise Failed(why)
            if hasty:
                update("", choice, folder)
            if not (hasty and choice.once):
                await mirror.synced.wait()
                await _follow(node, choice, folder, mirror, bell, hang_up, trouble)
        except Failed as failure:
            done = Exit(1, str(failure))
        group.cancel_scope.cancel()
    return done


async def _follow(
    node: str,
    choice: Choice,
    folder: Folder,
    mirror: Mirror,
    bell: Bell,
    hang_up: Callable[[], None],
    trouble: Callable[[], str],
) -> None:
    read: str | None = None
    while True:
        value = _label(mirror.get("", node), choice.label)
        if why := trouble():
            raise Failed(why)
        if value != read:
            read = value
            changed = update(value, choice, folder)
            if choice.once:
                return
            if changed:
                hang_up()
        await bell.wait()


def _label(node: Json | None, key: str) -> str:
    labels = (node or {"metadata": {}})["metadata"].get("labels") or {}
    return str(labels.get(key, ""))
