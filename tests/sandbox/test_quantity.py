"""sandbox/quantity: what the contract does not reach."""

from fractions import Fraction

import pytest

from reconciler.sandbox.quantity import parse, value


@pytest.mark.parametrize("text", ["", "abc", "1 Gi", "1gi", "Gi", "1.2.3", "--1", "1e", None, 1.5, True, "0x10"])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="quantities must"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("100m", Fraction(1, 10)),
        (3, Fraction(3)),
        ("1Ki", Fraction(1024)),
        ("+1", Fraction(1)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1E", Fraction(10) ** 18),
        ("1e-3", Fraction(1, 1000)),
        ("1n", Fraction(1, 10**9)),
        ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)),
        ("99Ei", Fraction(2**63 - 1)),
    ],
)
def test_amounts_are_exact_bounded_and_rounded_away_from_zero(text: object, amount: Fraction) -> None:
    assert value(text) == amount


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.1Mi", "104857600m"),
        ("1023Ki", "1023Ki"),
        ("1024Ki", "1Mi"),
        ("1e-3", "1e-3"),
        ("-2048Mi", "-2Gi"),
        ("500m", "500m"),
    ],
)
def test_the_canonical_form_loses_nothing(text: str, canonical: str) -> None:
    assert parse(text).canonical() == canonical
    assert parse(canonical).amount == parse(text).amount
