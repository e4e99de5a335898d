"""What number is this quantity? Kubernetes' text form to exact integers and back.

The grammar is apimachinery's (pkg/api/resource/quantity.go): a signed decimal, then a binary suffix (Ki..Ei), a decimal
suffix (n..E) or an exponent. The API server rewrites quantities (`15360Mi` reads back as `15Gi`), so texts are never
compared, only numbers.
"""

import re
from decimal import ROUND_CEILING, Decimal

MIB = 1024 * 1024

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?", re.ASCII)
_LONGEST = 64
"""Characters. Kubernetes holds quantities in 64 bits; a thousand digits in a file must not cost minutes."""
_FACTORS = {
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
}


class QuantityError(ValueError):
    """The text is not a Kubernetes quantity; the message says which text."""


def parse(text: str) -> Decimal:
    """The exact value in base units. Raises QuantityError."""
    match = _FORM.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError(f"{text[:_LONGEST]!r} is not a quantity such as 15079Mi, 15Gi or 500m")
    number, exponent, suffix = match.groups()
    if exponent:
        return Decimal(number + exponent)
    return Decimal(number) * _FACTORS[suffix] if suffix else Decimal(number)


def units(text: str) -> int:
    """Whole base units (bytes, devices), rounded up as the scheduler does. Raises QuantityError."""
    return int(parse(text).to_integral_value(ROUND_CEILING))


def millis(text: str) -> int:
    """Thousandths, rounded up: the unit of cpu. Raises QuantityError."""
    return int((parse(text) * 1000).to_integral_value(ROUND_CEILING))


def of_resource(name: str, text: str) -> int:
    """The unit that this project counts a resource in: millicores for cpu, base units for all others."""
    return millis(text) if name == "cpu" else units(text)


def mib_text(mib: int) -> str:
    """How whole MiB are written to the API server."""
    return f"{mib}Mi"


def text(amount: int) -> str:
    """Base units as people write them: whole MiB with their suffix, all else plainly."""
    return mib_text(amount // MIB) if amount and amount % MIB == 0 else str(amount)
