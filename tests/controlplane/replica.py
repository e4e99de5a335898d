"""How does a test start, watch and end one process of the product?"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.controlplane.api import Json
from tests.controlplane.audit import Call
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.process import Process
from tests.controlplane.waiting import eventually

NAMESPACE = "gpu-reconciler"
USER = f"system:serviceaccount:{NAMESPACE}:gpu-reconciler"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


class Replica:
    """One `gpu-reconciler run`. Leaving the context kills it, and insists that it was refused nothing it asked for.

    `may_be_refused` is for tests of an API server that has just started: for a moment it knows no rights yet.
    """

    may_be_refused = False

    def __init__(
        self, plane: ControlPlane, name: str, environment: Mapping[str, str], log: Path, credential: str
    ) -> None:
        self.name = name
        self.environment = environment
        self.log = log
        self._plane = plane
        self._credential = credential
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The process, to pause, stop and kill."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process

    def launch(self) -> Self:
        """Start the process, and wait for nothing."""
        self._process = Process([sys.executable, "-m", "reconciler", "run"], self.log, self.environment)
        return self

    def start(self) -> Self:
        """Wait until it answers on its port; it may not have reached the API server yet."""
        if self._process is None:
            self.launch()
        eventually(self._port, f"{self.name} serves", 60)
        return self

    def lead(self) -> Self:
        """Start, and wait until it has read everything and leads."""
        self.start()
        eventually(self.leads, f"{self.name} leads", 60)
        return self

    def leads(self) -> bool:
        """Whether it says so itself."""
        return "gpu_reconciler_leader 1.0" in self.page("/metrics")[1]

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of its own HTTP pages."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port()}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def said(self) -> list[Json]:
        """The lines of its log."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def calls(self) -> list[Call]:
        """What this replica and no other asked the API server, in the order of the answers."""
        return [call for call in self._plane.audit(USER) if call.credential == self._credential]

    def writes(self) -> list[Call]:
        """Its writes, but for those of the election."""
        return [call for call in self.calls() if call.verb in WRITES and call.resource != "leases"]

    def idle(self) -> bool:
        """Whether it has written, and nothing in the last second."""
        writes = self.writes()
        return bool(writes) and datetime.now(UTC) - writes[-1].at > timedelta(seconds=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.kill()
        if error is not None:
            return
        refused = [(call.verb, call.resource, call.uri) for call in self.calls() if call.status in (401, 403)]
        assert self.may_be_refused or not refused, f"the manifests do not grant what {self.name} asked for: {refused}"
        log = self.log.read_text()
        assert "Traceback" not in log, f"{self.name} was surprised:\n{log[-3000:]}"

    def _port(self) -> int:
        self.process.check()
        return next((line["port"] for line in self.said() if line["event"] == "serving"), 0)
