"""What does the NVIDIA device plugin make of its config file? A resource and how many of it each GPU is, or an error.

From its api/config/v1: config.go, sharing.go, replicas.go (v0.20.0).
"""

from dataclasses import dataclass
from typing import Any

import yaml

from reconciler.sandbox.plugin_script import GPU

SHARED = f"{GPU}.shared"
"""What renameByDefault makes of the resource's name."""


class BadConfig(Exception):
    """The plugin does not start with this; the text is its log's last line."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What a plugin serves. `strategy` is none, time-slicing or mps; `one_each`: a request for two is refused."""

    resource: str = GPU
    replicas: int = 1
    strategy: str = "none"
    one_each: bool = False

    def devices(self, gpus: int) -> list[str]:
        """The ids of all devices: a shared GPU is there once for each replica, under ids of its own."""
        whole = [f"GPU-00000000-0000-4000-8000-{number:012}" for number in range(gpus)]
        if self.strategy == "none":
            return whole
        return [f"{each}::{replica}" for each in whole for replica in range(self.replicas)]


def parse(text: str) -> Serving:
    """Read a config file; an empty one is fine. Raises BadConfig."""
    try:
        config = yaml.safe_load(text) or {}
    except yaml.YAMLError as wrong:
        raise BadConfig(_error(f"error converting YAML to JSON: {wrong}")) from wrong
    if not isinstance(config, dict):
        raise BadConfig(_error("error unmarshaling JSON: json: cannot unmarshal into Go value of type v1.Config"))
    if (version := config.get("version") or "v1") != "v1":
        raise BadConfig(_START + f"unknown version: {version}")
    sharing = config.get("sharing") or {}
    # Both are read, so an error in either stops the plugin; MPS goes before time-slicing (SharingStrategy).
    found = [
        _replicated(sharing[key], name)
        for key, name in (("mps", "mps"), ("timeSlicing", "time-slicing"))
        if sharing.get(key) is not None
    ]
    return next((each for each in found if each is not None), Serving())


LOADING = "error starting plugins: unable to load config: unable to finalize config: unable to parse config file: "
_START = f"{LOADING}error parsing config file: "


def _error(what: str) -> str:
    return f"{_START}unmarshal error: {what}"


def _replicated(given: Any, strategy: str) -> Serving | None:
    """The entry for whole GPUs; entries for other resources are checked and say nothing about GPUs."""
    decoding = "error unmarshaling JSON: while decoding JSON: "
    if not isinstance(given, dict) or not given.get("resources"):
        raise BadConfig(_error(f"{decoding}no resources specified"))
    serving = None
    for each in given["resources"]:
        for key, what in (("name", "resource name"), ("replicas", "replicas")):
            if each.get(key) is None:
                raise BadConfig(_error(f"{decoding}no {what} specified"))
        if each["replicas"] < 2:
            raise BadConfig(_error(f"{decoding}number of replicas must be >= 2"))
        if each["name"] == GPU:
            # `rename` and `devices` of an entry are ignored with a warning (disableResoureRenaming).
            one_each = given.get("failRequestsGreaterThanOne", strategy == "mps")
            name = SHARED if given.get("renameByDefault") else GPU
            serving = Serving(name, each["replicas"], strategy, bool(one_each))
    return serving
