"""How does the server read a quantity and write it back? `15360Mi` becomes `15Gi` (apimachinery, quantity.go)."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)")
_BINARY = {suffix: Fraction(1024) ** (power + 1) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_DECIMAL = {
    suffix: Fraction(10) ** power
    for suffix, power in (
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    )
}
_MOST = Fraction(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount and the family of suffixes it was written in."""

    amount: Fraction
    binary: bool = False
    exponent: bool = False

    @property
    def whole(self) -> bool:
        """Whole in base units, as extended resources must be."""
        return self.amount.denominator == 1

    def canonical(self) -> str:
        """The largest suffix that needs no fraction, as Go's CanonicalizeBytes chooses it."""
        if self.amount == 0:
            return "0"
        if self.binary and self.whole and abs(self.amount) >= 1024:
            suffix, size = _largest(self.amount, _BINARY, Fraction(1))
            return f"{self.amount / size}{suffix}"
        suffix, size = _largest(self.amount, _DECIMAL, _DECIMAL["n"])
        digits = self.amount / size
        if self.exponent:
            power = len(str(size)) - 1 if size >= 1 else 1 - len(str(1 / size))
            return f"{digits}e{power}" if power else str(digits)
        return f"{digits}{suffix}"


def _largest(amount: Fraction, sizes: dict[str, Fraction], smallest: Fraction) -> tuple[str, Fraction]:
    best = next((name for name, size in sizes.items() if size == smallest), "")
    for suffix, size in sizes.items():
        if (amount / size).denominator == 1:
            best, smallest = suffix, size
    return best, smallest


@lru_cache(maxsize=8192)
def parse(text: object) -> Quantity:
    """Read a quantity: text, or a whole number as JSON allows. Raises ValueError with the server's own words."""
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError(f"quantities must be a string or a number, not {text!r}")
    found = _FORM.fullmatch(str(text))
    if found is None:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    number, suffix = Fraction(found[1]), found[2]
    if suffix in _BINARY:
        return Quantity(_bounded(number * _BINARY[suffix]), binary=True)
    if suffix in _DECIMAL:
        return Quantity(_bounded(number * _DECIMAL[suffix]))
    return Quantity(_bounded(number * Fraction(10) ** int(suffix[1:])), exponent=True)


def _bounded(amount: Fraction) -> Fraction:
    """Within 2^63-1, and rounded away from zero below one billionth, as Go does."""
    nano = amount * 10**9
    if nano.denominator != 1:
        amount = Fraction(-((-nano).__floor__()) if nano > 0 else nano.__floor__(), 10**9)
    return max(-_MOST, min(_MOST, amount))


def value(text: object) -> Fraction:
    """The exact amount."""
    return parse(text).amount
