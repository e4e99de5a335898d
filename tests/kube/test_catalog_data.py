"""kube/catalog_data: changes are pure, bounded, and lose nothing that a person wrote."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kube import catalog_data, catalog_entries
from reconciler.kube.catalog_data import LARGEST, CatalogFull
from reconciler.kube.catalog_entries import Asked
from reconciler.model.fields import FieldError
from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, Vendor
from reconciler.model.node import InstanceType

AT = datetime(2026, 3, 1, tzinfo=UTC)
KIND = InstanceType("g6f.large")


def applied(data: dict[str, str], changes: catalog_data.Changes) -> dict[str, str]:
    return {key: text for key, text in {**data, **changes}.items() if text is not None}


def size(data: dict[str, str]) -> int:
    return sum(len(key.encode()) + len(text.encode()) for key, text in data.items())


ANSWERS = [
    NoGpu(KIND),
    NoGpu(KIND, "Neuron"),
    GpuSpec(KIND, "L4", Vendor.NVIDIA, 0, 2861, None, 0.125),
    GpuSpec(KIND, "Radeon Pro V520", Vendor.AMD, 1, 8192),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_reads_back_as_it_was_written(answer: GpuSpec | NoGpu) -> None:
    asked = Asked(answer, AT)

    assert catalog_entries.read_asked(KIND, catalog_entries.write_asked(asked)) == asked


def test_a_finding_reads_back_as_it_was_written() -> None:
    figure = LearnedFigure(KIND, "NVIDIA L4", 1, 23034, 500, "580.1", AT)

    assert catalog_entries.read_learned(KIND, catalog_entries.write_learned(figure)) == figure


def test_only_what_ec2_said_is_written_of_an_answer() -> None:
    """The built-in row beside it is this version's: a later version knows better, and must not be told otherwise."""
    row = BuiltinFigure(InstanceType("g6f.xlarge"), "L4", Vendor.NVIDIA, 1, None, 2861, "source")
    bare = GpuSpec(KIND, "L4", Vendor.NVIDIA, 1, 22888)
    text = catalog_entries.write_asked(Asked(replace(bare, builtin=row), AT))

    assert catalog_entries.read_asked(KIND, text) == Asked(bare, AT)
    old = json.dumps({**json.loads(text), "builtin": {"type": "g6f.xlarge", "nvmlMiB": 2861}})
    assert catalog_entries.read_asked(KIND, old) == Asked(bare, AT), "an entry of a version that wrote the row as well"


FIGURE = {"model": "L4", "count": 1, "totalMiB": 23034, "reservedMiB": 500, "driver": "580.1", "at": AT.isoformat()}
ANSWER = {"gpu": True, "model": "L4", "vendor": "nvidia", "count": 1, "MiB": 1, "partition": 1, "at": AT.isoformat()}


@pytest.mark.parametrize(
    ("entry", "change", "says"),
    [
        (FIGURE, {"totalMiB": 15360 * 2**20}, "totalMiB is 16106127360, not a whole number from 0 to 1048576"),
        (FIGURE, {"totalMiB": 10**400}, "totalMiB is 1000"),
        (FIGURE, {"count": 65}, "count is 65, not a whole number from 0 to 64"),
        (FIGURE, {"at": 5}, "at is 5, not a text"),
        (ANSWER, {"MiB": 2**26 + 1}, "MiB is 67108865"),
        (ANSWER, {"count": 1.5}, "count is 1.5"),
        (ANSWER, {"vendor": "acme"}, "vendor is 'acme', not one of nvidia, amd"),
        (ANSWER, {"partition": float("nan")}, "partition is nan, not a share above 0 and up to 1"),
    ],
)
def test_an_entry_with_an_implausible_field_is_unreadable_and_says_which(
    entry: dict[str, Any], change: dict[str, Any], says: str
) -> None:
    key = "nvml.t" if entry is FIGURE else "ec2.t"
    text = json.dumps(entry | change)
    reading = catalog_data.read({key: text})

    assert reading.unreadable[key].startswith(says)
    assert catalog_data.put({key: text}, {key: "new"})[f"broken.{key}"] == text


@pytest.mark.parametrize("text", ["[" * 1000, '{"at":' * 1000, "[" * 900 + "]" * 900])
def test_a_text_of_brackets_is_unreadable(text: str) -> None:
    assert set(catalog_data.read({"nvml.x": text, "ec2.x": text}).unreadable) == {"nvml.x", "ec2.x"}


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_no_text_whatsoever_stops_a_reading(text: str) -> None:
    reading = catalog_data.read({"nvml.x": text, "ec2.x": text, "other": text})

    assert set(reading.unreadable) <= {"nvml.x", "ec2.x"}


def learned(number: int, words: str = "") -> tuple[str, str]:
    kind = InstanceType(f"t{number}")
    figure = LearnedFigure(kind, "m" + words, 1, 100, 1, "d", AT + timedelta(seconds=number))
    return f"nvml.{kind}", catalog_entries.write_learned(figure)


def asked(number: int, words: str = "") -> tuple[str, str]:
    kind = InstanceType(f"t{number}")
    return f"ec2.{kind}", catalog_entries.write_asked(Asked(NoGpu(kind, words), AT + timedelta(seconds=number)))


def test_nothing_is_changed_by_what_is_there_already() -> None:
    data = dict([learned(1)])

    assert catalog_data.put(data, data) == {}


def test_beyond_the_bound_ec2s_answers_go_first_and_the_oldest_of_them() -> None:
    words = "x" * 100_000
    data = dict([asked(1, words), asked(2, words), learned(0, words), learned(3, words)])
    after = applied(data, catalog_data.put(data, dict([learned(9, words), learned(8, words)])))

    assert sorted(after) == ["ec2.t2", "nvml.t0", "nvml.t3", "nvml.t8", "nvml.t9"]
    assert size(after) <= LARGEST


def test_then_the_oldest_findings_go_but_never_what_is_new_or_not_ours() -> None:
    words = "x" * 150_000
    data = {**dict([learned(1, words), learned(2, words)]), "theirs": words}
    after = applied(data, catalog_data.put(data, dict([learned(0, words)])))

    assert sorted(after) == ["nvml.t0", "nvml.t2", "theirs"]


def test_where_nothing_can_go_nothing_is_written() -> None:
    with pytest.raises(CatalogFull, match="nothing is left to drop"):
        catalog_data.put({"theirs": "x" * LARGEST}, dict([learned(1)]))


entries = st.dictionaries(
    st.sampled_from(["nvml.t1", "nvml.t2", "ec2.t1", "ec2.t2", "theirs", "broken.nvml.t1"]),
    st.one_of(st.text(max_size=20), st.just(learned(1)[1]), st.just(asked(2)[1])),
)


@settings(max_examples=100, deadline=None)
@given(entries, st.lists(st.sampled_from([learned(1), learned(2), asked(1), asked(2)]), max_size=3))
def test_no_text_that_we_cannot_read_is_ever_lost(data: dict[str, str], new: list[tuple[str, str]]) -> None:
    foreign = {text for key, text in data.items() if not readable(key, text)}
    after = applied(data, catalog_data.put(data, dict(new)))

    assert foreign <= set(after.values())
    assert all(after[key] == text for key, text in dict(new).items())


def readable(key: str, text: str) -> bool:
    kind = InstanceType(key.partition(".")[2])
    try:
        if key.startswith("nvml."):
            catalog_entries.read_learned(kind, text)
        elif key.startswith("ec2."):
            catalog_entries.read_asked(kind, text)
        else:
            return False
    except FieldError:
        return False
    return True
