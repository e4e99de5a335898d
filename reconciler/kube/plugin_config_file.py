"""Which profiles does this file hold? The device plugin's ConfigMap as kubectl writes it, as YAML or JSON."""

from collections.abc import Mapping
from typing import Any

import yaml

from reconciler.kube.offline import UnreadableFile
from reconciler.kube.plugin_profile import profile
from reconciler.model.sharing import Profile, UnusableProfile

_LARGEST = 1024 * 1024
"""Bytes; more no ConfigMap holds (ValidateConfigMap, MaxSecretSize)."""

_HINT = "expected the output of: kubectl get configmap NAME -o yaml"


def read(content: bytes) -> Mapping[str, Profile | UnusableProfile]:
    """Each key with what the plugin makes of it. Raises UnreadableFile."""
    if len(content) > 2 * _LARGEST:
        raise UnreadableFile(f"it has {len(content)} bytes, more than a ConfigMap can have; {_HINT}")
    document = _document(content)
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    if not isinstance(data, dict) or not isinstance(binary, dict):
        raise UnreadableFile(f"data is no map of texts; {_HINT}")
    read = {
        str(key): profile(text) if isinstance(text, str) else UnusableProfile("it is no text; write it after a |")
        for key, text in data.items()
    }
    return read | {str(key): UnusableProfile("it is under binaryData, so it is no text") for key in binary}


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(content.decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        where = f"line {mark.line + 1}: " if mark is not None else ""
        why = error.problem if isinstance(error, yaml.MarkedYAMLError) else "it is no YAML"
        raise UnreadableFile(f"{where}{why}; {_HINT}") from None
    if isinstance(document, dict) and document.get("kind") == "List" and len(document.get("items") or ()) == 1:
        document = document["items"][0]
    if not isinstance(document, dict) or document.get("kind") != "ConfigMap":
        raise UnreadableFile(f"line 1: there is no object of kind ConfigMap; {_HINT}")
    return document
