"""model/verification_record.py: the annotation survives the way to the node and back, and a hand-edited one is told."""

import json
from datetime import UTC, datetime

import pytest

from reconciler.model.record import UnreadableRecord
from reconciler.model.verification_record import Result, VerificationRecord, parse

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RECORD = VerificationRecord("boot-1", AT, Result.FAILED, ("model", "memory"))


@pytest.mark.parametrize("record", [RECORD, VerificationRecord("", AT, Result.VERIFIED)])
def test_a_record_is_read_back_as_it_was_written(record: VerificationRecord) -> None:
    assert parse(record.to_json()) == record


def test_it_can_be_read_by_people_and_programs() -> None:
    assert json.loads(RECORD.to_json()) == {
        "v": 1, "result": "failed", "bootID": "boot-1", "at": "2026-11-30T12:00:00+00:00", "failed": "model memory",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yes", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "v is missing"),
        (RECORD.to_json().replace('"v":1', '"v":2'), "v is 2"),
        (RECORD.to_json().replace('"failed","bootID"', '"fine","bootID"'), "result is 'fine', not one of"),
        (RECORD.to_json().replace("+00:00", ""), "no time zone"),
        (RECORD.to_json().replace('"model memory"', "7"), "failed is 7, not a text"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_a_hand_edited_one_is_a_value_that_names_the_field(text: str, why: str) -> None:
    found = parse(text)
    assert isinstance(found, UnreadableRecord)
    assert why in found.why
