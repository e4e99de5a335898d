"""Which ConfigMap does the device plugin need for our slicing profiles?"""

import json
from typing import Annotated, Literal

import typer

from reconciler.cli.base import WRONG, app, end, say
from reconciler.kube import shipped_profiles
from reconciler.model.policy import SlicingPolicy
from reconciler.model.sharing import LEAST_REPLICAS, MOST_REPLICAS

MOST_EVER = 128
"""A typing mistake, not a wish, is what asks for more; NVIDIA sets no bound."""


@app.command()
def profiles(
    most: Annotated[
        int, typer.Option(min=LEAST_REPLICAS, max=MOST_EVER, help="How many pods may share a GPU at most.")
    ] = MOST_REPLICAS,
    name: Annotated[
        str, typer.Option(help="Where the device plugin looks for it: NAMESPACE/NAME.")
    ] = SlicingPolicy().config_map,
    output: Annotated[Literal["yaml", "json", "text"], typer.Option("--output", "-o")] = "yaml",
) -> None:
    """Print the device plugin's ConfigMap with our slicing profiles, for those who own theirs. Asks no cluster."""
    namespace, slash, plain = name.partition("/")
    if not (namespace and slash and plain):
        end(WRONG, f"--name {name}: write it as NAMESPACE/NAME")
    match output:
        case "yaml":
            typer.echo(shipped_profiles.manifest(namespace, plain, most), nl=False)
        case "json":
            typer.echo(json.dumps(shipped_profiles.document(namespace, plain, most), indent=2))
        case "text":
            for key in shipped_profiles.contents(most):
                say(key)
