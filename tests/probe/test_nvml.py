"""probe/nvml.py: every GPU is read by itself, and whatever NVML does becomes a reason and a sentence."""

import pytest

from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason
from reconciler.probe import nvml
from reconciler.probe.failures import NvmlFailure
from reconciler.probe.findings import Findings

MIB = 1 << 20


def read(environment: pytest.MonkeyPatch, **settings: str) -> Findings:
    for name, value in settings.items():
        environment.setenv(f"NVML_DOUBLE_{name}", value)
    findings = Findings()
    nvml.read(findings)
    return findings


def test_a_healthy_machine_is_read_whole(loaded: pytest.MonkeyPatch) -> None:
    findings = read(loaded)

    assert findings.gpus == [
        GpuReading(0, "Tesla T4", "GPU-00000000-0000-0000-0000-000000000000", 15360 * MIB, 450 * MIB, ecc=True)
    ]
    assert (findings.driver, findings.nvml, findings.notes) == ("580.159.03", "13.580.159.03", [])


@pytest.mark.parametrize(
    ("errors", "reason", "says"),
    [
        ("nvmlInitWithFlags=9", ProbeReason.DRIVER_NOT_LOADED, "kernel module is not loaded"),
        ("nvmlInitWithFlags=18", ProbeReason.VERSION_MISMATCH, "reboot or replace"),
        ("nvmlInitWithFlags=4", ProbeReason.NO_PERMISSION, "may not use the GPU"),
        ("nvmlInitWithFlags=10", ProbeReason.TIMEOUT, "gave up waiting"),
        ("nvmlInitWithFlags=27", ProbeReason.DRIVER_NOT_LOADED, "still starting"),
        ("nvmlInitWithFlags=28", ProbeReason.NO_GPU, "found no GPU"),
        ("nvmlInitWithFlags=3", ProbeReason.NOT_SUPPORTED, "does not support"),
        ("nvmlInitWithFlags=999", ProbeReason.UNEXPECTED, "nvmlInit: Unknown Error, code 999"),
        ("nvmlInitWithFlags=777", ProbeReason.UNEXPECTED, "code 777"),
        ("nvmlDeviceGetCount_v2=999", ProbeReason.UNEXPECTED, "nvmlDeviceGetCount"),
    ],
)
def test_without_nvml_there_is_one_reason(
    loaded: pytest.MonkeyPatch, errors: str, reason: ProbeReason, says: str
) -> None:
    with pytest.raises(NvmlFailure, match=says) as caught:
        read(loaded, ERRORS=errors)
    assert caught.value.reason is reason


def test_no_gpu_at_all_is_said(loaded: pytest.MonkeyPatch) -> None:
    with pytest.raises(NvmlFailure, match="counts no GPU") as caught:
        read(loaded, COUNT="0")
    assert caught.value.reason is ProbeReason.NO_GPU


def test_bad_gpus_do_not_hide_good_ones(loaded: pytest.MonkeyPatch) -> None:
    errors = "*@1=15,nvmlDeviceGetHandleByIndex_v2@2=4,nvmlDeviceGetMemoryInfo_v2@3=999"
    findings = read(loaded, COUNT="5", ERRORS=errors)

    assert [gpu.error for gpu in findings.gpus] == [
        None,
        ProbeReason.GPU_LOST,
        ProbeReason.NO_PERMISSION,
        ProbeReason.UNEXPECTED,
        None,
    ]
    assert [note.split(":")[0] for note in findings.notes] == ["GPU 1", "GPU 2", "GPU 3"]
    assert [gpu.index for gpu in findings.report().readable] == [0, 4]


@pytest.mark.parametrize(
    ("errors", "total", "reserved"),
    [
        ("nvmlDeviceGetMemoryInfo_v2=13", 15360 * MIB, None),
        ("nvmlDeviceGetMemoryInfo_v2=3", 15360 * MIB, None),
        ("nvmlDeviceGetMemoryInfo_v2=25", 15360 * MIB, None),
        ("nvmlDeviceGetMemoryInfo=13", 15360 * MIB, 450 * MIB),
    ],
)
def test_memory_is_read_in_the_version_that_is_there(
    loaded: pytest.MonkeyPatch, errors: str, total: int, reserved: int | None
) -> None:
    [gpu] = read(loaded, ERRORS=errors).gpus

    assert (gpu.total, gpu.reserved, gpu.error) == (total, reserved, None)


