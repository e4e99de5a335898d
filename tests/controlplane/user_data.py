"""What does an EC2 instance of Karpenter's read in its user data, before its kubelet registers the node?"""

from __future__ import annotations

import email
from dataclasses import dataclass

import yaml

from tests.controlplane.api import Json

_NODE_CONFIG = "application/node.eks.aws"
_LABELS = "--node-labels="


@dataclass(frozen=True, slots=True)
class Registration:
    """Labels and taints (KEY=VALUE:EFFECT) that the kubelet registers its node with."""

    labels: dict[str, str]
    taints: tuple[str, ...]


def registration(user_data: str) -> Registration:
    """Parse the MIME archive that AL2023's nodeadm reads; there is one NodeConfig in it."""
    parts = email.message_from_string(user_data).walk()
    texts = [str(part.get_payload()) for part in parts if part.get_content_type() == _NODE_CONFIG]
    (config,) = [yaml.safe_load(text) for text in texts]
    kubelet: Json = config["spec"]["kubelet"]
    (flag,) = [one for one in kubelet["flags"] if one.startswith(_LABELS)]
    pairs = [pair.partition("=") for pair in flag.removeprefix(_LABELS).strip('"').split(",")]
    taints = kubelet["config"].get("registerWithTaints") or []
    return Registration({key: value for key, _, value in pairs}, tuple(_taint(one) for one in taints))


def _taint(taint: Json) -> str:
    return f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
