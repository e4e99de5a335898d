"""Which NodeOverlays should stand, for those who look and for those who own them in Git?"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
import yaml

from reconciler.app import overlaying
from reconciler.cli.base import WRONG, Config, Within, app, end, on_cluster, say, settings_of, tell
from reconciler.kube import overlay_offline
from reconciler.kube.offline import UnreadableFile
from reconciler.kube.overlay_writes import manifest
from reconciler.kube.trouble import Trouble
from reconciler.model import quantity
from reconciler.model.overlay import OverlayPlan, RemoveOverlay, Wanted, WriteOverlay
from reconciler.runtime import logs
from reconciler.settings.root import Settings


@app.command()
def overlays(
    file: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Read this instead of a cluster: kubectl get nodepools,nodeoverlays -o json. - is stdin."
        ),
    ] = None,
    output: Annotated[
        Literal["text", "yaml", "json"],
        typer.Option("--output", "-o", help="For people, for kubectl apply -f -, or for programs."),
    ] = "text",
    slices: Annotated[
        bool | None, typer.Option("--slices/--no-slices", help="Instead of the setting karpenter.overlay_slices.")
    ] = None,
    config: Config = None,
    within: Within = 60,
) -> None:
    """Print the NodeOverlays that tell Karpenter what GPU nodes will advertise. Writes nothing.

    What is in their way, and what is left out and why, goes to stderr.
    """
    settings = settings_of(config)
    logs.configure("console", "error")
    plan: OverlayPlan
    if file is None:
        plan = on_cluster(partial(overlaying.of_cluster, settings, _tell, slices=slices, within=within))
    else:
        plan = _from_file(file, settings, slices)
    match output:
        case "yaml":
            typer.echo(yaml.safe_dump_all([manifest(one) for one in plan.wanted], sort_keys=False), nl=False)
        case "json":
            typer.echo(json.dumps(_document(plan), indent=2, ensure_ascii=False))
        case "text":
            _print(plan)
    for finding in plan.findings:
        typer.echo(f"{finding.reason.value}: {finding.sentence}", err=True)


def _from_file(file: Path, settings: Settings, slices: bool | None) -> OverlayPlan:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        dump = overlay_offline.read(content, tell)
    except OSError as error:
        end(WRONG, f"{file}: {error.strerror}")
    except UnreadableFile as error:
        end(WRONG, f"{file}: {error}")
    if not dump.pools:
        end(WRONG, f"{file} holds no NodePool; {overlay_offline.HINT}")
    return overlaying.of_dump(dump, settings, slices=slices)


def _tell(trouble: Trouble) -> None:
    """A trouble on the way. That Karpenter's kinds are not there is said by the plan."""
    if trouble.kind not in ("NodePool", "NodeOverlay"):
        tell(trouble)


def _document(plan: OverlayPlan) -> dict[str, object]:
    return {
        "overlays": [manifest(one) for one in plan.wanted],
        "changes": [{"name": action.name, "change": _verb(action)} for action in plan.actions],
        "findings": [
            {"reason": one.reason.value, "about": one.about, "warning": one.warning, "sentence": one.sentence}
            for one in plan.findings
        ],
    }


def _print(plan: OverlayPlan) -> None:
    change = {action.name: _verb(action) for action in plan.actions}
    for one in plan.wanted:
        say(f"{one.name} ({change.get(one.name, 'stands')})")
        say(f"  {_capacity(one)}{f', NodePool {one.pool} only' if one.pool else ''}, weight {one.weight}")
        say(f"  {', '.join(one.types)}")
    for action in plan.actions:
        if isinstance(action, RemoveOverlay):
            say(f"{action.name} (to be removed)")
    if not plan.wanted and not plan.actions:
        say("no overlay is needed")


def _capacity(one: Wanted) -> str:
    return ", ".join(f"{name}={quantity.text(amount)}" for name, amount in one.capacity.items())


def _verb(action: WriteOverlay | RemoveOverlay) -> str:
    if isinstance(action, RemoveOverlay):
        return "remove"
    return "make" if action.over is None else "change"
