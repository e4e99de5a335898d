"""model/record.py: the annotation survives the way to the node and back, and a hand-edited one says what is wrong."""

import json
from dataclasses import replace
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
            2,
            AT,
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
        ({"probe": {"report": {}}}, "probe.at is missing"),
        (
            {"probe": {"at": "2026-11-30T12:00:00Z", "reason": "Mood", "message": ""}},
            "probe.reason is 'Mood', not",
        ),
        ({"probe": {"at": "2026-11-30T12:00:00Z", "report": {}}}, "probe.report.schema is None"),
        ({"contest": []}, "contest is not a JSON object"),
        ({"contest": {"count": 2**70, "since": "2026-11-30T12:00:00Z"}}, "contest.count is 1180591620717411303424"),
        ({"advertisedMiB": 10**400}, "advertisedMiB is 1000"),
        ({"advertisedMiB": -1}, "advertisedMiB is -1"),
        ({"ec2MiB": 2**26 + 1}, "ec2MiB is 67108865, not a whole number from 0 to 67108864"),
        ({"count": 65}, "count is 65, not a whole number from 0 to 64"),
        ({"serial": 2**63}, "serial is 9223372036854775808"),
    ],
)
def test_an_edited_record_is_unreadable_and_says_why(change: dict[str, object], says: str) -> None:
    record = parse(json.dumps(json.loads(RECORD.to_json()) | change))

    assert isinstance(record, UnreadableRecord)
    assert says in record.why
    assert len(record.why) < 300, "it ends in a log line and on the node"


def test_all_that_a_node_can_advertise_is_read_back() -> None:
    """What running pods hold stays advertised, and a pod may ask for more than any GPU has."""
    record = replace(RECORD, advertised_mib=(2**63 - 1) // 2**20)

    assert parse(record.to_json()) == record


@pytest.mark.parametrize("field", ["v", "resource", "advertisedMiB", "source", "probe", "contest"])
@pytest.mark.parametrize("depth", [100, 900, 1000, 200_000])
def test_brackets_however_deep_are_unreadable(field: str, depth: int) -> None:
    text = RECORD.to_json()[:-1] + f',"{field}":' + "[" * depth + "]" * depth + "}"

    assert isinstance(parse(text), UnreadableRecord)
    assert isinstance(parse("[" * depth), UnreadableRecord)


@pytest.mark.parametrize("text", ["", "hello", "[]", "3", '"x"', "null", "{"])
def test_what_is_no_record_at_all_is_unreadable(text: str) -> None:
    assert isinstance(parse(text), UnreadableRecord)
