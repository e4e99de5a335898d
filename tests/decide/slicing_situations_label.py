"""Is the wanted profile offered, and whose is the label?"""

from dataclasses import replace
from datetime import timedelta

from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import (
    Contender,
    PluginConfig,
    Profile,
    UnusableProfile,
)
from tests.decide.fake_node import NOW
from tests.decide.slicing_situation import (
    ALONE,
    CHANGED,
    FOLLOWS,
    GPU,
    NAMED,
    STARTUP,
    Row,
    config,
    facts,
    fenced,
    label,
    ours,
    sliced,
)

ONCE = Contender("kubectl", 1, NOW - timedelta(minutes=2))
LONG_SINCE = Contender("kubectl", 2, NOW - timedelta(minutes=10))

PROFILES = [
    Row(
        "no ConfigMap for a profile that only it could tell",
        facts(plugin=None),
        SharingReason.PROFILE_MISSING,
        holds=CHANGED,
        policy=NAMED,
        profile="any",
    ),
    Row(
        "no ConfigMap",
        facts(plugin=None, taints=STARTUP),
        SharingReason.PROFILE_MISSING,
        "ConfigMap nvidia-device-plugin/gpu-profiles does not exist: apply the one that `gpu-reconciler profiles`",
        holds=CHANGED,
        profile="ts-4",
    ),
    Row(
        "a ConfigMap that may not be read",
        facts(plugin=None, plugin_readable=False, taints=STARTUP),
        SharingReason.PROFILE_MISSING,
        "ConfigMap nvidia-device-plugin/gpu-profiles may not be read: apply deploy/manifests/sharing",
        holds=CHANGED,
        profile="ts-4",
    ),
    Row(
        "no ConfigMap is needed where the plugin offers what is wanted",
        facts(plugin=None, taints=STARTUP),
        SharingReason.EXCLUSIVE,
        "offers 1 nvidia.com/gpu, 1 GPU, by rule dev",
        policy=ALONE,
    ),
    Row(
        "a ConfigMap without the key",
        facts(plugin=config(exclusive=Profile(), ts_2=Profile(2), any=Profile(4)), taints=STARTUP),
        SharingReason.PROFILE_MISSING,
        "has no key ts-4 (it has any, exclusive, ts-2): add it",
        holds=CHANGED,
    ),
    Row(
        "a ConfigMap with more keys than a sentence holds",
        facts(plugin=PluginConfig({f"p{number:02}": Profile() for number in range(13)})),
        SharingReason.PROFILE_MISSING,
        "p09 and 3 more)",
        holds=CHANGED,
    ),
    Row(
        "a ConfigMap without any key",
        facts(plugin=PluginConfig()),
        SharingReason.PROFILE_MISSING,
        "(it has none)",
        holds=CHANGED,
    ),
    Row(
        "a key that the plugin would refuse",
        facts(plugin=config(ts_4=UnusableProfile("replicas is 1, not 2 or more"))),
        SharingReason.PROFILE_INVALID,
        "the plugin would refuse key ts-4",
        holds=CHANGED,
    ),
    Row(
        "a key whose count is not that of its name",
        facts(plugin=config(ts_4=Profile(8))),
        SharingReason.PROFILE_INVALID,
        "says 8 replicas, its name says 4 replicas",
        holds=CHANGED,
    ),
    Row(
        "a key called exclusive that shares",
        facts(plugin=config(exclusive=Profile(2)), offers={GPU: 2}),
        SharingReason.PROFILE_INVALID,
        "says 2 replicas, its name says no sharing",
        holds=CHANGED,
        policy=ALONE,
    ),
    Row(
        "a key that a person named holds what it holds",
        facts(label("any"), {GPU: 4}, plugin=config(any=Profile(4))),
        SharingReason.SLICED,
        "1 GPU in 4 slices",
        policy=NAMED,
        expected=4,
    ),
    Row(
        "a key that shares by MPS",
        facts(plugin=config(ts_4=Profile(4, mps=True)), taints=STARTUP),
        SharingReason.MPS,
        "MPS",
    ),
    Row(
        "a label whose key went away is told, too",
        facts(label("ts-4"), {GPU: 4}, plugin=config(exclusive=Profile()), record=ours(), said=sliced()),
        SharingReason.PROFILE_MISSING,
        holds=CHANGED,
    ),
]

OWNERS = [
    Row(
        "a label of a NodePool's template",
        facts(label("ts-2"), pool_label="ts-2", taints=STARTUP),
        SharingReason.FOREIGN_LABEL,
        "the template of its NodePool set the label nvidia.com/device-plugin.config=ts-2",
        profile="ts-4",
    ),
    Row(
        "a label of a field manager's",
        facts(node=replace(facts(label("ts-2")).node, profile_writer="kubectl-label"), pool_label="ts-8"),
        SharingReason.FOREIGN_LABEL,
        "kubectl-label set",
    ),
    Row("a label of nobody knows whose", facts(label("ts-2")), SharingReason.FOREIGN_LABEL, "somebody set"),
    Row(
        "a foreign label is told before a missing key that would not be used",
        facts(label("ts-2"), plugin=None),
        SharingReason.FOREIGN_LABEL,
    ),
    Row(
        "a foreign label that says what is wanted is fine, and is not claimed",
        facts(label("ts-4"), {GPU: 4}),
        SharingReason.SLICED,
    ),
    Row(
        "a label of ours whose annotation was lost is known by its writer",
        facts(node=replace(facts(label("ts-2"), taints=STARTUP).node, profile_writer="gpu-reconciler")),
        SharingReason.SWITCHING,
        holds=FOLLOWS,
        label="ts-4",
    ),
    Row(
        "a label of ours follows the rule",
        facts(label("ts-2"), {GPU: 2}, record=ours("ts-2"), said=sliced(), taints=fenced()),
        SharingReason.SWITCHING,
        holds=FOLLOWS,
        label="ts-4",
    ),
    Row(
        "a first revert is answered",
        facts(label("theirs"), record=ours(), said=sliced(), taints=fenced()),
        SharingReason.SWITCHING,
        holds=FOLLOWS,
        label="ts-4",
    ),
    Row(
        "a second revert within the window is not, and who did it is told",
        facts(
            node=replace(
                facts(
                    label("theirs"),
                    record=ours(minutes=1, contender=Contender("kubectl", 1, NOW - timedelta(minutes=2))),
                ).node,
                profile_writer="kubectl-edit",
            )
        ),
        SharingReason.REVERTED,
        "kubectl-edit wrote over our label nvidia.com/device-plugin.config=ts-4 2 times since 2026-11-30T11:58:00+00:00"
        ", now it says theirs",
        profile="ts-4",
        revisit=timedelta(minutes=8),
    ),
    Row(
        "a label that is removed again and again",
        facts(record=ours(minutes=1, contender=ONCE)),
        SharingReason.REVERTED,
        "now it is gone",
        revisit=timedelta(minutes=8),
    ),
    Row(
        "when the window is over there is one new try",
        facts(
            label("theirs"),
            record=ours(contender=LONG_SINCE),
            taints=fenced(),
        ),
        SharingReason.SWITCHING,
        holds=FOLLOWS,
        label="ts-4",
    ),
    Row(
        "somebody who comes to want what we want ends the fight",
        facts(label("ts-4"), {GPU: 4}, record=ours("ts-2"), said=sliced()),
        SharingReason.SLICED,
        actions=("Advertise",),
    ),
]

ROWS = [*PROFILES, *OWNERS]
