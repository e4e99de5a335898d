"""python -m reconciler.probe, as a container runs it: environment in, termination message and exit code out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reconciler.model.probe_report import MAX_BYTES, MAX_LOG_BYTES, ProbeReason, parse
from reconciler.sandbox import nvml_double
from tests.probe import double


def test_a_healthy_machine_ends_with_zero(library: Path, tmp_path: Path) -> None:
    ran = double.run_probe(library.parent, tmp_path / "log", nvml_double.MACHINES["g5.12xlarge"])

    assert ran.code == 0
    assert [gpu.total for gpu in ran.report.readable] == [23028 << 20] * 4
    assert ran.errors == ""


def test_the_report_is_also_the_last_line_of_the_output(library: Path, tmp_path: Path) -> None:
    ran = double.run_probe(library.parent, tmp_path / "log")

    assert ran.output.splitlines()[-1] == ran.message


@pytest.mark.parametrize(
    ("settings", "code", "error"),
    [
        (nvml_double.NO_DRIVER, 11, ProbeReason.DRIVER_NOT_LOADED),
        (nvml_double.MISMATCHED_DRIVER, 20, ProbeReason.VERSION_MISMATCH),
        ({"NVML_DOUBLE_COUNT": "0"}, 25, ProbeReason.NO_GPU),
        ({"NVML_DOUBLE_ERRORS": "nvmlDeviceGetMemoryInfo=3,nvmlDeviceGetMemoryInfo_v2=3"}, 24, None),
        (nvml_double.lost_gpu(nvml_double.MACHINES["g5.12xlarge"], 2), 21, None),
        # One GPU that may answer later, one that never will: a later try is worth it.
        ({"NVML_DOUBLE_COUNT": "3", "NVML_DOUBLE_ERRORS": "*@1=15,*@2=10"}, 12, None),
        (nvml_double.P4D_MIG, 0, None),
    ],
)
def test_each_verdict_has_its_exit_code(
    library: Path, tmp_path: Path, settings: dict[str, str], code: int, error: ProbeReason | None
) -> None:
    ran = double.run_probe(library.parent, tmp_path / "log", settings)

    assert (ran.code, ran.report.error) == (code, error)
    assert bool(ran.report.message) is (code != 0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", "file too short"), (b"junk" * 300, "invalid ELF header")],
    ids=["none", "empty", "junk"],
)
def test_a_library_that_does_not_load_is_reported_in_the_loaders_words(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / nvml_double.LIBRARY).write_bytes(content)
    ran = double.run_probe(tmp_path, tmp_path / "log")

    assert (ran.code, ran.report.error) == (10, ProbeReason.LIBRARY_NOT_FOUND)
    assert reason in ran.report.message
    assert "AMI" in ran.report.message


@pytest.mark.parametrize(
    ("without", "code"), [(nvml_double.INIT_WITH_FLAGS, 20), (nvml_double.MEMORY_V2, 0), (nvml_double.PROCESSES_V3, 0)]
)
def test_older_libraries_are_used_as_far_as_they_go(tmp_path: Path, without: str, code: int) -> None:
    folder = double.built(tmp_path, without=(without,)).parent
    ran = double.run_probe(folder, tmp_path / "log")

    assert ran.code == code
    if code == 0:
        assert ran.report.gpus[0].total == 15360 << 20


def test_an_image_without_the_binding_still_reports(tmp_path: Path) -> None:
    ran = double.run_probe(None, tmp_path / "log", interpreter=("-S",))

    assert (ran.code, ran.report.error) == (1, ProbeReason.UNEXPECTED)
    assert "pynvml" in ran.report.message


@pytest.mark.parametrize(
    ("errors", "settings", "code", "hung"),
    [
        ("nvmlInitWithFlags=hang", {}, 12, "nvmlInit did not return"),
        ("nvmlDeviceGetMemoryInfo_v2@1=hang", {"NVML_DOUBLE_COUNT": "3"}, 12, "GPU 1: nvmlDeviceGetMemoryInfo did"),
        # All was read: that the library does not shut down is nobody's trouble.
        ("nvmlShutdown=hang", {}, 0, ""),
    ],
)
def test_a_driver_that_hangs_is_reported_within_the_deadline(
    library: Path, tmp_path: Path, errors: str, settings: dict[str, str], code: int, hung: str
) -> None:
    settings = {**settings, "NVML_DOUBLE_ERRORS": errors, "GPU_PROBE_DEADLINE_SECONDS": "0.3"}
    ran = double.run_probe(library.parent, tmp_path / "log", settings)

    assert ran.code == code
    assert hung in ran.report.message
    unreached = [gpu.error for gpu in ran.report.gpus[1:]]
    assert unreached == [ProbeReason.TIMEOUT] * len(unreached)
    assert [gpu.index for gpu in ran.report.readable] == ([] if "Init" in errors else [0])


def test_sigterm_ends_a_hanging_probe_with_a_report(library: Path, tmp_path: Path) -> None:
    """The kubelet sends it when the Job's deadline has passed; as process 1 the probe would otherwise ignore it."""
    log = tmp_path / "log"
    settings = {"NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=hang", "GPU_PROBE_TERMINATION_LOG": str(log)}
    with subprocess.Popen(
        [sys.executable, "-m", "reconciler.probe"],
        cwd=double.ROOT,
        env=double.environment(library.parent, settings),
        stdout=subprocess.DEVNULL,
    ) as probe:
        maps = Path(f"/proc/{probe.pid}/maps")
        limit = time.monotonic() + 30
        while nvml_double.LIBRARY not in maps.read_text() and time.monotonic() < limit:
            time.sleep(0.01)
        probe.send_signal(signal.SIGTERM)
        code = probe.wait(timeout=30)

    report = parse(log.read_text())
    assert (code, report.error) == (12, ProbeReason.TIMEOUT)
    assert "stopped from outside" in report.message


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf", "3601", ""])
def test_a_wrong_deadline_is_named(tmp_path: Path, value: str) -> None:
    ran = double.run_probe(None, tmp_path / "log", {"GPU_PROBE_DEADLINE_SECONDS": value})

    assert (ran.code, ran.report.error) == (1, ProbeReason.UNEXPECTED)
    assert "GPU_PROBE_DEADLINE_SECONDS" in ran.report.message


