"""How does somebody else's text stand in a sentence of ours? On one line, and not too long."""

LONGEST = 300
"""Characters: it goes into conditions, annotations and events, and people read on behind it."""


def quoted(text: str, longest: int = LONGEST) -> str:
    """The text, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
