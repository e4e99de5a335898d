"""Which failures does the outside world have? The words that doors translate into and only the worker reads."""


class Stale(Exception):
    """What was decided on has changed since: look again at once."""


class Gone(Exception):
    """The object is no more: forget the key."""


class Unavailable(Exception):
    """The server could not answer now. `after` is its wish in seconds, None when it named none."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Forbidden(Exception):
    """We may not: the text names the verb and the object, so that an administrator can grant it."""


class Rejected(Exception):
    """The server finds the request itself wrong (400, 422): a fault of ours, or of a setting that the text names."""
