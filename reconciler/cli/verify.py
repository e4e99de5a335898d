"""Does a node's GPU set-up work as a pod sees it? Proved by a pod, told step by step."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from reconciler.app import verifying
from reconciler.app.verifying import Verified
from reconciler.cli.base import COULD_NOT, WRONG, Config, Output, Within, app, end, on_cluster, say, settings_of, tell
from reconciler.model.verification import StepState, Verification
from reconciler.model.verification_record import Result
from reconciler.runtime import logs

_MARKS = {StepState.OK: "ok     ", StepState.FAILED: "FAILED ", StepState.SKIPPED: "-      "}


@app.command()
def verify(
    nodes: Annotated[list[str] | None, typer.Argument(help="Names of nodes.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every node that seems to have an NVIDIA GPU.")] = False,
    output: Output = "text",
    config: Config = None,
    within: Within = 60,
) -> None:
    """Prove that a node's GPU set-up works: a pod asks for a GPU, looks at it, and what it sees is compared.

    Exit code 0: all verified; 1: something is not, and the sentences say what; 2: wrong usage.
    """
    names = nodes or []
    if bool(names) == every:
        end(WRONG, "name nodes, or say --all")
    settings = settings_of(config)
    logs.configure("console", "error")
    found: Verified = on_cluster(partial(verifying.verify, settings, names, within=within, report=tell, say=_progress))
    _print(found.nodes, output)
    end_as(found, every=every)


def end_as(found: Verified, *, every: bool) -> None:
    """The exit code, with what is not on the node's own lines."""
    bad = [
        one.node for one in found.nodes if one.result is Result.FAILED or (one.result is Result.SKIPPED and not every)
    ]
    texts = []
    if found.stopped:
        texts.append("stopped before all was looked at; the Jobs that were under way are removed")
    if found.unknown:
        texts.append(f"there is no node {', '.join(found.unknown)}")
    if bad:
        texts.append(f"not verified: {', '.join(bad)}")
    if texts:
        end(COULD_NOT, "; ".join(texts))
    if not found.nodes:
        typer.echo("no node seems to have an NVIDIA GPU", err=True)


def _print(found: Sequence[Verification], output: str) -> None:
    if output == "json":
        typer.echo(json.dumps([one.to_document() for one in found], indent=2, ensure_ascii=False))
        return
    for one in found:
        say(f"{one.node}: {one.result.value}" + (f" (Job {one.job})" if one.job else ""))
        for step in one.steps:
            say(f"  {_MARKS[step.state]}{step.name.value:<11}{step.sentence}")


def _progress(text: str) -> None:
    typer.echo("".join(letter if letter.isprintable() else "\ufffd" for letter in text), err=True)