def test_unified_memory_is_told_apart_from_an_unsupported_driver(loaded: pytest.MonkeyPatch) -> None:
    findings = read(loaded, ERRORS="nvmlDeviceGetMemoryInfo=3,nvmlDeviceGetMemoryInfo_v2=3")

    assert findings.gpus[0].error is ProbeReason.UNIFIED_MEMORY
    assert findings.gpus[0].name == "Tesla T4"
    assert "shares the machine's memory" in findings.notes[0]


@pytest.mark.parametrize(
    "settings",
    [{"TOTAL_MIB": "0", "RESERVED_MIB": "0"}, {"RESERVED_MIB": "15361"}, {"TOTAL_MIB": str(2**44 - 1)}],
    ids=["none", "more reserved than there is", "not available"],
)
def test_figures_that_cannot_be_are_not_believed(loaded: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    findings = read(loaded, **settings)

    assert (findings.gpus[0].total, findings.gpus[0].error) == (None, ProbeReason.UNEXPECTED)
    assert "cannot be" in findings.notes[0]


@pytest.mark.parametrize("call", ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetEccMode"])
def test_what_only_adorns_the_reading_may_be_missing(loaded: pytest.MonkeyPatch, call: str) -> None:
    [gpu] = read(loaded, ERRORS=f"{call}=999").gpus

    assert (gpu.total, gpu.error) == (15360 * MIB, None)
    assert "" in (gpu.name, gpu.uuid) or gpu.ecc is None


def test_a_name_that_is_no_utf8_does_not_cost_the_reading(loaded: pytest.MonkeyPatch) -> None:
    [gpu] = read(loaded, NAME="\udcff\udcfe").gpus

    assert (gpu.name, gpu.total, gpu.error) == ("", 15360 * MIB, None)


@pytest.mark.parametrize(("mode", "ecc"), [("1", True), ("0", False), ("-", None)])
def test_ecc_is_on_off_or_not_there(loaded: pytest.MonkeyPatch, mode: str, ecc: bool | None) -> None:
    assert read(loaded, ECC=mode).gpus[0].ecc is ecc


def test_mig_devices_are_summed_by_size(loaded: pytest.MonkeyPatch) -> None:
    findings = read(loaded, COUNT="2", MIG_0="1:0:9856;2:0:19968;-;3:0:9856", MIG_1="off")

    assert [gpu.mig for gpu in findings.gpus] == [(MigSlice(19968, 1), MigSlice(9856, 2)), None]
    assert [gpu.error for gpu in findings.gpus] == [None, None]


@pytest.mark.parametrize(
    ("settings", "mig", "total", "error"),
    [
        ({"MIG": ""}, (), 15360 * MIB, None),
        (
            {"MIG": "1:0:9856", "ERRORS": "nvmlDeviceGetMemoryInfo@0=4,nvmlDeviceGetMemoryInfo_v2@0=4"},
            (9856,),
            None,
            None,
        ),
        ({"MIG": "1:0:9856", "ERRORS": "nvmlDeviceGetAttributes_v2=3"}, (9856,), 15360 * MIB, None),
        (
            {"MIG": "1:0:9856;2:0:4864", "ERRORS": "nvmlDeviceGetAttributes_v2@0:0=15"},
            (4864,),
            15360 * MIB,
            ProbeReason.GPU_LOST,
        ),
        ({"MIG": "1:0:9856", "ERRORS": "nvmlDeviceGetMaxMigDeviceCount=999"}, (), 15360 * MIB, ProbeReason.UNEXPECTED),
        # Not knowing whether MIG is on must not pass for off: pods would be promised memory of the whole GPU.
        ({"ERRORS": "nvmlDeviceGetMigMode=4"}, None, 15360 * MIB, ProbeReason.NO_PERMISSION),
        ({"ERRORS": "nvmlDeviceGetMigMode=13"}, None, 15360 * MIB, None),
    ],
)
def test_mig_in_each_state_of_health(
    loaded: pytest.MonkeyPatch,
    settings: dict[str, str],
    mig: tuple[int, ...] | None,
    total: int | None,
    error: ProbeReason | None,
) -> None:
    [gpu] = read(loaded, **settings).gpus

    assert (None if gpu.mig is None else tuple(piece.mib for piece in gpu.mig)) == mig
    assert (gpu.total, gpu.error) == (total, error)


def test_the_call_that_is_under_way_is_always_known(loaded: pytest.MonkeyPatch) -> None:
    findings = Findings()
    assert "starting" in findings.cut_short("no answer within 1 s").message

    loaded.setenv("NVML_DOUBLE_ERRORS", "nvmlInitWithFlags=9")
    with pytest.raises(NvmlFailure):
        nvml.read(findings)
    assert "nvmlInit did not return" in findings.cut_short("no answer within 1 s").message
