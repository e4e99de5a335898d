"""kube/plugin_profile: a text means to us what it means to NVIDIA's plugin; what that refuses is told by its field."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kube.plugin_profile import profile
from reconciler.kube.plugin_yaml import LONGEST
from reconciler.model.sharing import Profile, UnusableProfile

SLICED = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""

STARTING_POINT_B = """\
version: v1
flags:
  migStrategy: none
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""


def sliced(*lines: str, under: str = "timeSlicing") -> str:
    """A profile with these lines under `sharing.timeSlicing`."""
    return "\n".join(["version: v1", "sharing:", f"  {under}:", *[f"    {line}" for line in lines], ""])


GPU = "resources: [{name: nvidia.com/gpu, replicas: 4}]"

USABLE = {
    "a count": (SLICED, Profile(4)),
    "what starting point B installs": (STARTING_POINT_B, Profile(4)),
    "nothing shared": ("version: v1\n", Profile()),
    "an empty text, as NVIDIA's `empty` strategy makes": ("", Profile()),
    "a comment alone": ("# exclusive\n", Profile()),
    "no version, which stands for v1": ("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}", Profile(2)),
    "sharing with nothing behind it": ("version: v1\nsharing:\n", Profile()),
    "JSON": (
        '{"version":"v1","sharing":{"timeSlicing":{"resources":[{"name":"nvidia.com/gpu","replicas":3}]}}}',
        Profile(3),
    ),
    "a renamed resource": (sliced("renameByDefault: true", GPU), Profile(4, renamed=True)),
    "YAML 1.1's yes": (sliced("renameByDefault: yes", GPU), Profile(4, renamed=True)),
    "a rename under flags, which does nothing": (f"flags: {{renameByDefault: true}}\n{SLICED}", Profile(4)),
    "a rename of one resource, which is ignored": (
        sliced("resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mine, replicas: 4}]"),
        Profile(4),
    ),
    "requests of two refused": (sliced("failRequestsGreaterThanOne: true", GPU), Profile(4)),
    "a name without its prefix": (sliced("resources: [{name: gpu, replicas: 5}]"), Profile(5)),
    "a count with a point": (sliced("resources: [{name: gpu, replicas: 4.0}]"), Profile(4)),
    "MIG devices alone": (
        sliced("renameByDefault: true", "resources: [{name: nvidia.com/mig-1g.5gb, replicas: 4}]"),
        Profile(),
    ),
    "GPUs beside MIG devices": (
        sliced("resources: [{name: nvidia.com/mig-1g.5gb, replicas: 8}, {name: nvidia.com/gpu, replicas: 2}]"),
        Profile(2),
    ),
    "the same resource twice": (
        sliced("resources: [{name: gpu, replicas: 6}, {name: nvidia.com/gpu, replicas: 2}]"),
        Profile(6),
    ),
    "MPS": (sliced(GPU, under="mps"), Profile(4, mps=True)),
    "MPS before time slicing": (SLICED + "  mps: {resources: [{name: gpu, replicas: 9}]}\n", Profile(9, mps=True)),
    "no MPS": (SLICED + "  mps:\n", Profile(4)),
    "a struct's name in another case, which Go takes": (SLICED.replace("timeSlicing", "timeslicing"), Profile(4)),
    "fields that nobody knows": (SLICED + "imex: {channelIDs: [0]}\nx: 1\n", Profile(4)),
    "a second document, which is not read": (f"{SLICED}---\nversion: v9\n", Profile(4)),
    "an anchor": (
        "x: &gpu {name: nvidia.com/gpu, replicas: 4}\nsharing: {timeSlicing: {resources: [*gpu]}}\n",
        Profile(4),
    ),
}

