"""Where does one watch event end and the next begin? Chunks are cuts at any byte; events are lines."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. etcd refuses objects above 1.5 MiB by default, so a longer line is no Kubernetes object."""


class LineTooLong(Exception):
    """A line outgrew the limit: the stream is of no use any more."""


class Lines:
    """Cuts a byte stream into lines. Parts of a long line are kept apart until it ends, so no byte is copied twice."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends and without empty ones. Raises LineTooLong."""
        whole: list[bytes] = []
        start = 0
        # `find` is memchr; `split` looks at byte after byte and takes half as long as decoding what it cuts.
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            start = end + 1
            if self._parts or len(line) > self._longest:
                self._hold(line)
                line = b"".join(self._parts)
                self._parts, self._size = [], 0
            if line and not line.isspace():
                whole.append(line)
        self._hold(chunk[start:])
        return whole

    def _hold(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._size += len(part)
            if self._size > self._longest:
                raise LineTooLong(f"a watch event is longer than {self._longest} bytes")
