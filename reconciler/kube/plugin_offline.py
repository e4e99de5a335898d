"""Which of a file's ConfigMaps and pods are the device plugin's?"""

import msgspec

from reconciler.kube.label_selector import LabelSelector, SelectorError
from reconciler.kube.parse import Odd
from reconciler.kube.plugin_config import PluginConfigWire, plugin_config
from reconciler.kube.plugin_place import PluginPlace
from reconciler.kube.plugin_pods import PluginPodWire, plugin_pod
from reconciler.kube.trouble import Report, Trouble
from reconciler.kube.wire import Meta
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig


class _Labelled(Meta):
    labels: dict[str, str | None] | None = None


class _Object(msgspec.Struct):
    metadata: _Labelled


_OBJECT = msgspec.json.Decoder(_Object)
_CONFIG_MAP = msgspec.json.Decoder(PluginConfigWire)
_POD = msgspec.json.Decoder(PluginPodWire)


class PluginObjects:
    """Gathers them one by one; objects of others are passed over unread."""

    def __init__(self, place: PluginPlace, report: Report) -> None:
        self.config: PluginConfig | None = None
        self.pods: list[PluginPod] = []
        self._place = place
        self._report = report
        self._selector: LabelSelector | None = None
        try:
            self._selector = LabelSelector(place.selector)
        except SelectorError as error:
            report(Trouble("Pod", "", f"{error}; no pod of the file counts as the device plugin's"))

    def config_map(self, raw: bytes) -> None:
        """Raises what msgspec's decoders raise."""
        meta = _OBJECT.decode(raw).metadata
        if (meta.namespace, meta.name) == (self._place.namespace, self._place.config_map):
            self.config = plugin_config(_CONFIG_MAP.decode(raw), self._odd("ConfigMap", meta))

    def pod(self, raw: bytes) -> None:
        """Raises what msgspec's decoders raise."""
        meta = _OBJECT.decode(raw).metadata
        if meta.namespace != self._place.namespace or self._selector is None:
            return
        if self._selector.fits({key: value or "" for key, value in (meta.labels or {}).items()}):
            found = plugin_pod(_POD.decode(raw), self._odd("Pod", meta))
            self.pods += [found] if found is not None else []

    def _odd(self, kind: str, meta: Meta) -> Odd:
        return lambda why: self._report(Trouble(kind, f"{meta.namespace}/{meta.name}", why))
