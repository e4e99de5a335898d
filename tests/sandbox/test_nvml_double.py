"""sandbox/nvml_double: the real pynvml sees in it what it would see on a node."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pynvml
import pytest

from reconciler.aws.builtin import builtin
from reconciler.model.node import InstanceType
from reconciler.sandbox import nvml_double
from tests.probe import double

MIB = 1 << 20


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return double.built(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(library: Path) -> Iterator[ModuleType]:
    """pynvml on the double in this process, initialised; the environment may change under it."""
    ctypes.CDLL(str(library))
    pynvml.nvmlInit()
    yield pynvml
    pynvml.nvmlShutdown()


def error_of(call: Any, *arguments: Any) -> str:
    """The name of the error that a call ends with."""
    with pytest.raises(pynvml.NVMLError) as caught:
        call(*arguments)
    return type(caught.value).__name__.removeprefix("NVMLError_")


def elsewhere(folder: Path | None, code: str, **settings: str) -> str:
    """What a fresh process prints; the way a library is loaded can only be tried in one."""
    done = subprocess.run(
        [sys.executable, "-c", f"import pynvml\ntry:\n    {code}\nexcept Exception as e: print(type(e).__name__)"],
        env=double.environment(folder, settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_by_default_it_is_one_t4(nvml: ModuleType) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    v1 = nvml.nvmlDeviceGetMemoryInfo(handle)
    v2 = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)

    assert nvml.nvmlSystemGetDriverVersion() == "580.159.03"
    assert nvml.nvmlSystemGetNVMLVersion() == "13.580.159.03"
    assert nvml.nvmlDeviceGetCount() == 1
    assert nvml.nvmlDeviceGetName(handle) == "Tesla T4"
    assert nvml.nvmlDeviceGetEccMode(handle) == [1, 1]
    assert [v1.total // MIB, v1.used // MIB, v1.free // MIB] == [15360, 450, 14910]
    assert [v2.total // MIB, v2.reserved // MIB, v2.free // MIB, v2.used] == [15360, 450, 14910, 0]
    assert error_of(nvml.nvmlDeviceGetMigMode, handle) == "NotSupported"


def test_used_memory_stands_beside_the_reserve(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_USED_MIB", "1000")
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    v1 = nvml.nvmlDeviceGetMemoryInfo(handle)
    v2 = nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)

    assert v1.used // MIB == 1450
    assert v2.used // MIB == 1000
    assert v2.reserved + v2.free + v2.used == v2.total == v1.total


def test_the_memory_structs_version_is_checked(nvml: ModuleType) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)

    assert error_of(nvml.nvmlDeviceGetMemoryInfo, handle, 2) == "ArgumentVersionMismatch"


@pytest.mark.parametrize(
    ("code", "name"), [("9", "DriverNotLoaded"), ("18", "LibRmVersionMismatch"), ("4", "NoPermission")]
)
def test_init_fails_as_told(library: Path, code: str, name: str) -> None:
    errors = f"nvmlInitWithFlags={code}"

    assert elsewhere(library.parent, "pynvml.nvmlInit()", NVML_DOUBLE_ERRORS=errors) == f"NVMLError_{name}"


def test_a_machine_may_have_no_gpu(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_COUNT", "0")

    assert nvml.nvmlDeviceGetCount() == 0
    assert error_of(nvml.nvmlDeviceGetHandleByIndex, 0) == "InvalidArgument"


def test_of_four_gpus_one_is_lost_and_one_is_forbidden(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in nvml_double.environment(
        nvml_double.A10G, 4, errors=["*@2=15", "nvmlDeviceGetHandleByIndex_v2@3=4"]
    ).items():
        monkeypatch.setenv(key, value)

    assert nvml.nvmlDeviceGetCount() == 4
    for index in (0, 1):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        assert nvml.nvmlDeviceGetName(handle) == "NVIDIA A10G"
        assert nvml.nvmlDeviceGetMemoryInfo(handle).total // MIB == 23028
    assert error_of(nvml.nvmlDeviceGetHandleByIndex, 2) == "GpuIsLost"
    assert error_of(nvml.nvmlDeviceGetHandleByIndex, 3) == "NoPermission"


def test_one_gpu_may_differ_from_the_others(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_COUNT", "2")
    monkeypatch.setenv("NVML_DOUBLE_NAME_1", "NVIDIA L4")
    monkeypatch.setenv("NVML_DOUBLE_ECC_1", "-")
    first, second = (nvml.nvmlDeviceGetHandleByIndex(index) for index in (0, 1))

    assert [nvml.nvmlDeviceGetName(handle) for handle in (first, second)] == ["Tesla T4", "NVIDIA L4"]
    assert error_of(nvml.nvmlDeviceGetEccMode, second) == "NotSupported"


def test_unified_memory_has_no_size_and_the_rest_works(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_ERRORS", "nvmlDeviceGetMemoryInfo=3,nvmlDeviceGetMemoryInfo_v2=3")
    handle = nvml.nvmlDeviceGetHandleByIndex(0)

    assert error_of(nvml.nvmlDeviceGetMemoryInfo, handle) == "NotSupported"
    assert error_of(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2) == "NotSupported"
    assert nvml.nvmlDeviceGetName(handle) == "Tesla T4"


def test_mig_devices_have_sizes_ids_and_a_parent(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_COUNT", "2")
    monkeypatch.setenv("NVML_DOUBLE_MIG_0", "1:0:19968;-;2:0:9856")
    monkeypatch.setenv("NVML_DOUBLE_MIG_1", "off")
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    devices = [nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, place) for place in (0, 2)]
    parents = [nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device) for device in devices]

    assert nvml.nvmlDeviceGetMigMode(gpu) == [1, 1]
    assert nvml.nvmlDeviceGetMaxMigDeviceCount(gpu) == 7
    assert error_of(nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, 1) == "NotFound"
    assert [nvml.nvmlDeviceGetAttributes(device).memorySizeMB for device in devices] == [19968, 9856]
    assert [nvml.nvmlDeviceGetMemoryInfo(device).total // MIB for device in devices] == [19968, 9856]
    assert len({nvml.nvmlDeviceGetUUID(device) for device in devices}) == 2
    assert all(nvml.nvmlDeviceGetUUID(device).startswith("MIG-") for device in devices)
    assert [nvml.nvmlDeviceGetGpuInstanceId(device) for device in devices] == [1, 2]
    assert [nvml.nvmlDeviceGetComputeInstanceId(device) for device in devices] == [0, 0]
    assert [nvml.nvmlDeviceGetUUID(parent) for parent in parents] == [nvml.nvmlDeviceGetUUID(gpu)] * 2
    assert [nvml.nvmlDeviceIsMigDeviceHandle(handle).value for handle in (gpu, devices[0])] == [0, 1]
    assert error_of(nvml.nvmlDeviceGetAttributes, gpu) == "NotSupported"
    assert nvml.nvmlDeviceGetMigMode(nvml.nvmlDeviceGetHandleByIndex(1)) == [0, 0]


def test_under_mig_the_parents_memory_may_be_forbidden_alone(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_MIG", "1:0:19968")
    monkeypatch.setenv("NVML_DOUBLE_ERRORS", "nvmlDeviceGetMemoryInfo@0=4")
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)

    assert error_of(nvml.nvmlDeviceGetMemoryInfo, gpu) == "NoPermission"
    assert nvml.nvmlDeviceGetMemoryInfo(device).total // MIB == 19968


def test_an_error_may_be_that_of_one_mig_device(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_MIG", "1:0:19968;2:0:9856")
    monkeypatch.setenv("NVML_DOUBLE_ERRORS", "nvmlDeviceGetAttributes_v2@0:1=15")
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    first, second = (nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, place) for place in (0, 1))

    assert nvml.nvmlDeviceGetAttributes(first).memorySizeMB == 19968
    assert error_of(nvml.nvmlDeviceGetAttributes, second) == "GpuIsLost"


@pytest.mark.parametrize(
    ("variable", "call"),
    [
        ("NVML_DOUBLE_PROCESSES", "nvmlDeviceGetComputeRunningProcesses"),
        ("NVML_DOUBLE_GRAPHICS", "nvmlDeviceGetGraphicsRunningProcesses"),
        ("NVML_DOUBLE_MPS", "nvmlDeviceGetMPSComputeRunningProcesses"),
    ],
)
def test_processes_come_in_two_steps(
    nvml: ModuleType, monkeypatch: pytest.MonkeyPatch, variable: str, call: str
) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert getattr(nvml, call)(handle) == []

    monkeypatch.setenv(variable, "4242:1073741824;4243:-")
    found = getattr(nvml, call)(handle)
    assert [(process.pid, process.usedGpuMemory) for process in found] == [(4242, 1073741824), (4243, None)]


def test_a_mig_device_shows_its_own_processes(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_MIG", "1:0:19968;2:0:9856")
    monkeypatch.setenv("NVML_DOUBLE_PROCESSES", "1:10:1:0;2:20:2:0")
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 1)

    assert [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(device)] == [2]


def test_handles_are_found_by_uuid_and_bus(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_COUNT", "2")
    monkeypatch.setenv("NVML_DOUBLE_NAME_1", "second")
    uuid = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(1))

    assert nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByUUID(uuid)) == "second"
    assert nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByPciBusId("00000000:00:1D.0")) == "second"
    assert error_of(nvml.nvmlDeviceGetHandleByUUID, "GPU-of-nobody") == "NotFound"


def test_junk_is_no_handle_and_a_short_buffer_no_room(nvml: ModuleType) -> None:
    junk = ctypes.create_string_buffer(64)
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    name = ctypes.create_string_buffer(4)

    assert error_of(nvml.nvmlDeviceGetName, junk) == "InvalidArgument"
    assert ctypes.CDLL(nvml_double.LIBRARY).nvmlDeviceGetName(handle, name, 4) == 7


def test_unknown_codes_have_words(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVML_DOUBLE_ERRORS", "nvmlDeviceGetCount_v2=777")

    with pytest.raises(nvml.NVMLError) as caught:
        nvml.nvmlDeviceGetCount()
    assert "777" in str(caught.value)


def test_after_the_last_shutdown_nothing_answers(library: Path) -> None:
    twice = "pynvml.nvmlInit(); pynvml.nvmlInit(); pynvml.nvmlShutdown(); print(pynvml.nvmlDeviceGetCount())"
    over = "pynvml.nvmlInit(); pynvml.nvmlShutdown(); print(pynvml.nvmlDeviceGetCount())"

    assert elsewhere(library.parent, twice) == "1"
    assert elsewhere(library.parent, over) == "NVMLError_Uninitialized"


@pytest.mark.parametrize("content", [None, b"", b"\x7fno library at all" * 100], ids=["none", "empty", "junk"])
def test_what_is_no_library_is_not_found(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / nvml_double.LIBRARY).write_bytes(content)

    assert elsewhere(tmp_path, "pynvml.nvmlInit()") == "NVMLError_LibraryNotFound"


@pytest.mark.parametrize(
    ("without", "code", "seen"),
    [
        (nvml_double.INIT_WITH_FLAGS, "pynvml.nvmlInit()", "NVMLError_FunctionNotFound"),
        (
            nvml_double.PROCESSES_V3,
            "pynvml.nvmlInit(); pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(0))",
            "NVMLLibraryMismatchError",
        ),
        (
            nvml_double.PROCESSES_V3,
            "pynvml.nvmlInit(); pynvml.nvmlDeviceGetComputeRunningProcesses_v3(pynvml.nvmlDeviceGetHandleByIndex(0))",
            "NVMLError_FunctionNotFound",
        ),
        (
            nvml_double.MEMORY_V2,
            "pynvml.nvmlInit(); pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0), 0x2000028)",
            "NVMLError_FunctionNotFound",
        ),
    ],
)
def test_an_older_library_lacks_calls(tmp_path: Path, without: str, code: str, seen: str) -> None:
    library = double.built(tmp_path, without=(without,))

    assert elsewhere(library.parent, code) == seen


def test_the_source_is_free_of_warnings(library: Path) -> None:
    strict = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(nvml_double.SOURCE)]

    assert subprocess.run(strict, capture_output=True, text=True, check=False).stderr == ""


def test_a_compiler_that_refuses_is_quoted(tmp_path: Path) -> None:
    double.built(tmp_path)

    with pytest.raises(nvml_double.NotBuilt, match="cc"):
        nvml_double.build(tmp_path, without=["("])


@pytest.mark.parametrize("name", sorted(nvml_double.MACHINES))
def test_each_machine_is_one_that_nvml_would_show(nvml: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for key, value in nvml_double.MACHINES[name].items():
        monkeypatch.setenv(key, value)

    row = builtin().row(InstanceType(name))
    assert row is not None
    assert nvml.nvmlDeviceGetCount() == row.figure.count
    for index in range(row.figure.count):
        memory = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(index), nvml.nvmlMemory_v2)
        assert memory.total == memory.reserved + memory.free
        assert memory.total // MIB == row.figure.nvml_mib
