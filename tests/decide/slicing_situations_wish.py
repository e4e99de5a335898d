"""Which rule is for the node, and which profile does it ask for?"""

from dataclasses import replace

from reconciler.decide.label import of as labels_of
from reconciler.model import names
from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import Source, UnreadableRecord
from reconciler.model.sharing import Exclusive, MemoryPerSlice, Named, Replicas
from tests.decide.slicing_situation import (
    BY_MEMORY,
    FOLLOWS,
    GPU,
    NOTHING,
    STARTUP,
    Row,
    facts,
    label,
    ours,
    policy,
    verdict,
)

BIG = SlicingRule(Replicas(4), "big", gpu_models=frozenset({"a10g"}))
OF_MODEL = SlicingPolicy((BIG, SlicingRule(Exclusive(), "all")))

UNDECIDED = [
    Row(
        "how many GPUs there are is not known yet",
        facts(memory=verdict(count=0), taints=STARTUP),
        SharingReason.AWAITING_MEMORY,
        "how many GPUs",
        holds="until that is known",
    ),
    Row(
        "a rule asks for a model that is not known yet: no later rule jumps in",
        facts(memory=verdict(model=""), settled=False),
        SharingReason.AWAITING_MEMORY,
        "rule big asks for the GPU's model",
        holds="until the GPU's model is known",
        policy=OF_MODEL,
    ),
    Row(
        "a model that will never be known fits no rule that asks for one",
        facts(memory=verdict(model=""), offers={GPU: 1}),
        SharingReason.EXCLUSIVE,
        "by rule all",
        policy=OF_MODEL,
    ),
    Row(
        "slices by a figure that may still change are waited for on a node that pods may meet",
        facts(settled=False),
        SharingReason.AWAITING_MEMORY,
        "not settled",
        holds="until the memory is known",
        policy=BY_MEMORY,
    ),
    Row(
        "so are they behind the startup taint while a pod that tolerates it holds a GPU",
        facts(settled=False, taints=STARTUP, held=1),
        SharingReason.AWAITING_MEMORY,
        "not settled",
        holds="until the memory is known",
        policy=BY_MEMORY,
    ),
    Row(
        "behind the startup taint slices are counted at once, and corrected if the figure changes",
        facts(settled=False, taints=STARTUP, offers={}),
        SharingReason.SWITCHING,
        "MiB in slices of 4096",
        holds="until the device plugin offers 3 ",
        policy=BY_MEMORY,
        label="ts-3",
    ),
    Row(
        "a figure that running pods hold up is not counted by",
        facts(memory=verdict(Reason.WOULD_OVERCOMMIT, 20000)),
        SharingReason.AWAITING_MEMORY,
        "not settled",
        holds="until the memory is known",
        policy=BY_MEMORY,
    ),
    Row(
        "a figure that became provisional leaves the profile that we counted before",
        facts(label("ts-3"), {GPU: 3}, settled=False, record=ours("ts-3")),
        SharingReason.SLICED,
        "as counted before",
        profile="ts-3",
        policy=BY_MEMORY,
    ),
    Row(
        "a profile of somebody else's is not taken for counted",
        facts(label("ts-3"), {GPU: 3}, settled=False),
        SharingReason.AWAITING_MEMORY,
        holds="until the memory is known",
        policy=BY_MEMORY,
    ),
    Row(
        "several GPUs without any figure cannot be counted, and the node is not held for it",
        facts(memory=verdict(Reason.MULTI_GPU, None, 4), taints=STARTUP),
        SharingReason.AWAITING_MEMORY,
        "give the rule a number of replicas",
        policy=BY_MEMORY,
    ),
    Row(
        "memory of somebody else's cannot be counted either",
        facts(memory=verdict(Reason.FOREIGN_VALUE, None)),
        SharingReason.AWAITING_MEMORY,
        "(ForeignValue)",
        policy=BY_MEMORY,
    ),
    Row(
        "several GPUs whose largest one a label tells",
        facts(memory=replace(verdict(count=4), reason=Reason.MULTI_GPU, mib=None), taints=STARTUP),
        SharingReason.SWITCHING,
        "15360 MiB in slices of 4096",
        holds="until the device plugin offers 12",
        policy=BY_MEMORY,
        label="ts-3",
        expected=12,
    ),
    *(
        Row(
            f"the largest of several GPUs by {source} counts when the probes are {'over' if settled else 'not over'}",
            facts(
                memory=replace(verdict(), reason=Reason.MULTI_GPU, mib=None, labels=labels_of("T4", 15360, 1, source)),
                settled=settled,
                taints=STARTUP,
            ),
            SharingReason.SWITCHING if counts else SharingReason.AWAITING_MEMORY,
            holds="until the device plugin offers 3 " if counts else "until the memory is known",
            policy=BY_MEMORY,
            label="ts-3" if counts else "",
        )
        for source, settled, counts in (
            (Source.EC2, True, True),
            (Source.EC2, False, False),
            (Source.NVML, False, True),
        )
    ),
    Row(
        "memory for exactly two slices makes two",
        facts(memory=verdict(mib=8192), taints=STARTUP),
        SharingReason.SWITCHING,
        "8192 MiB in slices of 4096;",
        holds="until the device plugin offers 2 ",
        policy=policy(MemoryPerSlice(4096, most=2)),
        label="ts-2",
    ),
    Row(
        "memory whose GPUs no label counts is counted by the decision's own number",
        facts(memory=replace(verdict(mib=4 * 14910, count=4), labels={}), taints=STARTUP),
        SharingReason.SWITCHING,
        "14910 MiB in slices of 4096",
        holds="until the device plugin offers 12",
        policy=BY_MEMORY,
        label="ts-3",
    ),
    Row(
        "the sum of several GPUs is counted for each",
        facts(memory=verdict(mib=4 * 14910, count=4), taints=STARTUP),
        SharingReason.SWITCHING,
        "14910 MiB in slices of 4096",
        holds="until the device plugin offers 12",
        policy=BY_MEMORY,
        label="ts-3",
    ),
    Row(
        "the sum of what a lost GPU leaves is counted for each that is left",
        facts(
            memory=replace(verdict(mib=4 * 14910, count=4), reason=Reason.GPU_LOST, count=5, mib=4 * 14910),
            taints=STARTUP,
        ),
        SharingReason.SWITCHING,
        "14910 MiB in slices of 4096",
        holds="until the device plugin offers 15",
        policy=BY_MEMORY,
        label="ts-3",
    ),
    Row(
        "memory for fewer than two slices is exclusive, and that is said",
        facts(taints=STARTUP),
        SharingReason.SWITCHING,
        "since 14910 MiB make fewer than two slices of 8192",
        holds="until the device plugin offers 1 ",
        policy=policy(MemoryPerSlice(8192)),
        label="exclusive",
        expected=1,
    ),
    Row(
        "memory for more slices than are wanted at most is capped, and that is said",
        facts(taints=STARTUP),
        SharingReason.SWITCHING,
        "14910 MiB in slices of 1024, at most 8",
        holds="until the device plugin offers 8",
        policy=policy(MemoryPerSlice(1024, most=8)),
        label="ts-8",
    ),
    Row(
        "an annotation that cannot be read is rebuilt, and a label that our rules could have set is ours",
        facts(node=replace(facts(label("ts-4"), {GPU: 4}).node, sharing_record=UnreadableRecord("v is missing"))),
        SharingReason.SLICED,
        actions=("Announce", "Announce", "Advertise"),
    ),
    *(
        Row(
            f"an annotation that cannot be read on a label {found} for a rule that says {wanted}: ours is {known}",
            facts(
                node=replace(facts(label(found), taints=STARTUP).node, sharing_record=UnreadableRecord("v is missing"))
            ),
            SharingReason.SWITCHING if known else SharingReason.FOREIGN_LABEL,
            actions=("Announce", "Announce", "Advertise"),
            holds=FOLLOWS if known else "",
            label="ts-4" if known else "",
            policy=SlicingPolicy((SlicingRule(Replicas(4), "dev"), SlicingRule(wanted, "other"))),
        )
        for found, wanted, known in (
            ("exclusive", Exclusive(), True),
            ("exclusive", MemoryPerSlice(4096), True),
            ("ts-16", MemoryPerSlice(4096), True),
            ("ts-16", MemoryPerSlice(4096, most=15), False),
            ("any", Named("any"), True),
            ("ts-2", Replicas(2), True),
            ("ts-2", Replicas(3), False),
        )
    ),
]

