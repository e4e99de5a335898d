"""What can a person type? The commands of `gpu-reconciler`, their texts and exit codes.

Exit codes: 0 all is well; 1 something could not be done, and the text says what; 2 the command, a setting or a file is
wrong.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import anyio
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reconciler.app import explaining, process
from reconciler.app.wording import words
from reconciler.aws.builtin import builtin
from reconciler.decide.explanation import Explanation
from reconciler.decide.limits import sentence
from reconciler.kube.apply import Rehearsal
from reconciler.kube.fence import NotLeader
from reconciler.kube.http import UnusableConfig
from reconciler.kube.offline import UnreadableFile, read
from reconciler.kube.trouble import Trouble
from reconciler.model import quantity
from reconciler.model.node import InstanceType, Resources
from reconciler.runtime import logs
from reconciler.runtime.transport import TransportError
from reconciler.settings import load
from reconciler.settings.effective import effective
from reconciler.settings.mistakes import SettingsError
from reconciler.settings.policy import capacity_policy
from reconciler.settings.root import Settings

COULD_NOT, WRONG = 1, 2

app = typer.Typer(
    help="Keeps the GPU memory that nodes advertise true.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Config = Annotated[
    Path | None, typer.Option("--config", help="Settings file (YAML); else GPU_RECONCILER_CONFIG names one.")
]
Output = Annotated[Literal["text", "json"], typer.Option("--output", "-o", help="For people, or for programs.")]
Within = Annotated[float, typer.Option("--within", min=1, help="Seconds to wait for the cluster.")]


def main() -> None:
    app()


@app.command()
def run(config: Config = None) -> None:
    """Run the controller: watch always, write while leading. SIGTERM ends it."""
    settings = _settings(config)
    logs.configure(settings.logs.format, settings.logs.level)
    _cluster(partial(process.run, settings))


@app.command()
def once(
    config: Config = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done; write nothing.")] = False,
    within: Within = 60,
) -> None:
    """One pass over every node, then exit: 0 all done, 1 something could not be done (for a CronJob)."""
    settings = _settings(config)
    logs.configure(settings.logs.format, settings.logs.level)
    rehearsal = Rehearsal() if dry_run else None
    bad: Sequence[str] = _cluster(partial(process.once, settings, within=within, rehearsal=rehearsal))
    for action in rehearsal.actions if rehearsal is not None else ():
        typer.echo(f"would {words(action)}")
    if bad:
        _end(COULD_NOT, f"not done: {', '.join(bad)}; the lines above say why")


@app.command()
def explain(
    node: Annotated[str | None, typer.Argument(help="The node's name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every node.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("--from", help="Read this instead of a cluster: kubectl get nodes,pods -A -o json. - is stdin."),
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
        _end(WRONG, "name one node, or say --all")
    settings = _settings(config)
    logs.configure("console", "error")
    pod = _pod_size(settings, pod_memory, pod_gpu, pod_cpu)
    if file is None:
        found: Sequence[Explanation] = _cluster(partial(process.explain, settings, within=within, pod=pod))
    else:
        found = _from_file(file, settings, pod)
    if not found and file is not None:
        _end(WRONG, f"{file} holds no Node; expected the output of: kubectl get nodes,pods -A -o json")
    chosen = [one for one in found if every or one.node == node]
    if not chosen and not every:
        known = ", ".join(one.node for one in found[:10]) or "none"
        _end(COULD_NOT, f"there is no node {node!r}; there are: {known}")
    if output == "json":
        documents = [one.to_document() for one in chosen]
        typer.echo(json.dumps(documents if every else documents[0], indent=2, ensure_ascii=False))
    else:
        _print(chosen)


@app.command("settings")
def show_settings(config: Config = None, output: Output = "text") -> None:
    """Print every setting in force and where it comes from; secrets are hidden."""
    rows = effective(_settings(config))
    if output == "json":
        entries = [{"name": row.name, "value": row.value, "source": row.source} for row in rows]
        typer.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    table = Table("setting", "value", "source", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in (row.name, row.value, row.source)))  # a plain str would be markup
    Console(soft_wrap=True).print(table)


def _from_file(file: Path, settings: Settings, pod: Resources | None) -> Sequence[Explanation]:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        dump = read(content, _tell)
    except OSError as error:
        _end(WRONG, f"{file}: {error.strerror}")
    except UnreadableFile as error:
        _end(WRONG, f"{file}: {error}")

    def answer(kind: InstanceType) -> Any:
        return builtin().answer_or_unknown(kind, "a file is explained without asking EC2")

    return explaining.from_dump(dump, answer, capacity_policy(settings), process.SystemClock().now(), pod)


def _pod_size(settings: Settings, memory: str | None, gpus: int, cpu: str | None) -> Resources | None:
    gpu = settings.capacity.gpu_resource
    given = {settings.capacity.resource: memory, gpu: str(gpus) if gpus else None, "cpu": cpu}
    try:
        size = {name: quantity.of_resource(name, text) for name, text in given.items() if text is not None}
    except quantity.QuantityError as error:
        _end(WRONG, f"the pod's size: {error}")
    for name, amount in size.items():
        if amount < 1:
            _end(WRONG, f"the pod's size: {name} is {given[name]}; give more than nothing, or leave it out")
    return size or None


def _print(found: Sequence[Explanation]) -> None:
    def say(text: str) -> None:
        """A file's names may hold what a terminal would obey."""
        typer.echo("".join(letter if letter.isprintable() else "\ufffd" for letter in text))

    for one in found:
        figure = "nothing" if one.mib is None else f"{one.mib} MiB"
        say(f"{one.node} ({one.instance_type or 'no instance type'})")
        say(f"  {one.resource}: {figure}, source {one.source.value}, reason {one.reason.value}")
        say(f"  {one.because}")
        if one.limits:
            say(f"  {sentence(one.limits)}")
        for action in one.actions:
            say(f"  would {words(action)}")


def _settings(config: Path | None) -> Settings:
    try:
        return load.from_process(config)
    except SettingsError as error:
        _end(WRONG, str(error))


def _cluster(ask: Callable[[], Any]) -> Any:
    """Run `ask` on an event loop; what keeps it from its work becomes a text and an exit code."""
    answer: Any = None
    code, text = 0, ""
    try:
        answer = anyio.run(ask)
    except* UnusableConfig as errors:
        code, text = WRONG, _texts(errors)
    except* (process.NotInTime, NotLeader, TransportError, OSError) as errors:
        code, text = COULD_NOT, _texts(errors)
    if code:
        _end(code, text)
    return answer


def _texts(errors: BaseExceptionGroup[BaseException]) -> str:
    """Task groups wrap what ended them, once for each of them."""
    plain = [_texts(one) if isinstance(one, BaseExceptionGroup) else str(one) for one in errors.exceptions]
    return "; ".join(dict.fromkeys(plain))


def _tell(trouble: Trouble) -> None:
    typer.echo(f"{trouble.kind} {trouble.name}: {trouble.why}", err=True)


def _end(code: int, text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(code)