UNUSABLE = {
    "one replica": (sliced("resources: [{name: gpu, replicas: 1}]"), "is 1; the plugin takes 2 or more; leave `shar"),
    "no replica": (sliced("resources: [{name: gpu, replicas: 0}]"), "replicas is 0; the plugin takes 2 or more"),
    "fewer than none": (sliced("resources: [{name: gpu, replicas: -4}]"), "replicas is -4"),
    "more than a number holds": (sliced(f"resources: [{{name: gpu, replicas: {10**30}}}]"), "replicas is 1000"),
    "half a replica": (sliced("resources: [{name: gpu, replicas: 2.5}]"), "replicas is 2.5, not a whole number"),
    "a count in quotes": (sliced("resources: [{name: gpu, replicas: '4'}]"), "replicas is '4', not a whole number"),
    "true for a count": (sliced("resources: [{name: gpu, replicas: true}]"), "replicas is True, not a whole number"),
    "no count": (sliced("resources: [{name: gpu}]"), "sharing.timeSlicing.resources[0].replicas is missing"),
    "no name": (sliced("resources: [{replicas: 4}]"), "sharing.timeSlicing.resources[0].name is missing"),
    "an odd MIG resource": (
        sliced("resources: [{name: gpu, replicas: 4}, {name: mig-1g.5gb, replicas: 1}]"),
        "resources[1].replicas is 1",
    ),
    "no resources": (sliced("renameByDefault: true"), "sharing.timeSlicing.resources is missing or empty"),
    "an empty list": (sliced("resources: []"), "sharing.timeSlicing.resources is missing or empty"),
    "time slicing with nothing behind it": ("sharing:\n  timeSlicing:\n", "timeSlicing.resources is missing or empty"),
    "resources in another case, which Go's own reader misses": (sliced(GPU.title()), "resources is missing"),
    "a text for resources": (sliced("resources: all"), "sharing.timeSlicing.resources is not a list"),
    "texts in resources": (sliced("resources: [gpu]"), "resources[0] is not a map"),
    "MPS that shares nothing": (SLICED + "  mps: {}\n", "sharing.mps.resources is missing or empty"),
    "odd time slicing under good MPS": (
        "sharing: {timeSlicing: {}, mps: {resources: [{name: gpu, replicas: 2}]}}",
        "sharing.timeSlicing.resources",
    ),
    "a flag that is a text": (sliced("renameByDefault: 'yes'", GPU), "renameByDefault is 'yes', not true or false"),
    "another such flag": (sliced("failRequestsGreaterThanOne: 2", GPU), "failRequestsGreaterThanOne is 2, not true"),
    "another version": ("version: v2\n", "version is 'v2', not v1"),
    "a number for the version": ("version: 1\n", "version is '1', not v1"),
    "an unknown MIG strategy": ("flags: {migStrategy: all}\n", "flags.migStrategy is 'all', not one of none, single"),
    "a list for flags": ("flags: [1]\n", "flags is not a map"),
    "a text for sharing": ("sharing: 4\n", "sharing is not a map"),
    "a text": ("ts-4", "the text is not a map"),
    "a list": ("- version: v1\n", "the text is not a map"),
    "no YAML": ("version: [v1\n", "it is no YAML: line 2, column 1"),
    "a tab": ("sharing:\n\ttimeSlicing: 1\n", "it is no YAML: line 2"),
    "a tag": ("!!python/object:os.system {}\n", "it is no YAML: line 1"),
    "a day that is none": ("version: 2026-99-99\n", "it is no YAML"),
    "a flag by its tag that is none": ("version: !!bool maybe\n", "it is no YAML"),
    "a time by its tag that is none": ("version: !!timestamp v1\n", "it is no YAML"),
    "a number by its tag without digits": ("version: !!int ''\n", "it is no YAML"),
    "a count of thousands of digits": (sliced(f"resources: [{{name: gpu, replicas: 0x{'f' * 6000}}}]"), "too long"),
    "a version of thousands of digits": (f"version: 0x{'f' * 6000}\n", "too long"),
    "brackets without end": ("[" * LONGEST, "it goes more than 20 levels deep"),
    "maps without end": ("{" * LONGEST, "it goes more than 20 levels deep"),
    "lists without end": ("- " * (LONGEST // 2), "it goes more than 20 levels deep"),
    "a merge key": ("a: &a {version: v1}\n<<: *a\n", "line 3: a merge key (<<) is not read here"),
    "a control character": ("version: v1\x00\n", "it is no YAML"),
    "more than is read": ("# " + "x" * LONGEST, f"and more than {LONGEST} are not read"),
}


@pytest.mark.parametrize(("text", "means"), USABLE.values(), ids=USABLE)
def test_what_the_plugin_takes_is_understood(text: str, means: Profile) -> None:
    assert profile(text) == means


@pytest.mark.parametrize(("text", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_the_plugin_refuses_is_told_by_its_field(text: str, why: str) -> None:
    found = profile(text)

    assert isinstance(found, UnusableProfile), found
    assert why in found.why
    assert "\n" not in found.why
    assert len(found.why) < 200


@given(st.text(st.sampled_from("versionharigTSlc:{}[]&*!-'\"#\n\t 014v~|>?%@`\\,\u2028\ud800")))
def test_any_text_means_something(text: str) -> None:
    """No text raises: a mistake in one key must not cost the others."""
    assert isinstance(profile(text), Profile | UnusableProfile)


def test_aliases_that_multiply_cost_nothing() -> None:
    """Lists of lists of lists by reference: a billion elements if anybody copied them."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    began = time.process_time()

    assert profile("\n".join([*lines, "sharing: {timeSlicing: {resources: *a9}}"])) == UnusableProfile(
        "sharing.timeSlicing.resources[0] is not a map"
    )
    assert time.process_time() - began < 5
