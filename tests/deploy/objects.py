"""What lies in deploy/? Every object with the file it came from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "manifests"
SHARING = MANIFESTS / "sharing"
EXAMPLES = ROOT / "deploy" / "examples"


@dataclass(frozen=True, slots=True)
class Object:
    """One Kubernetes object as it is written; its shape is Kubernetes' own, hence a dict."""

    file: Path
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        found: str | None = self.body["metadata"].get("namespace")
        return found

    @property
    def of_karpenter(self) -> bool:
        return str(self.body["apiVersion"]).startswith("karpenter.")

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def _read(file: Path) -> Iterator[Object]:
    for body in yaml.safe_load_all(file.read_text()):
        yield Object(file, body)


def manifests() -> list[Object]:
    """What `kubectl apply -k deploy/manifests` applies, in kustomization.yaml's order."""
    listed = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["resources"]
    return [found for name in listed for found in _read(MANIFESTS / name)]


def sharing(*optional: str) -> list[Object]:
    """What `kubectl apply -k deploy/manifests/sharing` applies besides, and optional files of that folder."""
    listed = yaml.safe_load((SHARING / "kustomization.yaml").read_text())["resources"]
    return [found for name in (*listed, *optional) for found in _read(SHARING / name)]


def examples() -> list[Object]:
    """Every object of Kubernetes' own among the examples."""
    return [one for one in _examples() if not one.of_karpenter]


def of_karpenter() -> list[Object]:
    """Every object of Karpenter's among the examples; its own API server judges their shape."""
    return [one for one in _examples() if one.of_karpenter]


def _examples() -> list[Object]:
    files = sorted(EXAMPLES.rglob("*.yaml"))
    return [found for file in files if file.name != "settings.yaml" for found in _read(file)]


def only(kind: str, name: str = "gpu-reconciler") -> Object:
    """The one object of this kind and name among the manifests."""
    (found,) = [one for one in manifests() if (one.kind, one.name) == (kind, name)]
    return found
