"""When do these tests run, on which cluster, and what is said when they cannot?"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.controlplane import programs
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.product import Installation
from tests.controlplane.replica import Replica
from tests.controlplane.waiting import eventually

_HERE = Path(__file__).parent
_PROGRAMS = pytest.StashKey[programs.Programs]()
_NOT_RUN = pytest.StashKey[tuple[int, str]]()
_number = itertools.count(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without programs these tests are taken out of the run: a test that did not run must not look like a result."""
    ours = [item for item in items if _HERE in item.path.parents]
    for item in ours:
        item.add_marker("controlplane")
    match programs.find() if ours else None:
        case programs.Unavailable(because):
            config.stash[_NOT_RUN] = (len(ours), because)
            if not _under_xdist(config):
                items[:] = [item for item in items if _HERE not in item.path.parents]
        case programs.Programs() as found:
            config.stash[_PROGRAMS] = found
        case programs.Buildable() | None:
            pass


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test starts, where no test's time limit can end the build."""
    stash = session.config.stash
    wanted = any(_HERE in item.path.parents for item in session.items) and not session.config.option.collectonly
    if wanted and _PROGRAMS not in stash and _NOT_RUN not in stash:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else ExitStack():
            stash[_PROGRAMS] = programs.build()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Under xdist the process that prints the summary does not know this conftest, so each test has to speak up."""
    if _HERE in item.path.parents and _NOT_RUN in item.config.stash:
        _, because = item.config.stash[_NOT_RUN]
        if _promised():
            pytest.fail(f"NOT RUN: {because}", pytrace=False)
        pytest.skip(f"NOT RUN: {because}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where it is promised that everything runs (CI=true), tests that were not run are a failure, and only there."""
    if _NOT_RUN not in session.config.stash:
        return
    if _promised():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say loudly what was not run, and how to run it."""
    if _NOT_RUN in config.stash:
        count, because = config.stash[_NOT_RUN]
        terminalreporter.section("real control plane: NOT RUN", sep="=", red=True, bold=True)
        terminalreporter.line(f"{count} tests on a real control plane were NOT RUN: {because}", red=True, bold=True)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The cluster that the tests of one run share."""
    folder = tmp_path_factory.mktemp("control-plane")
    with ControlPlane(request.config.stash[_PROGRAMS], folder) as plane:
        yield plane


@pytest.fixture
def own_control_plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ControlPlane]:
    """A cluster for this test alone, to stop, compact or fill at will."""
    with ControlPlane(request.config.stash[_PROGRAMS], tmp_path / "control-plane") as plane:
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


def _under_xdist(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _promised() -> bool:
    return os.environ.get("CI") == "true"


def _dns_label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().removeprefix("test_"))[:40].strip("-")
