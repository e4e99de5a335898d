"""What is left of a time span? Clocks of others may run ahead of ours."""

from datetime import datetime, timedelta


def remaining(since: datetime, span: timedelta, now: datetime) -> timedelta | None:
    """What is left; None: nothing, or it begins later than any clock of ours could say."""
    age = now - since
    return None if age >= span or -age > span else min(span, span - age)
