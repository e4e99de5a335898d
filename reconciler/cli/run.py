"""How does the controller run: for ever, or one pass?"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from reconciler.app import process
from reconciler.app.wording import words
from reconciler.cli.base import COULD_NOT, Config, Within, app, end, on_cluster, settings_of
from reconciler.kube.apply import Rehearsal
from reconciler.runtime import logs


@app.command()
def run(config: Config = None) -> None:
    """Run the controller: watch always, write while leading. SIGTERM ends it."""
    settings = settings_of(config)
    logs.configure(settings.logs.format, settings.logs.level)
    on_cluster(partial(process.run, settings))


@app.command()
def once(
    config: Config = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done; write nothing.")] = False,
    within: Within = 60,
) -> None:
    """One pass over every node, then exit: 0 all done, 1 something could not be done (for a CronJob)."""
    settings = settings_of(config)
    logs.configure(settings.logs.format, settings.logs.level)
    rehearsal = Rehearsal() if dry_run else None
    bad: Sequence[str] = on_cluster(partial(process.once, settings, within=within, rehearsal=rehearsal))
    for action in rehearsal.actions if rehearsal is not None else ():
        typer.echo(f"would {words(action)}")
    if bad:
        end(COULD_NOT, f"not done: {', '.join(bad)}; the lines above say why")
