"""What does Karpenter's pretended cloud sell, and how is it kept from pretending nodes too?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.controlplane.api import Json
from tests.controlplane.fleet import Birth
from tests.controlplane.instance_types import InstanceType
from tests.controlplane.karpenter_objects import INSTANCE_TYPE, REGION, UNREGISTERED_TAINT, ZONE

_NODE = "kwok://"  # the scheme of its providerIDs; the node's name follows


class Kwok:
    """A cloud of these types.

    Left alone it makes the Node itself, and gives it what the pods ask for as its capacity, our memory resource too:
    a lie that would hide just what these tests look for. Told that instances take a day to boot it does not, and the
    fleet's kubelet registers the node, as on any other cloud. The NodeClaim has its providerID at once all the same.
    """

    program = "karpenter-kwok"
    crds = "kwok"

    def __init__(self, types: Sequence[InstanceType], folder: Path) -> None:
        self.node_class: Json = {
            "apiVersion": "karpenter.kwok.sh/v1alpha1",
            "kind": "KWOKNodeClass",
            "metadata": {"name": "default"},
            "spec": {"nodeRegistrationDelay": "24h"},
        }
        self._types = {one.name: one for one in types}
        self._file = folder / "instance-types.json"
        self._file.write_text(json.dumps([one.for_kwok() for one in types]))

    def environment(self) -> Mapping[str, str]:
        """Where the types are written."""
        return {"INSTANCE_TYPES_FILE_PATH": str(self._file)}

    def birth(self, claim: Json) -> Birth:
        """A machine with the labels that a cloud's own controller knows; all others are Karpenter's to bring."""
        labels = claim["metadata"]["labels"]
        zone = labels[ZONE]
        provider_id = claim["status"]["providerID"]
        machine = replace(
            self._types[labels[INSTANCE_TYPE]].machine(),
            labels={INSTANCE_TYPE: labels[INSTANCE_TYPE], ZONE: zone, REGION: zone[:-1]},
            taints=(UNREGISTERED_TAINT,),
            provider_id=provider_id,
        )
        return Birth(provider_id.removeprefix(_NODE), machine)
