"""How do Karpenter's kinds come to a cluster, and how do they go again with all that is of them?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.controlplane.api import MERGE, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.waiting import eventually

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Kinds:
    """The definitions of one folder, each a file."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._crds: list[Json] = [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml"))]

    def install(self) -> None:
        """Make them, and wait until they are served."""
        for crd in self._crds:
            self._plane.api.post(CRDS, crd)
        self._answer(200)

    def path(self, kind: str) -> str:
        """Where the objects of that kind are."""
        (path,) = [_path(crd) for crd in self._crds if crd["spec"]["names"]["kind"] == kind]
        return path

    def take_away(self, others: Iterable[str]) -> None:
        """Delete them, their cluster-wide objects, and `others` (paths), whatever finalizers say.

        For when Karpenter is gone: nobody would honour them any more.
        """
        api = self._plane.api
        orphans = list(others)
        for path in self._cluster_wide():
            found = api.request("GET", path).body.get("items", [])
            orphans += [f"{path}/{one['metadata']['name']}" for one in found]
        for path in orphans:
            api.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            api.delete(path)
        for crd in self._crds:
            api.delete(f"{CRDS}/{crd['metadata']['name']}")
        self._answer(404)

    def _answer(self, status: int) -> None:
        for path in self._cluster_wide():
            self._answers(path, status)

    def _answers(self, path: str, status: int) -> None:
        eventually(lambda: self._plane.api.request("GET", path).status == status, f"{path} answers {status}")

    def _cluster_wide(self) -> list[str]:
        return [_path(crd) for crd in self._crds if crd["spec"]["scope"] == "Cluster"]


def _path(crd: Json) -> str:
    spec = crd["spec"]
    (version,) = [one["name"] for one in spec["versions"] if one["storage"]]
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
