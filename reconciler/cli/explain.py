"""What would be done about a node, and why, for people and programs?"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from reconciler.app import explaining, process
from reconciler.app.wishes import node_policy
from reconciler.app.wording import words
from reconciler.aws.builtin import builtin
from reconciler.cli.base import COULD_NOT, WRONG, Config, Output, Within, app, end, on_cluster, say, settings_of, tell
from reconciler.decide.explanation import Explanation
from reconciler.decide.limits import sentence
from reconciler.kube.offline import UnreadableFile, read
from reconciler.kube.plugin_place import PluginPlace
from reconciler.model import quantity
from reconciler.model.node import InstanceType, Resources
from reconciler.runtime import logs
from reconciler.settings.root import Settings


@app.command()
def explain(
    node: Annotated[str | None, typer.Argument(help="The node's name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every node.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Read this instead of a cluster: kubectl get nodes,pods,configmaps -A -o json. - is stdin."
        ),
    ] = None,
    output: Output = "text",
    pod_memory: Annotated[str | None, typer.Option(help="GPU memory of one pod, for the limits: 104Mi.")] = None,
    pod_gpu: Annotated[int, typer.Option(min=0, help="GPUs (or slices) of one pod, for the limits.")] = 0,
    pod_cpu: Annotated[str | None, typer.Option(help="CPU of one pod, for the limits: 250m.")] = None,
    config: Config = None,
    within: Within = 60,
) -> None:
    """Say what a node should advertise, why, what would be patched, and what limits pods on it. Writes nothing."""
    if (node is None) != every:
        end(WRONG, "name one node, or say --all")
    settings = settings_of(config)
    logs.configure("console", "error")
    pod = _pod_size(settings, pod_memory, pod_gpu, pod_cpu)
    if file is None:
        found: Sequence[Explanation] = on_cluster(partial(process.explain, settings, within=within, pod=pod))
    else:
        found = _from_file(file, settings, pod)
    if not found and file is not None:
        end(WRONG, f"{file} holds no Node; expected the output of: kubectl get nodes,pods,configmaps -A -o json")
    chosen = [one for one in found if every or one.node == node]
    if not chosen and not every:
        known = ", ".join(one.node for one in found[:10]) or "none"
        end(COULD_NOT, f"there is no node {node!r}; there are: {known}")
    if output == "json":
        documents = [one.to_document() for one in chosen]
        typer.echo(json.dumps(documents if every else documents[0], indent=2, ensure_ascii=False))
    else:
        _print(chosen)


def _from_file(file: Path, settings: Settings, pod: Resources | None) -> Sequence[Explanation]:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        place = PluginPlace.of(node_policy(settings).slicing.config_map, settings.slicing.plugin_selector)
        dump = read(content, tell, place)
    except OSError as error:
        end(WRONG, f"{file}: {error.strerror}")
    except UnreadableFile as error:
        end(WRONG, f"{file}: {error}")

    def answer(kind: InstanceType) -> Any:
        return builtin().answer_or_unknown(kind, "a file is explained without asking EC2")

    return explaining.from_dump(dump, answer, node_policy(settings), process.SystemClock().now(), pod)


def _pod_size(settings: Settings, memory: str | None, gpus: int, cpu: str | None) -> Resources | None:
    gpu = settings.capacity.gpu_resource
    given = {settings.capacity.resource: memory, gpu: str(gpus) if gpus else None, "cpu": cpu}
    try:
        size = {name: quantity.of_resource(name, text) for name, text in given.items() if text is not None}
    except quantity.QuantityError as error:
        end(WRONG, f"the pod's size: {error}")
    for name, amount in size.items():
        if amount < 1:
            end(WRONG, f"the pod's size: {name} is {given[name]}; give more than nothing, or leave it out")
    return size or None


def _print(found: Sequence[Explanation]) -> None:
    for one in found:
        figure = "nothing" if one.mib is None else f"{one.mib} MiB"
        say(f"{one.node} ({one.instance_type or 'no instance type'})")
        say(f"  {one.resource}: {figure}, source {one.source.value}, reason {one.reason.value}")
        say(f"  {one.because}")
        if one.sharing.said:
            say(f"  sharing: {one.sharing.profile or 'no profile'}, reason {one.sharing.reason.value}")
            say(f"  {one.sharing.because}")
        for opinion in one.opinions:
            say(f"  second opinion: {opinion}")
        if one.limits:
            say(f"  {sentence(one.limits)}")
        for action in one.actions:
            say(f"  would {words(action)}")
