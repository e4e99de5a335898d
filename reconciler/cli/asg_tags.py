"""Which tags must node groups carry, so that Cluster Autoscaler scales them from zero for GPU memory?"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import typer

from reconciler.app import asg_tagging
from reconciler.cli.base import WRONG, Config, app, end, say, settings_of
from reconciler.decide.asg_tags import GroupTags
from reconciler.model import names
from reconciler.model.node import InstanceType

VARIABLE = "node_group_tags"
"""Of infra/examples/cluster-autoscaler."""


@app.command("asg-tags")
def asg_tags(
    types: Annotated[
        list[str] | None, typer.Argument(help="Instance types. Without any: every known type with an NVIDIA GPU.")
    ] = None,
    node_group: Annotated[
        str | None, typer.Option(help="One node group of all these types: the least of them counts.")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, help="Slices of each GPU, instead of what the rules for sharing say.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A label of the node group's nodes, as KEY=VALUE; may be repeated.")
    ] = None,
    capacity_type: Annotated[
        Literal["spot", "on-demand"] | None, typer.Option(help="How its nodes are bought, for rules that ask.")
    ] = None,
    startup_taint: Annotated[
        bool, typer.Option("--startup-taint", help=f"A tag for our startup taint, {names.STARTUP_TAINT}.")
    ] = False,
    output: Annotated[
        Literal["text", "json", "terraform"],
        typer.Option("--output", "-o", help="For people, for programs, or for a file *.auto.tfvars.json."),
    ] = "text",
    config: Config = None,
) -> None:
    """Print the tags by which Cluster Autoscaler knows what GPU nodes will offer. Asks no cluster and no AWS.

    What is left out, and why, goes to stderr.
    """
    found = asg_tagging.of_groups(
        _groups(types or [], node_group),
        settings_of(config),
        replicas=replicas,
        labels=_labels(label or []),
        capacity_type=capacity_type or "",
        startup_taint=startup_taint,
    )
    tags = {name: dict(group.tags) for name, group in found.items()}
    match output:
        case "json":
            typer.echo(json.dumps(tags, indent=2))
        case "terraform":
            typer.echo(json.dumps({VARIABLE: tags}, indent=2))
        case "text":
            _print(found)
    for name, group in found.items():
        for note in group.notes:
            typer.echo(f"{name}: {note}", err=True)
    if startup_taint:
        flag = f"--startup-taint={names.STARTUP_TAINT}"
        typer.echo(f"run Cluster Autoscaler with {flag}, or it takes the taint for one that stays", err=True)


def _groups(types: Sequence[str], node_group: str | None) -> Mapping[str, Sequence[InstanceType]]:
    known = asg_tagging.known()
    unknown = [kind for kind in types if kind not in known]
    if unknown:
        end(WRONG, f"not among the known types with an NVIDIA GPU: {', '.join(unknown)}; without types all are printed")
    if node_group is not None and not types:
        end(WRONG, "name the instance types of the node group")
    kinds = [InstanceType(kind) for kind in dict.fromkeys(types)] or list(known)
    return {node_group: kinds} if node_group is not None else {kind: [kind] for kind in kinds}


def _labels(given: Sequence[str]) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not (key and equals):
            end(WRONG, f"--label {one}: write it as KEY=VALUE")
        labels[key] = value
    return labels


def _print(found: Mapping[str, GroupTags]) -> None:
    for name, group in found.items():
        say(name)
        for key, value in group.tags.items():
            say(f"  {key} = {value}")
