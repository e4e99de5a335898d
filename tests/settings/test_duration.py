from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.settings import duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        (0.5, 0.5),
        ("90", 90),
        ("0.5", 0.5),
        ("90s", 90),
        ("5m", 300),
        ("1h", 3600),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("1d2h3m4.5s", 93_784.5),
        (" 5m ", 300),
        ("0s", 0),
    ],
)
def test_durations_are_read_as_people_write_them(written: object, seconds: float) -> None:
    assert duration.parse(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written", ["", " ", "m", "5 m", "5min", "-5m", "1m1h", "1.5h", "PT5M", True, -1, 1e12, "99999999999d"]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        duration.parse(written)


@given(st.integers(0, 10**8))
def test_a_duration_reads_back_as_it_was_written(milliseconds: int) -> None:
    value = timedelta(milliseconds=milliseconds)
    assert duration.parse(duration.text(value)) == value


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (90, "1m30s"), (3600, "1h"), (86_400, "1d"), (0.5, "0.5s")])
def test_the_text_is_the_shortest(seconds: float, text: str) -> None:
    assert duration.text(timedelta(seconds=seconds)) == text
