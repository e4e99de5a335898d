"""How is the catalog's ConfigMap read and written? By compare and swap: two replicas and a person may write it too."""

from collections.abc import Mapping

import msgspec

from reconciler.kube import catalog_data, fence, write
from reconciler.kube.errors import ask
from reconciler.kube.fence import Fence
from reconciler.kube.reader import Reader, by_name
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Report
from reconciler.kube.wire import ConfigMapWire
from reconciler.runtime.errors import Gone, Rejected, Stale
from reconciler.runtime.transport import Request, Transport

NAME = "gpu-reconciler-catalog"
TRIES = 5
"""Of one compare-and-swap."""

Data = Mapping[str, str]

_CONFIG_MAP = msgspec.json.Decoder(ConfigMapWire)


def source(report: Report, namespace: str) -> Source[Data]:
    """The one ConfigMap, by its name."""
    reader = Reader("ConfigMap", ConfigMapWire, lambda wire, odd: _data(wire), by_name, report)
    return Source(_collection(namespace), reader, {"fieldSelector": f"metadata.name={NAME}"})


class CatalogConfigMap:
    """Writes entries; nothing else of the ConfigMap is touched."""

    def __init__(self, transport: Transport, namespace: str, may_write: Fence) -> None:
        self._transport = transport
        self._namespace = namespace
        self._may_write = may_write

    async def put(self, new: Data) -> None:
        """Set these entries. Raises CatalogFull, NotLeader, and what `runtime.errors` names."""
        if not new:
            return None
        for _ in range(TRIES):
            self._may_write()
            try:
                return await self._try(new)
            except (Stale, Gone) as error:
                # It was changed, made, or removed between our reading and our writing.
                failure = error
        raise Stale(f"the catalog was changed by others {TRIES} times in a row: {failure}")

    async def _try(self, new: Data) -> None:
        path = f"{_collection(self._namespace)}/{NAME}"
        try:
            body = (await ask(self._transport, Request("GET", path))).body
        except Gone:
            return await self._create(new)
        try:
            found = _CONFIG_MAP.decode(body)
        except msgspec.DecodeError as error:
            raise Rejected(f"ConfigMap {NAME} cannot be read: {error}") from error
        changes = catalog_data.put(_data(found), new)
        if not changes:
            return None
        metadata = {"resourceVersion": found.metadata.resource_version}
        return await self._send(write.request("PATCH", path, {"metadata": metadata, "data": changes}, write.MERGE))

    async def _send(self, request: Request) -> None:
        await fence.send(self._transport, self._may_write, request)

    async def _create(self, new: Data) -> None:
        metadata = {"name": NAME, "namespace": self._namespace, "labels": {"app.kubernetes.io/name": "gpu-reconciler"}}
        data = catalog_data.put({}, new)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        try:
            await self._send(write.request("POST", _collection(self._namespace), body))
        except Gone as error:
            raise Rejected(f"{error}: the namespace is missing") from error


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def _data(wire: ConfigMapWire) -> Data:
    return {key: text or "" for key, text in (wire.data or {}).items()}
