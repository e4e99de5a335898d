"""A node with a kubelet, a device plugin and an eager scheduler, second by second: what happens to it as we decide.

As in the fact sheet: the config-manager follows the label at once and ends on a key that is not there; a plugin that
starts anew offers nothing for a while; the kubelet posts its status every ten seconds. The scheduler acts on a node as
it was a second ago, and we hear of its pods a second later, as the kubelet does. A pod that the kubelet cannot give a
GPU then fails, and nobody tries again.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from reconciler.decide import startup
from reconciler.decide.slicing import SharingDecision, SharingFacts, decide
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.node import NodeView, Taint
from reconciler.model.plan import RestartPlugin
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import SlicingPolicy
from reconciler.model.reasons import Reason
from reconciler.model.sharing import PluginConfig, Profile
from reconciler.model.workload import PodRef
from tests.decide.fake_node import NOW, applied, node

GPU = names.GPU_RESOURCE
KEYS = {"plain": Profile(), "exclusive": Profile(), "ts-2": Profile(2), "ts-4": Profile(4), "theirs": Profile(3)}
POSTS_EVERY = 10
SWITCH_TAKES = 6
START_TAKES = 8
POD_LIVES = 25
BURST = 10
KNOWN = Verdict(Reason.VERIFIED, "it is known", mib=14910, model="T4", count=1)
UNKNOWN = Verdict(Reason.PROVISIONAL, "it is not known yet")


@dataclass
class Plugin:
    """The plugin's pod. `config`: the profile it serves or is about to."""

    name: str
    started: int
    config: str = ""
    busy_until: int = 0
    crashed: str = ""

    def offers(self, second: int) -> int:
        if self.crashed or not self.config or second < self.busy_until:
            return 0
        return KEYS[self.config].replicas


