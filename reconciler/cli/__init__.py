"""Law: what a person can type. One file a command; none decides, each asks `app` and prints.

The imports below are what makes a command known; their order is the order of `--help`.
"""

from reconciler.cli import asg_tags, explain, overlays, profiles, run, settings, verify
from reconciler.cli.base import app

__all__ = ["app", "asg_tags", "explain", "main", "overlays", "profiles", "run", "settings", "verify"]


def main() -> None:
    app()
