"""docs/probe-report.*: the documented format is the one that is written."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reconciler.model.probe_report import EXIT_CODES, SCHEMA, GpuReading, ProbeReason, ProbeReport, ReportError, parse
from reconciler.sandbox import nvml_double
from tests.probe import double

DOCS = double.ROOT / "docs"


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text: dict[str, Any] = json.loads((DOCS / "probe-report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


@pytest.mark.parametrize(
    "settings",
    [
        nvml_double.MACHINES["g4dn.xlarge"],
        nvml_double.P4D_MIG,
        nvml_double.NO_DRIVER,
        nvml_double.lost_gpu(nvml_double.MACHINES["g5.12xlarge"], 0),
    ],
    ids=["healthy", "MIG", "no driver", "lost GPU"],
)
def test_what_the_probe_writes_is_what_the_schema_says(
    schema: jsonschema.Draft202012Validator, library: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    ran = double.run_probe(library.parent, tmp_path / "log", settings)

    schema.validate(json.loads(ran.message))
    assert ran.report.to_json() == ran.message


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"schema": "gpu-reconciler.io/probe-report/v2", "gpus": []},
        {"schema": SCHEMA, "gpus": [{}]},
        {"schema": SCHEMA, "gpus": [{"index": 0, "total": "15Gi"}]},
        {"schema": SCHEMA, "gpus": [{"index": 0, "total": 2**40 + 1}]},
        {"schema": SCHEMA, "gpus": [{"index": 0, "mig": [{"mib": 1}]}]},
        {"schema": SCHEMA, "gpus": [{"index": 0, "mig": [{"mib": 2**20 + 1, "count": 1}]}]},
        {"schema": SCHEMA, "gpus": [{"index": 0, "mig": [{"mib": 1, "count": 1025}]}]},
        {"schema": SCHEMA, "gpus": [{"index": index} for index in range(65)]},
        {"schema": SCHEMA, "gpus": [], "error": "BadReport"},
        {"schema": SCHEMA, "gpus": [], "error": "Sad"},
    ],
)
def test_schema_and_reader_refuse_the_same(schema: jsonschema.Draft202012Validator, report: dict[str, Any]) -> None:
    assert not schema.is_valid(report)
    with pytest.raises(ReportError):
        parse(json.dumps(report))


def test_the_example_in_the_text_is_a_report(schema: jsonschema.Draft202012Validator) -> None:
    [example] = re.findall(r"```json\n(.*?)```", (DOCS / "probe-report.md").read_text(), re.DOTALL)

    schema.validate(json.loads(example))
    assert parse(example).gpus[1] == GpuReading(1, error=ProbeReason.GPU_LOST)


def test_the_documented_reasons_and_codes_are_the_real_ones(schema: jsonschema.Draft202012Validator) -> None:
    table = re.findall(r"^\| `(\w+)` \| (\d+) \|", (DOCS / "probe-report.md").read_text(), re.MULTILINE)

    assert {name: int(code) for name, code in table} == {reason.value: code for reason, code in EXIT_CODES.items()}
    for name, _ in table:
        schema.validate({"schema": SCHEMA, "gpus": [], "error": name})


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (400, {"name", "uuid", "message"}),
        (250, {"name", "message"}),
        (150, {"name"}),
        (130, set()),
    ],
)
def test_a_short_limit_takes_uuids_then_words_then_names(limit: int, kept: set[str]) -> None:
    gpu = GpuReading(0, "NVIDIA L40S", "GPU-" + "0" * 36, 2**30)
    text = ProbeReport("580", "13", (gpu,), message="words " * 15).to_json(limit)
    report = parse(text)
    left = {"name": report.gpus[0].name, "uuid": report.gpus[0].uuid, "message": report.message.strip("…")}

    assert len(text.encode()) <= limit
    assert report.gpus[0].total == 2**30
    assert {key for key, value in left.items() if value} == kept


def test_what_cannot_fit_is_not_halved() -> None:
    report = parse(ProbeReport(gpus=tuple(GpuReading(index, total=2**37) for index in range(99))).to_json(300))

    assert (report.gpus, report.error) == ((), ProbeReason.UNEXPECTED)
    assert "99 GPUs" in report.message


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    text = ProbeReport(error=ProbeReason.UNEXPECTED, message="/lib/\udcff.so").to_json()

    assert parse(text).message == "/lib/?.so"


@pytest.mark.parametrize("before", ["", "a warning of the runtime\n", '{"level": "info"}\n\n'])
def test_other_lines_before_the_report_do_not_matter(before: str) -> None:
    report = ProbeReport(driver="580")

    assert parse(f"{before}{report.to_json()}\n") == report


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 4000, "nested"),
        ('{"a":' * 700, "nested|not JSON"),
        (f'{{"schema":"{SCHEMA}","gpus":[{{"index":0}},{{"index":0}}]}}', "one index twice"),
        (f'{{"schema":"{SCHEMA}","gpus":[{{"index":0,"total":{2**63}}}]}}', r"gpus\[0\].total"),
        ("  \n ", "empty"),
    ],
)
def test_odd_texts_are_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(ReportError, match=says):
        parse(text)
