"""model/quantity.py: the text forms of apimachinery, as exact numbers."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15079Mi", 15079 * 2**20),
        ("15Gi", 15 * 2**30),
        ("15.5Gi", 15872 * 2**20),
        ("3Ki", 3072),
        ("3000m", 3),
        ("1500m", 2),
        ("0", 0),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("12.", 12),
        (".5", 1),
        ("1n", 1),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_units_are_exact_and_round_up(text: str, value: int) -> None:
    assert quantity.units(text) == value


@pytest.mark.parametrize("text", ["", "Mi", "1.2.3", "15 Gi", "1KI", "0x10", "1e", "--1", "٣", "1e999999", "9" * 65])
def test_what_is_no_quantity_says_so_with_the_text(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="is not a quantity"):
        quantity.parse(text)


def test_cpu_counts_in_millicores_and_all_else_in_base_units() -> None:
    assert quantity.of_resource("cpu", "1500m") == 1500
    assert quantity.of_resource("cpu", "2") == 2000
    assert quantity.of_resource("memory", "1Ki") == 1024


@given(st.integers(0, 2**43) | st.integers(0, 2**23).map(lambda mib: mib * quantity.MIB))
def test_amounts_survive_the_way_there_and_back(amount: int) -> None:
    assert quantity.units(quantity.text(amount)) == amount


def test_whole_mib_are_written_as_such() -> None:
    assert [quantity.text(amount) for amount in (0, 1, quantity.MIB, 15360 * quantity.MIB, quantity.MIB + 1)] == [
        "0", "1", "1Mi", "15360Mi", "1048577",
    ]  # fmt: skip


@given(st.integers(min_value=-(2**60), max_value=2**60), st.sampled_from(["", "Ki", "Mi", "k", "M"]))
def test_whole_numbers_with_a_suffix_are_never_rounded(number: int, suffix: str) -> None:
    factor = {"": 1, "Ki": 1024, "Mi": 1024**2, "k": 1000, "M": 10**6}[suffix]
    assert quantity.parse(f"{number}{suffix}") == Decimal(number * factor)
