"""What do all commands share? The application, options, exit codes, and how what went wrong becomes a text.

Exit codes: 0 all is well; 1 something could not be done, and the text says what; 2 the command, a setting or a file is
wrong.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import anyio
import typer

from reconciler.app import process
from reconciler.kube.fence import NotLeader
from reconciler.kube.http import UnusableConfig
from reconciler.kube.trouble import Trouble
from reconciler.runtime.transport import TransportError
from reconciler.settings import load
from reconciler.settings.mistakes import SettingsError
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


def settings_of(config: Path | None) -> Settings:
    """The settings in force, or the end of the command."""
    try:
        return load.from_process(config)
    except SettingsError as error:
        end(WRONG, str(error))


def on_cluster(ask: Callable[[], Any]) -> Any:
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
        end(code, text)
    return answer


def _texts(errors: BaseExceptionGroup[BaseException]) -> str:
    """Task groups wrap what ended them, once for each of them."""
    plain = [_texts(one) if isinstance(one, BaseExceptionGroup) else str(one) for one in errors.exceptions]
    return "; ".join(dict.fromkeys(plain))


def say(text: str) -> None:
    """A line for people. A file's names may hold what a terminal would obey."""
    typer.echo("".join(letter if letter.isprintable() else "\ufffd" for letter in text))


def tell(trouble: Trouble) -> None:
    """A trouble on the way, on stderr."""
    typer.echo(f"{trouble.kind} {trouble.name}: {trouble.why}", err=True)


def end(code: int, text: str) -> NoReturn:
    """The end of the command, with a text on stderr."""
    typer.echo(text, err=True)
    raise typer.Exit(code)
