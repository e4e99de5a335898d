"""sandbox/plugin_config, sandbox/config_manager: what a config means, and which one a node gets."""

import pytest

from reconciler.sandbox.config_manager import Choice, Failed, choose, update
from reconciler.sandbox.plugin_chart import EXCLUSIVE, sliced
from reconciler.sandbox.plugin_config import SHARED, BadConfig, Serving, parse
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU


@pytest.mark.parametrize(
    ("text", "serving"),
    [
        ("", Serving()),
        (EXCLUSIVE, Serving()),
        ("flags: {migStrategy: none}", Serving()),
        (sliced(4), Serving(GPU, 4, "time-slicing")),
        (sliced(4, renameByDefault=True), Serving(SHARED, 4, "time-slicing")),
        (sliced(4, failRequestsGreaterThanOne=True), Serving(GPU, 4, "time-slicing", one_each=True)),
        (sliced(2, strategy="mps"), Serving(GPU, 2, "mps", one_each=True)),
        (sliced(2, strategy="mps", failRequestsGreaterThanOne=False), Serving(GPU, 2, "mps")),
        ('{"sharing":{"timeSlicing":{"resources":[{"name":"nvidia.com/mig-1g.5gb","replicas":2}]}}}', Serving()),
        (
            "flags: {renameByDefault: true}\n"
            "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, rename: own, devices: [0]}]}}",
            Serving(GPU, 2, "time-slicing"),
        ),
    ],
)
def test_what_the_plugin_makes_of_a_config(text: str, serving: Serving) -> None:
    """Switches in the wrong place, names of one's own and devices are ignored."""
    assert parse(text) == serving


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (sliced(1), "number of replicas must be >= 2"),
        ("sharing: {timeSlicing: {resources: []}}", "no resources specified"),
        ("sharing: {timeSlicing: {resources: [{replicas: 2}]}}", "no resource name specified"),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}", "no replicas specified"),
        ("version: v2", "unknown version: v2"),
        ("a: [", "error converting YAML to JSON"),
        ("just words", "error unmarshaling JSON"),
    ],
)
def test_what_the_plugin_does_not_start_with(text: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        parse(text)


def test_slices_are_devices_of_their_own() -> None:
    """So a switch never gives a whole GPU's id to a slice."""
    whole, slices = Serving().devices(2), Serving(GPU, 2, "time-slicing").devices(2)
    assert (len(whole), len(slices)) == (2, 4)
    assert not {*whole} & {*slices}


CHART = ("named", "single")


@pytest.mark.parametrize(
    ("label", "default", "fallbacks", "names", "chosen"),
    [
        ("a", "b", CHART, ("a", "b", "default"), "a"),
        ("", "b", CHART, ("a", "b", "default"), "b"),
        ("", "", CHART, ("a", "default"), "default"),
        ("", "", CHART, ("a",), "a"),
        ("", "", ("single", "empty"), ("a", "b"), ""),
    ],
)
def test_which_config_a_node_gets(
    label: str, default: str, fallbacks: tuple[str, ...], names: tuple[str, ...], chosen: str
) -> None:
    assert choose(label, Choice(CONFIG_LABEL, default, fallbacks), names) == chosen


@pytest.mark.parametrize(
    ("label", "default", "fallbacks", "names", "why"),
    [
        ("x", "a", CHART, ("a",), "specified config x does not exist"),
        ("", "x", CHART, ("a",), "specified config  does not exist"),
        ("", "", CHART, ("a", "b"), "all fallbacks failed"),
        ("", "", (), ("a",), "all fallbacks failed"),
        ("", "", ("other",), ("a",), "unknown fallback strategy: other"),
        ("a", "", CHART, (), "no configuration files available"),
    ],
)
def test_when_a_node_gets_none(
    label: str, default: str, fallbacks: tuple[str, ...], names: tuple[str, ...], why: str
) -> None:
    with pytest.raises(Failed, match=why):
        choose(label, Choice(CONFIG_LABEL, default, fallbacks), names)


class Files:
    """A folder with a link."""

    def __init__(self, *names: str, target: str | None = None) -> None:
        self._names = names
        self.target = target

    def names(self) -> tuple[str, ...]:
        return self._names

    def point(self, name: str) -> None:
        self.target = name


@pytest.mark.parametrize(("target", "changed"), [(None, True), ("b", True), ("", True), ("a", False)])
def test_the_link_follows_and_tells_whether_it_moved(target: str | None, changed: bool) -> None:
    files = Files("a", "b", target=target)
    assert update("a", Choice(CONFIG_LABEL), files) is changed
    assert files.target == "a"


def test_a_link_that_leads_nowhere_cannot_be_replaced() -> None:
    with pytest.raises(Failed, match="error creating symlink: file exists"):
        update("a", Choice(CONFIG_LABEL), Files("a", target="gone"))
