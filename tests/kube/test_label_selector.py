"""kube/label_selector: a selector chooses from a file what the API server would choose from a cluster."""

import pytest

from reconciler.kube.label_selector import LabelSelector, SelectorError
from reconciler.sandbox.selectors import label_terms

LABELS = {"app": "plugin", "tier": "", "app.kubernetes.io/name": "nvidia-device-plugin"}

FITS = [
    ("", True),
    ("app=plugin", True),
    ("app==plugin", True),
    ("app = plugin", True),
    ("app=other", False),
    ("app.kubernetes.io/name=nvidia-device-plugin", True),
    ("app.kubernetes.io/name=nvidia-device-plugin,app=other", False),
    ("tier=", True),
    ("missing=", False),
    ("app!=other", True),
    ("app!=plugin", False),
    ("missing!=x", True),
    ("app", True),
    ("missing", False),
    ("!missing", True),
    ("!app", False),
    ("app in (a, plugin)", True),
    ("app in (a,b)", False),
    ("missing in (a)", False),
    ("app notin (a,b)", True),
    ("app notin (plugin)", False),
    ("missing notin (a)", True),
    ("tier in (,x)", True),
    ("app in (a,plugin),!missing,tier", True),
    ("app in (a,plugin),missing", False),
]


@pytest.mark.parametrize(("text", "fits"), FITS)
def test_a_selector_chooses(text: str, fits: bool) -> None:
    assert LabelSelector(text).fits(LABELS) is fits


@pytest.mark.parametrize("text", [text for text, _ in FITS])
def test_the_small_clusters_server_chooses_the_same(text: str) -> None:
    server = all(term.accepts(LABELS.get(term.key)) for term in label_terms(text))
    assert LabelSelector(text).fits(LABELS) is server


@pytest.mark.parametrize(
    "text", ["app in plugin", "a b", "=x", "app=(x)", "a=b=c", "!", "!a=b", "app in (a", ",", "a,,b"]
)
def test_what_is_no_selector_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(SelectorError, match="is no label selector from character"):
        LabelSelector(text)
