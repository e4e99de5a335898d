"""kube/lines: events are found in a byte stream, however it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kube.lines import Lines, LineTooLong


@given(st.binary(), st.lists(st.integers(0, 60)))
def test_lines_do_not_depend_on_the_cuts(stream: bytes, sizes: list[int]) -> None:
    """Whatever the chunks, the lines are those of the whole stream; the unfinished rest is held back."""
    lines, found, start = Lines(), [], 0
    for size in [*sizes, len(stream)]:
        found += lines.feed(stream[start : start + size])
        start += size
    assert found == [line for line in stream.split(b"\n")[:-1] if line and not line.isspace()]


@pytest.mark.parametrize(
    ("before", "last"), [(b"", b"x" * 11 + b"\n"), (b"x" * 6, b"x" * 5 + b"\n"), (b"ok\n", b"x" * 11)]
)
def test_a_line_above_the_limit_is_refused(before: bytes, last: bytes) -> None:
    """A line longer than any Kubernetes object means that the stream is something else."""
    lines = Lines(longest=10)
    lines.feed(before)
    with pytest.raises(LineTooLong, match="longer than 10 bytes"):
        lines.feed(last)


def test_a_line_may_be_as_long_as_the_limit() -> None:
    """The limit itself is allowed, in one piece and in two."""
    assert Lines(longest=10).feed(b"x" * 10 + b"\n") == [b"x" * 10]
    lines = Lines(longest=10)
    assert [*lines.feed(b"x" * 5), *lines.feed(b"x" * 5 + b"\n")] == [b"x" * 10]
