"""model/record.py: the annotation survives the way to the node and back, and a hand-edited one says what is wrong."""

import json
from datetime import UTC, datetime

import pytest

from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport
from reconciler.model.probe_state import Probed, ProbeFailed
from reconciler.model.record import CapacityRecord, Contest, Source, UnreadableRecord, parse

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REPORT = ProbeReport(
    driver="580.159.03", gpus=(GpuReading(index=0, name="Tesla T4", total=15360 * 2**20, reserved=450 * 2**20),)
)
RECORD = CapacityRecord("example.com/gpu-memory", 14910, Source.NVML, "T4", 1, 16384, "boot-1", Probed(REPORT, AT))


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        CapacityRecord("example.com/gpu-memory", None, Source.NONE),
        CapacityRecord(
            "example.com/gpu-memory",
            1,
            Source.EC2,
            "L4",
            1,
            None,
            "b",
            ProbeFailed(ProbeReason.TIMEOUT, "60 s", AT),
            Contest(3, AT),
        ),
    ],
)
def test_a_record_is_read_back_as_it_was_written(record: CapacityRecord) -> None:
    assert parse(record.to_json()) == record


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"v": 2}, "v is 2"),
        ({"v": None}, "v is None"),
        ({"resource": 5}, "resource is 5"),
        ({"advertisedMiB": "14910"}, "advertisedMiB is '14910'"),
        ({"advertisedMiB": True}, "advertisedMiB is True"),
        ({"source": "dream"}, "dream"),
        ({"probe": {"at": "yesterday", "reason": "Timeout", "message": ""}}, "yesterday"),
        ({"probe": {"at": "2026-11-30T12:00:00", "reason": "Timeout", "message": ""}}, "no time zone"),
        ({"probe": {"report": {}}}, "field at is missing"),
        ({"contest": []}, ""),
    ],
)
def test_an_edited_record_is_unreadable_and_says_why(change: dict[str, object], says: str) -> None:
    record = parse(json.dumps(json.loads(RECORD.to_json()) | change))

    if change == {"contest": []}:
        assert isinstance(record, CapacityRecord)
    else:
        assert isinstance(record, UnreadableRecord)
        assert says in record.why


@pytest.mark.parametrize("text", ["", "hello", "[]", "3", '"x"', "null", "{"])
def test_what_is_no_record_at_all_is_unreadable(text: str) -> None:
    assert isinstance(parse(text), UnreadableRecord)
