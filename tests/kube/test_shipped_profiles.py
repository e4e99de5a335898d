"""kube/shipped_profiles.py: the ConfigMap that people apply says what its keys promise."""

import pytest
import yaml

from reconciler.kube import shipped_profiles
from reconciler.model.sharing import EXCLUSIVE, profile_name

KEYS = [EXCLUSIVE, *(f"ts-{count}" for count in range(2, 17))]


def test_there_is_a_key_for_every_count_up_to_16_and_one_without_sharing() -> None:
    assert list(shipped_profiles.contents()) == KEYS
    assert list(shipped_profiles.contents(most=3)) == [EXCLUSIVE, "ts-2", "ts-3"]


def test_exclusive_has_no_sharing_block() -> None:
    """The plugin exits on `replicas: 1`."""
    assert yaml.safe_load(shipped_profiles.contents()[EXCLUSIVE]) == {"version": "v1", "flags": {"migStrategy": "none"}}


@pytest.mark.parametrize("count", range(2, 17))
def test_each_key_shows_a_gpu_as_often_as_its_name_says(count: int) -> None:
    content = yaml.safe_load(shipped_profiles.contents()[profile_name(count)])

    assert content == {
        "version": "v1",
        "flags": {"migStrategy": "none"},
        "sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": count}]}},
    }


def test_the_file_for_people_holds_the_object_and_tells_what_must_not_be_done() -> None:
    text = shipped_profiles.manifest("gpu-operator", "gpu-profiles", 4)

    assert yaml.safe_load(text) == shipped_profiles.document("gpu-operator", "gpu-profiles", 4)
    assert "never edit one that nodes use" in text
