"""model/quoting.py: foreign texts within ours."""

from reconciler.model.quoting import LONGEST, quoted


def test_foreign_texts_are_put_on_one_line_and_cut() -> None:
    assert quoted(" a\n\tb ") == "a b"
    assert len(quoted("word " * 500)) == LONGEST
    assert quoted("x" * 5, longest=4) == "xxx…"