RULES = [
    Row(
        name,
        facts(
            {"team": "vision", names.KARPENTER_NODEPOOL: "dev", names.KARPENTER_CAPACITY_TYPE: "spot"},
            {GPU: 4},
        ),
        reason,
        policy=SlicingPolicy((replace(SlicingRule(Replicas(4)), **selector),)),  # type: ignore[arg-type]  # checked
        actions=("Announce", "Advertise") if reason is SharingReason.SLICED else NOTHING,
    )
    for name, selector, reason in [
        ("a rule by label", {"labels": {"team": "vision"}}, SharingReason.SLICED),
        ("a rule by another value of the label", {"labels": {"team": "audio"}}, SharingReason.NO_RULE),
        (
            "a rule by two labels of which one is missing",
            {"labels": {"team": "vision", "a": ""}},
            SharingReason.NO_RULE,
        ),
        ("a rule by type", {"instance_types": frozenset({InstanceType("g4dn.xlarge")})}, SharingReason.SLICED),
        (
            "a rule by another type",
            {"instance_types": frozenset({InstanceType("g4dn.metal")})},
            SharingReason.NO_RULE,
        ),
        ("a rule by family", {"families": frozenset({"g4dn"})}, SharingReason.SLICED),
        ("a rule by the beginning of a family", {"families": frozenset({"g4"})}, SharingReason.NO_RULE),
        ("a rule by model, whatever its capitals", {"gpu_models": frozenset({"t4"})}, SharingReason.SLICED),
        ("a rule by another model", {"gpu_models": frozenset({"T4G"})}, SharingReason.NO_RULE),
        ("a rule by capacity type", {"capacity_types": frozenset({CapacityType.SPOT})}, SharingReason.SLICED),
        (
            "a rule by another capacity type",
            {"capacity_types": frozenset({CapacityType.ON_DEMAND})},
            SharingReason.NO_RULE,
        ),
        ("a rule by NodePool", {"node_pools": frozenset({"dev", "test"})}, SharingReason.SLICED),
        (
            "a rule all of whose selectors but one hold",
            {"node_pools": frozenset({"dev"}), "families": frozenset({"g5"})},
            SharingReason.NO_RULE,
        ),
    ]
]

ROWS = [*UNDECIDED, *RULES]
