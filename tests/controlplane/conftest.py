"""When do these tests run, on which cluster, and what is said when they cannot?"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import programs
from tests.controlplane.availability import Availability, promised
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.instance_types import G4DN, InstanceType
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.karpenter_aws import Aws
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.kwok import Kwok
from tests.controlplane.product import Installation
from tests.controlplane.replica import Replica
from tests.controlplane.waiting import eventually

_HERE = Path(__file__).parent
_STASH = pytest.StashKey[Availability]()
_number = itertools.count(1)


def _ours(item: pytest.Item) -> bool:
    return _HERE in item.path.parents


def _meets_karpenter(item: pytest.Item) -> bool:
    return _ours(item) and isinstance(item, pytest.Function) and "karpenter_programs" in item.fixturenames


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without programs these tests are taken out of the run: a test that did not run must not look like a result."""
    for item in items:
        if _ours(item):
            item.add_marker("controlplane")
    available = Availability({programs.CONTROL_PLANE: _ours, programs.KARPENTER: _meets_karpenter})
    available.look(items)
    config.stash[_STASH] = available
    if not _under_xdist(config):
        items[:] = [item for item in items if available.not_run(item) is None]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test starts, where no test's time limit can end the build."""
    if session.config.option.collectonly or _STASH not in session.config.stash:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else ExitStack():
        session.config.stash[_STASH].build(session.items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Under xdist the process that prints the summary does not know this conftest, so each test has to speak up."""
    if because := item.config.stash[_STASH].not_run(item):
        if promised():
            pytest.fail(f"NOT RUN: {because}", pytrace=False)
        pytest.skip(f"NOT RUN: {because}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where it is promised that everything runs (CI=true), tests that were not run are a failure, and only there."""
    if _STASH not in session.config.stash or not session.config.stash[_STASH].missing:
        return
    if promised():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say loudly what was not run, and how to run it."""
    if _STASH in config.stash:
        for title, sentence in config.stash[_STASH].told():
            terminalreporter.section(title, sep="=", red=True, bold=True)
            terminalreporter.line(sentence, red=True, bold=True)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The cluster that the tests of one run share."""
    folder = tmp_path_factory.mktemp("control-plane")
    with ControlPlane(request.config.stash[_STASH].found[programs.CONTROL_PLANE], folder) as plane:
        yield plane


@pytest.fixture
def own_control_plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ControlPlane]:
    """A cluster for this test alone, to stop, compact or fill at will."""
    with ControlPlane(request.config.stash[_STASH].found[programs.CONTROL_PLANE], tmp_path / "control-plane") as plane:
        yield plane


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the shared cluster for this test alone."""
    name = f"{_dns_label(request.node.name)}-{next(_number)}"
    api = control_plane.api
    api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: api.request("GET", account).status == 200, "pods can be made in the namespace")
    yield name
    api.delete(f"/api/v1/namespaces/{name}")  # first, so that no controller makes new pods
    # A node that is gone never confirms the end of its pods; without this they would block the namespace.
    api.delete(f"/api/v1/namespaces/{name}/pods", gracePeriodSeconds=0)


@pytest.fixture
def hollow_kubelet(
    control_plane: ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Callable[..., HollowKubelet]]:
    """Start kubelets on the shared cluster, `hollow_kubelet(Machine(...))`; they are gone with the test."""
    with ExitStack() as started:

        def start(machine: Machine | None = None, name: str | None = None) -> HollowKubelet:
            node = name or f"{_dns_label(request.node.name)}-{next(_number)}"
            return started.enter_context(HollowKubelet(control_plane, node, machine))

        yield start


@pytest.fixture(scope="session")
def installation(control_plane: ControlPlane) -> Installation:
    """The product's manifests, applied to the shared cluster."""
    return Installation(control_plane).install()


@pytest.fixture
def replica(installation: Installation) -> Iterator[Callable[..., Replica]]:
    """Make replicas of the product on the shared cluster, `replica("a", {...})`; they are gone with the test."""
    installation.forget()
    with ExitStack() as made:

        def make(name: str = "one", settings: Mapping[str, object] | None = None, *, server: str = "") -> Replica:
            return made.enter_context(installation.replica(name, settings, server=server))

        yield make


@pytest.fixture(scope="session")
def karpenter_programs(request: pytest.FixtureRequest) -> programs.Programs:
    """Where the two Karpenters are; tests that need this are those that do not run without them."""
    return request.config.stash[_STASH].found[programs.KARPENTER]


@pytest.fixture
def karpenter(
    control_plane: ControlPlane, karpenter_programs: programs.Programs, tmp_path: Path
) -> Iterator[Callable[..., Karpenter[Kwok]]]:
    """Start Karpenter on the shared cluster, `karpenter([G4DN], overlays=False)`; all of it is gone with the test."""
    with ExitStack() as started:

        def start(types: Sequence[InstanceType] = (G4DN,), **how: Any) -> Karpenter[Kwok]:
            cloud = Kwok(types, tmp_path)
            return started.enter_context(Karpenter(control_plane, karpenter_programs, cloud, **how))

        yield start


@pytest.fixture
def karpenter_aws(
    control_plane: ControlPlane, karpenter_programs: programs.Programs, tmp_path: Path
) -> Iterator[Callable[..., Karpenter[Aws]]]:
    """Start Karpenter for AWS on a mocked AWS, `karpenter_aws(["g4dn"])`; `.cloud` is that AWS."""
    with ExitStack() as started:

        def start(families: Sequence[str] = ("g4dn",), **how: Any) -> Karpenter[Aws]:
            cloud = started.enter_context(Aws(control_plane, tmp_path, families))
            return started.enter_context(Karpenter(control_plane, karpenter_programs, cloud, **how))

        yield start


def _under_xdist(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _dns_label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().removeprefix("test_"))[:40].strip("-")
