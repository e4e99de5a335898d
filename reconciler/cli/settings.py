"""Which settings are in force, and where does each come from?"""

import json
import sys

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reconciler.cli.base import Config, Output, app, settings_of
from reconciler.settings.effective import effective

_UNBROKEN = 10_000
"""Columns."""


@app.command("settings")
def show_settings(config: Config = None, output: Output = "text") -> None:
    """Print every setting in force and where it comes from; secrets are hidden."""
    rows = effective(settings_of(config))
    if output == "json":
        entries = [{"name": row.name, "value": row.value, "source": row.source} for row in rows]
        typer.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    table = Table("setting", "value", "source", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in (row.name, row.value, row.source)))  # a plain str would be markup
    # Without a terminal (kubectl exec, a pipe) a line may be as long as it is: nobody reads half a name.
    Console(soft_wrap=True, width=None if sys.stdout.isatty() else _UNBROKEN).print(table)
