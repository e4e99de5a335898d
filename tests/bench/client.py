"""How does an approach reach the measured server, and what does it hand back?"""

import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.bench.meter import Cost


@dataclass(frozen=True, slots=True)
class Measured:
    """`count` is what was done: objects held, events taken, requests answered."""

    count: int
    cost: Cost


def start_changes(url: str, events: int) -> None:
    """Let the server tell so many changes on every open watch of pods. Blocks for a millisecond or two."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request("POST", f"/bench/churn?events={events}")
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != 201:
        raise RuntimeError(f"the measured server answered {status} to POST /bench/churn")


TOKEN = "t" * 900
"""As long as a service account's token."""

CONCURRENT_PATCHES = 8
