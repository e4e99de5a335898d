"""The label is right: does the device plugin follow, and why not?"""

from dataclasses import replace
from datetime import timedelta

from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import (
    Profile,
)
from tests.decide.fake_node import NOW
from tests.decide.slicing_situation import (
    ALONE,
    FOLLOWS,
    FOUR,
    GPU,
    LATE,
    NAMED,
    NOTHING,
    POD,
    SHARED,
    Row,
    config,
    facts,
    fenced,
    label,
    ours,
    policy,
    said,
    sliced,
)

RESTARTS = replace(FOUR, restart_plugin=True)

FOLLOWING = [
    Row("four slices as wanted", facts(label("ts-4"), {GPU: 4}, record=ours()), SharingReason.SLICED, expected=4),
    Row(
        "one GPU as wanted",
        facts(label("exclusive"), record=ours("exclusive")),
        SharingReason.EXCLUSIVE,
        "offers 1 nvidia.com/gpu, 1 GPU, by rule dev",
        policy=ALONE,
    ),
    Row(
        "slices under the shared name where the profile renames them",
        facts(label("any"), {GPU: 0, SHARED: 4}, plugin=config(any=Profile(4, renamed=True)), record=ours("any")),
        SharingReason.SLICED,
        "offers 4 nvidia.com/gpu.shared",
        policy=NAMED,
    ),
    Row(
        "the right number under the wrong name is wrong",
        facts(label("any"), {GPU: 4}, plugin=config(any=Profile(4, renamed=True)), record=ours("any"), said=LATE),
        SharingReason.WRONG_COUNT,
        "offers 4 nvidia.com/gpu, and profile any makes 4 nvidia.com/gpu.shared",
        policy=NAMED,
        holds="until the device plugin offers 4 nvidia.com/gpu.shared",
    ),
    Row(
        "a gpu_resource that is the shared name means that only for renamed slices",
        facts(label("ts-4"), {GPU: 4}, record=ours()),
        SharingReason.SLICED,
        policy=policy(gpu_resource=SHARED),
    ),
    Row(
        "a right count right after our label may be older than that",
        facts(label("exclusive"), record=ours("exclusive", minutes=0.1), said=said(SharingReason.SWITCHING, 0.1)),
        SharingReason.SWITCHING,
        actions=("Advertise",),
        policy=ALONE,
        holds="until the device plugin offers 1 nvidia.com/gpu",
        revisit=timedelta(seconds=9),
    ),
    Row(
        "a plugin's pod that started after our label has read it",
        facts(
            label("exclusive"),
            record=ours("exclusive", minutes=0.1),
            pods=(replace(POD, started=NOW - timedelta(seconds=1)),),
        ),
        SharingReason.EXCLUSIVE,
        policy=ALONE,
    ),
    Row(
        "the plugin has its time after our label",
        facts(label("ts-4"), record=ours(minutes=2), said=said(SharingReason.SWITCHING, 2)),
        SharingReason.SWITCHING,
        actions=("Advertise",),
        holds=FOLLOWS,
        revisit=timedelta(minutes=1),
    ),
    Row(
        "the plugin has its time after a foreign label that we see first",
        facts(label("ts-4")),
        SharingReason.SWITCHING,
        holds=FOLLOWS,
        revisit=timedelta(minutes=3),
    ),
    Row(
        "a plugin that was right and is not has its time to come back",
        facts(label("ts-4"), {GPU: 0}, record=ours(), said=sliced()),
        SharingReason.RETURNING,
        "offered 4 nvidia.com/gpu and does not now",
        holds=FOLLOWS,
        revisit=timedelta(minutes=3),
    ),
    Row(
        "its time runs from when it ceased to be right",
        facts(label("ts-4"), {GPU: 0}, record=ours(), said=said(SharingReason.RETURNING, 1)),
        SharingReason.RETURNING,
        actions=("Advertise",),
        holds=FOLLOWS,
        revisit=timedelta(minutes=2),
    ),
    Row(
        "so has one that crashed in between and was mended",
        facts(label("ts-4"), {GPU: 0}, record=ours(), said=said(SharingReason.PLUGIN_FAILING, 1)),
        SharingReason.RETURNING,
        holds=FOLLOWS,
        revisit=timedelta(minutes=2),
    ),
    Row(
        "a label that was written in a far future gives no endless time",
        facts(label("ts-4"), record=ours(minutes=-600), said=LATE),
        SharingReason.WRONG_COUNT,
        holds=FOLLOWS,
    ),
    Row(
        "no pod of the plugin",
        facts(label("ts-4"), {}, record=ours(), said=LATE, pods=()),
        SharingReason.NO_PLUGIN_POD,
        "the device plugin has no pod on this node: see that its DaemonSet",
        holds=FOLLOWS,
    ),
    Row(
        "a plugin without config-manager, told at once",
        facts(label("ts-4"), record=ours(minutes=0), pods=(replace(POD, config_manager=False),)),
        SharingReason.NO_CONFIG_MANAGER,
        "nvidia-device-plugin/nvdp-x2x5v has no config-manager",
        holds=FOLLOWS,
    ),
    Row(
        "a config-manager that crashes, told at once",
        facts(
            label("ts-4"),
            record=ours(minutes=0),
            pods=(replace(POD, manager_failing="CrashLoopBackOff: specified config ts-4 does not exist"),),
        ),
        SharingReason.CONFIG_MANAGER_FAILING,
        "(CrashLoopBackOff: specified config ts-4 does not exist)",
        holds=FOLLOWS,
    ),
    Row(
        "a plugin that crashes, told at once",
        facts(label("ts-4"), {}, record=ours(minutes=0), pods=(replace(POD, plugin_failing="CrashLoopBackOff"),)),
        SharingReason.PLUGIN_FAILING,
        "does not run (CrashLoopBackOff)",
        holds=FOLLOWS,
    ),
    Row(
        "a plugin that does not get ready",
        facts(label("ts-4"), {}, record=ours(), said=LATE, pods=(replace(POD, ready=False),)),
        SharingReason.PLUGIN_FAILING,
        "is not ready",
        holds=FOLLOWS,
    ),
    Row(
        "of two pods of the plugin the newest counts",
        facts(label("ts-4"), {}, record=ours(), said=LATE, pods=(replace(POD, manager_failing="Error"), POD)),
        SharingReason.NO_GPUS_OFFERED,
        holds=FOLLOWS,
    ),
    Row(
        "a crash does not matter where the count is right",
        facts(label("ts-4"), {GPU: 4}, record=ours(), said=sliced(), pods=(replace(POD, manager_failing="Error"),)),
        SharingReason.SLICED,
        actions=("Advertise",),
    ),
    Row(
        "a plugin that is ready and offers nothing",
        facts(label("ts-4"), {GPU: 0}, record=ours(), said=LATE),
        SharingReason.NO_GPUS_OFFERED,
        "is ready and offers no GPU (NVIDIA/k8s-device-plugin 1645): delete the pod",
        holds=FOLLOWS,
    ),
    Row(
        "a plugin that offers nothing is restarted where the policy says so",
        facts(label("ts-4"), {GPU: 0}, record=ours(), said=LATE),
        SharingReason.NO_GPUS_OFFERED,
        actions=("Announce", "Advertise", "RestartPlugin"),
        holds=FOLLOWS,
        policy=RESTARTS,
    ),
    Row(
        "the budget of restarts is not overdrawn",
        facts(label("ts-4"), {GPU: 0}, record=ours(restarts=1), said=LATE),
        SharingReason.NO_GPUS_OFFERED,
        holds=FOLLOWS,
        policy=RESTARTS,
    ),
    Row(
        "a number that no number of GPUs makes",
        facts(label("ts-4"), {GPU: 1}, record=ours(), said=LATE, pods=(POD,)),
        SharingReason.WRONG_COUNT,
        "nvdp-x2x5v offers 1 nvidia.com/gpu, and profile ts-4 makes 4 nvidia.com/gpu, 1 GPU in 4 slices: what is edited"
        " under the name of a profile is not picked up",
        holds=FOLLOWS,
    ),
    Row(
        "a number that fewer GPUs make",
        facts(
            label("ts-4"),
            {GPU: 12},
            record=ours(),
            said=LATE,
            memory=replace(facts().memory, count=4),
        ),
        SharingReason.WRONG_COUNT,
        "makes 16 nvidia.com/gpu, 4 GPUs in 4 slices each: some of the node's GPUs may be lost",
        holds="until the device plugin offers 16",
    ),
    Row(
        "a fence goes when the plugin follows",
        facts(
            label("ts-4"),
            {GPU: 4},
            record=ours(),
            said=replace(sliced(), message="the device plugin offers 4 nvidia.com/gpu, 1 GPU in 4 slices, by rule dev"),
            taints=fenced(),
        ),
        SharingReason.SLICED,
        actions=("ClearTaint",),
    ),
    Row(
        "somebody else's fence stays",
        facts(
            label("ts-4"),
            {GPU: 4},
            record=ours(),
            said=replace(sliced(), message="the device plugin offers 4 nvidia.com/gpu, 1 GPU in 4 slices, by rule dev"),
            taints=fenced(purpose="rebalance"),
        ),
        SharingReason.SLICED,
        actions=NOTHING,
    ),
    Row(
        "the former name's zero stays by default",
        facts(label("any"), {GPU: 0, SHARED: 4}, plugin=config(any=Profile(4, renamed=True)), record=ours("any")),
        SharingReason.SLICED,
        policy=NAMED,
    ),
]

ROWS = [*FOLLOWING]
