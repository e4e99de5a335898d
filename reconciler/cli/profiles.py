"""Which ConfigMap does the device plugin need for our slicing profiles, and is the one that is there fit for them?"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from reconciler.cli.base import COULD_NOT, WRONG, Config, app, end, say, settings_of
from reconciler.decide import profile_key, wish
from reconciler.kube import plugin_config_file, shipped_profiles
from reconciler.kube.offline import UnreadableFile
from reconciler.model.sharing import LEAST_REPLICAS, MOST_REPLICAS
from reconciler.settings.slicing import MOST_EVER

Form = Literal["yaml", "json", "text"]


@app.command()
def profiles(
    most: Annotated[
        int, typer.Option(min=LEAST_REPLICAS, max=MOST_EVER, help="How many pods may share a GPU at most.")
    ] = MOST_REPLICAS,
    name: Annotated[
        str | None, typer.Option(help="NAMESPACE/NAME; else the settings say where the device plugin looks for it.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--from", help="Check this ConfigMap instead: kubectl get configmap NAME -o yaml. - is stdin."),
    ] = None,
    output: Annotated[
        Form | None, typer.Option("--output", "-o", help="yaml; with --from text, unless told otherwise.")
    ] = None,
    config: Config = None,
) -> None:
    """Print the device plugin's ConfigMap with our slicing profiles, or check one. Asks no cluster.

    A check exits with 1 when a key cannot be used.
    """
    if file is not None:
        _check(file, output or "text")
        return
    namespace, plain = _place(name, config)
    match output or "yaml":
        case "yaml":
            typer.echo(shipped_profiles.manifest(namespace, plain, most), nl=False)
        case "json":
            typer.echo(json.dumps(shipped_profiles.document(namespace, plain, most), indent=2))
        case _:
            for key in shipped_profiles.contents(most):
                say(f"{key}: {profile_key.shows(wish.replicas_of(key) or 1)}")


def _place(name: str | None, config: Path | None) -> tuple[str, str]:
    if name is None:
        slicing = settings_of(config).slicing
        return slicing.plugin_namespace, slicing.config_map
    namespace, slash, plain = name.partition("/")
    if not (namespace and slash and plain):
        end(WRONG, f"--name {name}: write it as NAMESPACE/NAME")
    return namespace, plain


def _check(file: Path, output: Form) -> None:
    try:
        found = plugin_config_file.read(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    except OSError as error:
        end(WRONG, f"{file}: {error.strerror}")
    except UnreadableFile as error:
        end(WRONG, f"{file}: {error}")
    judged = [profile_key.judge(key, profile) for key, profile in found.items()]
    if output == "text":
        for one in judged:
            say(f"{one.key}: {one.says}")
    else:  # JSON is YAML too
        typer.echo(json.dumps([asdict(one) for one in judged], indent=2, ensure_ascii=False))
    if not judged:
        end(COULD_NOT, "the ConfigMap has no keys")
    unusable = [one.key for one in judged if not one.usable]
    if unusable:
        end(COULD_NOT, f"not usable: {', '.join(unusable)}")