@pytest.mark.parametrize(("settings", "code"), [({}, 1), ({"NVML_DOUBLE_ERRORS": "*@0=15"}, 21)])
def test_a_termination_log_that_cannot_be_written_sends_the_kubelet_to_the_output(
    library: Path, tmp_path: Path, settings: dict[str, str], code: int
) -> None:
    """It reads the output only when the exit code is not 0, so a complete report must not end with 0 either."""
    ran = double.run_probe(library.parent, tmp_path, settings)

    assert ran.code == code
    assert len(parse(ran.output.splitlines()[-1]).gpus) == 1
    assert "could not be written" in ran.errors


def test_the_largest_machine_fits_into_the_kubelets_limits(library: Path, tmp_path: Path) -> None:
    settings = {
        "NVML_DOUBLE_COUNT": "16",
        "NVML_DOUBLE_NAME": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVML_DOUBLE_MIG": "1:0:19968;2:0:9856;3:0:4864",
        "NVML_DOUBLE_ERRORS": "nvmlDeviceGetAttributes_v2@15:0=15",
    }
    ran = double.run_probe(library.parent, tmp_path / "log", settings)

    assert len(ran.message.encode()) <= MAX_BYTES
    assert len(ran.output.encode()) <= MAX_LOG_BYTES
    assert len(ran.report.gpus) == 16


def test_only_the_standard_library_the_binding_and_the_report_are_imported(library: Path, tmp_path: Path) -> None:
    """What a whole run imports, as the interpreter itself tells it: the probe must start fast in a bare image."""
    ran = double.run_probe(library.parent, tmp_path / "log", interpreter=("-X", "importtime"))
    base = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", ""], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    imported = {line.split("|")[-1].strip() for line in ran.errors.splitlines() if line.startswith("import time:")}
    before = {line.split("|")[-1].strip() for line in base.stderr.splitlines() if line.startswith("import time:")}
    of_others = imported - before - {"org", "org.python", "org.python.core"}  # looked for by the copy module, in vain
    foreign = {name for name in of_others if name.partition(".")[0] not in sys.stdlib_module_names}

    assert ran.code == 0
    assert foreign == {
        "pynvml",
        "reconciler",
        "reconciler.model",
        "reconciler.model.fields",
        "reconciler.model.probe_report",
        "reconciler.probe",
        "reconciler.probe.deadline",
        "reconciler.probe.failures",
        "reconciler.probe.findings",
        "reconciler.probe.nvml",
    }
