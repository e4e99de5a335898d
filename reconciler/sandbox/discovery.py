"""What does the server serve at all? Version, health and the lists of resources by which kubectl finds its way."""

from itertools import groupby

from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.refusal import NoSuchPath
from reconciler.sandbox.store import Store

_VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3-sandbox", "platform": "sandbox"}

_SUBRESOURCES = {"pods": (("binding", "Binding"), ("eviction", "Eviction"))}


def answer(store: Store, path: str) -> Response | None:
    """The answer, or None when the path is about resources."""
    match path.strip("/").split("/"):
        case ["version"]:
            return Response(200, encode(_VERSION))
        case ["healthz" | "readyz" | "livez"]:
            return Response(200, b"ok")
        case ["api"]:
            return Response(200, encode({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}))
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in _versions(store).items()]
            return Response(200, encode({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        case ["apis", group] if group in _versions(store):
            return Response(
                200, encode({"kind": "APIGroup", "apiVersion": "v1"} | _group(group, _versions(store)[group]))
            )
        case ["api", version]:
            return _resources(store, "", version)
        case ["apis", group, version]:
            return _resources(store, group, version)
        case _:
            return None


def _versions(store: Store) -> dict[str, list[str]]:
    pairs = sorted({(kind.group, kind.version) for kind in store.kinds() if kind.group})
    return {group: [version for _, version in each] for group, each in groupby(pairs, key=lambda pair: pair[0])}


def _group(name: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _resources(store: Store, group: str, version: str) -> Response:
    kinds = [kind for kind in store.kinds() if (kind.group, kind.version) == (group, version)]
    if not kinds:
        raise NoSuchPath
    resources = [each for kind in kinds for each in _entries(kind)]
    body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version, "resources": resources}
    return Response(200, encode(body))


def _entries(kind: Kind) -> list[Json]:
    def entry(name: str, named: str, verbs: list[str]) -> Json:
        return {
            "name": name,
            "singularName": named.lower(),
            "namespaced": kind.namespaced,
            "kind": named,
            "verbs": verbs,
        }

    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    entries = [entry(kind.plural, kind.kind, verbs)]
    if kind.status:
        entries.append(entry(f"{kind.plural}/status", kind.kind, ["get", "patch", "update"]))
    entries += [entry(f"{kind.plural}/{sub}", named, ["create"]) for sub, named in _SUBRESOURCES.get(kind.plural, ())]
    return entries