@dataclass
class World:
    policy: SlicingPolicy
    view: NodeView
    default: str = "plain"
    """The plugin's profile without a label."""
    second: int = 0
    config: PluginConfig | None = field(default_factory=lambda: PluginConfig(KEYS, NOW - timedelta(hours=1)))
    memory: Verdict = KNOWN
    settled: bool = True
    plugin: Plugin | None = None
    ends: list[int] = field(default_factory=list)
    """When each running pod that holds a GPU ends."""
    eager_until: int = 0
    """Until then pods come in bursts: one a second for as long as there is room."""
    bursts_every: int = 40
    failed: list[int] = field(default_factory=list)
    """When a pod was refused by the kubelet, because the plugin offered nothing."""
    surprised: list[int] = field(default_factory=list)
    """When we set the label with a pod on the GPUs, or on its way."""
    placed: int = 0
    labelled: list[tuple[int, str]] = field(default_factory=list)
    posts_at: int = 0
    """The second of each ten at which the kubelet posts."""
    loses: bool = False
    """The plugin offers nothing after a switch, until its pod is deleted (k8s-device-plugin 1645)."""
    said: list[str] = field(default_factory=list)
    _before: NodeView | None = None
    _bound: bool = False
    """A pod is on its way to the kubelet."""
    _pods: int = 0

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.second)

    def facts(self) -> SharingFacts:
        return SharingFacts(self.view, self.memory, self.settled, self.config, self._plugin_pods(), len(self.ends))

    def _plugin_pods(self) -> tuple[PluginPod, ...]:
        if self.plugin is None:
            return ()
        one, key = self.plugin, self.view.name
        started = NOW + timedelta(seconds=one.started)
        ready = not one.crashed
        return (PluginPod(PodRef("nvdp", one.name, one.name), key, started, ready, True, one.crashed),)

    def start_plugin(self) -> None:
        """A new pod: the config-manager's init container reads the label before the plugin runs."""
        self._pods += 1
        self.plugin = Plugin(f"nvdp-{self._pods}", self.second)
        self._configure(START_TAKES, first=True)

    def restart_kubelet(self) -> None:
        """It has forgotten the plugin's devices until the plugin registers again."""
        self._post(0)
        if self.plugin is not None:
            self.plugin.busy_until = self.second + SWITCH_TAKES

    def write_label(self, value: str | None) -> None:
        """By somebody else."""
        labels = {name: text for name, text in self.view.labels.items() if name != names.PLUGIN_CONFIG}
        if value is not None:
            labels[names.PLUGIN_CONFIG] = value
        self.view = replace(self.view, labels=labels, profile_writer="kubectl-label")
        self._follow()

    def tick(self) -> SharingDecision:
        """One second of everybody's work, ours among it."""
        decision = decide(self.facts(), self.policy, self.now)
        self._admit()
        self._schedule()
        self._act(decision)
        if self.second % POSTS_EVERY == self.posts_at:
            self._post(0 if self.plugin is None else self.plugin.offers(self.second))
        if not self.said or self.said[-1] != decision.reason.value:
            self.said.append(decision.reason.value)
        self.second += 1
        self.ends = [end for end in self.ends if end > self.second]
        return decision

    def _act(self, decision: SharingDecision) -> None:
        before = self.view.labels.get(names.PLUGIN_CONFIG)
        for action in decision.actions:
            self.view = applied(self.view, action)
            if isinstance(action, RestartPlugin):
                assert self.plugin is not None
                assert action.pod.name == self.plugin.name
                self.start_plugin()
        if not decision.holds and not decision.actions and self.view.has_startup_taint:
            self.view = applied(self.view, startup.clear(self.view))
        after = self.view.labels.get(names.PLUGIN_CONFIG)
        if after != before and after is not None:
            self.labelled.append((self.second, after))
            if self.ends or self._bound:
                self.surprised.append(self.second)
            self.view = replace(self.view, profile_writer="gpu-reconciler")
            self._follow()

    def make_config_map(self) -> None:
        self.config = PluginConfig(KEYS, self.now)
        if self.plugin is not None and self.plugin.crashed:
            self._configure(START_TAKES, first=True)

    def _follow(self) -> None:
        if self.plugin is not None:
            self._configure(SWITCH_TAKES, first=False)

    def _configure(self, takes: int, *, first: bool) -> None:
        assert self.plugin is not None
        wanted = self.view.labels.get(names.PLUGIN_CONFIG, self.default)
        if self.config is None or wanted not in self.config.profiles:
            self.plugin.crashed = f"specified config {wanted} does not exist"
        elif wanted != self.plugin.config:
            self.plugin.config, self.plugin.crashed = wanted, ""
            self.plugin.busy_until = 10**9 if self.loses and not first else self.second + takes

    def _post(self, gpus: int) -> None:
        self.view = replace(self.view, allocatable={**self.view.allocatable, GPU: gpus})

    def _schedule(self) -> None:
        """Bind one pod if the node of a second ago has room and no taint."""
        seen, self._before = self._before, self.view
        comes = self.second < self.eager_until and self.second % self.bursts_every < BURST
        if seen is not None and comes and not seen.taints:
            self._bound = seen.allocatable.get(GPU, 0) > len(self.ends)

    def _admit(self) -> None:
        """The kubelet looks at what the plugin offers now, not at what it has posted."""
        if self._bound:
            self._bound = False
            if self.plugin is None or self.plugin.offers(self.second) <= len(self.ends):
                self.failed.append(self.second)
            else:
                self.placed += 1
                self.ends.append(self.second + POD_LIVES)


def world(policy: SlicingPolicy, *, startup_taint: bool = True, **others: object) -> World:
    """A node that has just registered, with nothing on it yet."""
    taints = (Taint(names.STARTUP_TAINT, "NoSchedule"),) if startup_taint else ()
    made = World(policy, node(capacity={"cpu": 4000}, taints=taints))
    for name, value in others.items():
        setattr(made, name, value)
    return made
