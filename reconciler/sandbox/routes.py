"""What does a path mean? `/api/v1/namespaces/a/pods/b/eviction` is a kind, a namespace, a name and a subresource."""

from dataclasses import dataclass
from urllib.parse import unquote

from reconciler.sandbox.kinds import BUILT_IN
from reconciler.sandbox.refusal import NoSuchPath
from reconciler.sandbox.shelf import Shelf
from reconciler.sandbox.store import Store, object_key


@dataclass(frozen=True, slots=True)
class Route:
    """What a request is about. Without a name: the collection."""

    shelf: Shelf
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> str:
        return object_key(self.namespace, self.name)


def route(store: Store, path: str) -> Route:
    """Read a resource path. Raises NoSuchPath for everything that is not served."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            raise NoSuchPath
    namespace = ""
    match rest:
        case ["namespaces", *_] if len(rest) < 3 or rest[2] in ("status", "finalize"):
            plural, *tail = rest
        case ["namespaces", namespace, plural, *tail]:
            pass
        case [plural, *tail]:
            pass
        case _:
            raise NoSuchPath
    shelf = store.find(group, version, plural)
    unknown = NoSuchPath(known_group=any(kind.group == group for kind in BUILT_IN))
    if shelf is None or len(tail) > 2:
        raise unknown
    name, subresource = (*tail, "", "")[:2]
    if namespace and not shelf.kind.namespaced:
        raise unknown
    if name and shelf.kind.namespaced and not namespace:
        raise unknown
    return Route(shelf, namespace, name, subresource)
