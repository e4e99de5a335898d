"""One approach in a process of its own: `python -m tests.bench.child MODULE.FUNCTION URL [NUMBER]`.

The module is imported before the approach's meter begins. What was measured is the last line of standard output.
"""

import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import Any

from tests.bench.client import Measured


def main(where: str, url: str, *numbers: str) -> None:
    """Run the approach and print what it measured."""
    module, _, function = where.partition(".")
    approach: Callable[..., Coroutine[Any, Any, Measured]]
    approach = getattr(importlib.import_module(f"tests.bench.approaches.{module}"), function)
    print(json.dumps(asdict(asyncio.run(approach(url, *map(int, numbers))))))


if __name__ == "__main__":
    main(*sys.argv[1:])
