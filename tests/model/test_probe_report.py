"""model/probe_report.py: a report survives writing and reading, and a bad one says what is wrong with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.probe_report import (
    EXIT_CODES,
    MAX_BYTES,
    SCHEMA,
    GpuReading,
    MigSlice,
    ProbeReason,
    ProbeReport,
    ReportError,
    parse,
)

sizes = st.integers(min_value=0, max_value=2**40)
readings = st.builds(
    GpuReading,
    index=st.integers(0, 15),
    name=st.text(max_size=20),
    uuid=st.text(max_size=45),
    total=st.just(2**40),
    reserved=st.none() | sizes,
    ecc=st.none() | st.booleans(),
    mig=st.none() | st.lists(st.builds(MigSlice, st.integers(0, 2**20), st.integers(0, 99)), max_size=3).map(tuple),
    error=st.none() | st.sampled_from(list(EXIT_CODES)),
)
reports = st.builds(
    ProbeReport,
    driver=st.text(max_size=20),
    nvml=st.text(max_size=20),
    gpus=st.lists(readings, max_size=4, unique_by=lambda gpu: gpu.index).map(tuple),
    error=st.none() | st.sampled_from(list(EXIT_CODES)),
    message=st.text(max_size=100),
)


@given(reports)
def test_what_is_written_is_read_back(report: ProbeReport) -> None:
    assert parse(report.to_json()) == report


@given(st.text(min_size=0, max_size=9000))
def test_no_message_makes_a_report_too_large(message: str) -> None:
    gpus = tuple(
        GpuReading(index=i, name="NVIDIA A100-SXM4-80GB", uuid="GPU-" + "0" * 36, total=2**36) for i in range(16)
    )
    text = ProbeReport(driver="580", gpus=gpus, error=ProbeReason.UNEXPECTED, message=message).to_json()

    assert len(text.encode()) <= MAX_BYTES
    assert [gpu.index for gpu in parse(text).gpus] == list(range(16))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ('{"schema":"gpu-reconciler.io/probe-report/v1","gp', "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "schema is None"),
        ('{"schema":"gpu-reconciler.io/probe-report/v9"}', "same version"),
        ("x" * 5000, "larger than 4096 bytes"),
        (json.dumps({"schema": SCHEMA, "gpus": 3}), "gpus is not a list"),
        (json.dumps({"schema": SCHEMA, "gpus": [3]}), r"gpus\[0\] is not a JSON object"),
        (json.dumps({"schema": SCHEMA, "gpus": [{}]}), r"gpus\[0\].index is missing"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "total": "15Gi"}]}), r"gpus\[0\].total is '15Gi'"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "total": -1}]}), r"gpus\[0\].total is -1"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "total": True}]}), r"gpus\[0\].total is True"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "total": 1, "reserved": 2}]}), "larger than total"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "ecc": "on"}]}), "ecc is 'on'"),
        (
            json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "mig": [1]}]}),
            r"mig\[0\] is not a JSON object",
        ),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "mig": [{"mib": 1}]}]}), r"mig\[0\].count is missing"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "name": 7}]}), r"gpus\[0\].name is 7"),
        (json.dumps({"schema": SCHEMA, "error": "Sad"}), "error is 'Sad', not one of Unexpected, LibraryNotFound"),
        (json.dumps({"schema": SCHEMA, "error": "BadReport"}), "error is 'BadReport', not one of"),
        (json.dumps({"schema": SCHEMA, "driver": []}), "driver is a list, not a text"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": 0, "total": 2**40 + 1}]}), r"total is 1099511627777, not"),
        (json.dumps({"schema": SCHEMA, "gpus": [{"index": i} for i in range(65)]}), "lists 65 GPUs"),
    ],
)
def test_a_bad_report_names_the_field(text: str, says: str) -> None:
    with pytest.raises(ReportError, match=says):
        parse(text)


def test_fields_of_a_newer_minor_version_are_ignored() -> None:
    assert parse(json.dumps({"schema": SCHEMA, "power": 300})) == ProbeReport()


def test_every_reason_the_probe_can_give_has_an_exit_code_of_its_own() -> None:
    by_controller = {ProbeReason.BAD_REPORT, ProbeReason.NOT_STARTED}

    assert set(EXIT_CODES) == set(ProbeReason) - by_controller
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
