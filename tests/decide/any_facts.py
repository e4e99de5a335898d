"""Any facts and any policy that the doors and the settings can make, for property tests."""

from datetime import timedelta

from hypothesis import strategies as st

from reconciler.decide.facts import CapacityFacts
from reconciler.model import names
from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, SpecUnknown, Vendor
from reconciler.model.node import Condition, InstanceType, NodeKey, NodeName, NodeView, Taint
from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu, Override
from reconciler.model.probe_report import EXIT_CODES, GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.probe_state import NotProbed, Probed, ProbeFailed, Probing
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Contest, Source, UnreadableRecord, parse
from tests.decide.fake_node import NOW

FORMER = "veriff.com/gpu-memory"
FOREIGN = "example.com/fpga"
KINDS = [InstanceType(kind) for kind in ("g4dn.xlarge", "g6.12xlarge", "g9.xlarge")]
RESOURCES = [names.MEMORY_RESOURCE, FORMER]

kinds = st.sampled_from(KINDS)
mibs = st.sampled_from([1, 2861, 14592, 14910, 15360, 16384, 22888, 23034, 91553, 2**22])
counts = st.integers(0, 4)
texts = st.sampled_from(["", "T4", "a text. ", "ein Täxt; \ud800 \n", "NVIDIA ***", "x" * 70])
moments = st.integers(-180, 30).map(lambda minutes: NOW + timedelta(minutes=minutes))
boots = st.sampled_from(["boot-1", "boot-2", ""])
amounts = st.sampled_from([0, 1, 14592 * MIB, 14910 * MIB, 15079 * MIB, 15360 * MIB + 1])


@st.composite
def readings(draw: st.DrawFn, index: int) -> GpuReading:
    """One GPU as probe_report.parse would give it."""
    total = draw(st.none() | st.integers(0, 2**36) | mibs.map(lambda mib: mib * MIB))
    return GpuReading(
        index,
        draw(st.sampled_from(["Tesla T4", "NVIDIA L4", ""]) | texts),
        total=total,
        reserved=None if total is None else draw(st.none() | st.integers(0, total) | st.just(min(total, 450 * MIB))),
        mig=draw(st.sampled_from([None, None, None, (), (MigSlice(4864, 7),)])),
        error=draw(st.sampled_from([None, None, None, *EXIT_CODES])),
    )


reports = st.builds(
    ProbeReport,
    driver=st.sampled_from(["580.1", "470.2"]),
    gpus=counts.flatmap(lambda count: st.tuples(*(readings(index) for index in range(count)))),
    error=st.sampled_from([None, None, None, *EXIT_CODES]),
    message=texts,
)
probed = st.builds(Probed, reports, moments)
failed = st.builds(ProbeFailed, st.sampled_from(list(ProbeReason)), texts | st.just("long " * 300), moments)
probes = st.builds(NotProbed) | st.builds(Probing, moments, texts) | probed | failed

rows = st.builds(
    BuiltinFigure,
    kinds,
    st.just("T4"),
    st.just(Vendor.NVIDIA),
    counts,
    st.none() | mibs,
    st.none() | mibs,
    st.just("a source"),
)
gpu_specs = st.builds(
    GpuSpec,
    kinds,
    st.sampled_from(["T4", "L4", "NVIDIA", ""]) | texts,
    st.sampled_from([Vendor.NVIDIA, Vendor.NVIDIA, Vendor.NVIDIA, *Vendor]),
    counts,
    st.none() | mibs,
    st.none() | rows,
    st.sampled_from([1.0, 0.125]),
    texts,
)
specs = st.none() | gpu_specs | gpu_specs | st.builds(NoGpu, kinds, texts) | st.builds(SpecUnknown, kinds, texts)
learned = st.none() | st.builds(
    LearnedFigure, kinds, texts, counts, mibs, st.integers(-5, 20000), st.just("580.1"), moments
)
records = (
    st.none()
    | st.builds(UnreadableRecord, texts)
    | st.builds(
        CapacityRecord,
        st.sampled_from([*RESOURCES, FOREIGN, "cpu", "nvidia.com/gpu"]),
        st.none() | mibs | st.integers(-5, 5),
        st.sampled_from(list(Source)),
        st.sampled_from(["T4", "L4", ""]),
        counts,
        st.none() | mibs,
        boots,
        st.none() | probed | failed,
        st.none() | st.builds(Contest, st.integers(-1, 9), moments),
        st.integers(0, 3),
        st.none() | moments,
    ).map(lambda record: parse(record.to_json()))
)
conditions = st.none() | st.builds(
    Condition,
    st.just(names.CONDITION),
    st.sampled_from(["True", "False", "Unknown"]),
    st.sampled_from(list(Reason)).map(str) | texts,
    texts,
    moments,
)
LABELS = {
    names.KARPENTER_NODEPOOL: ["gpu"],
    names.KARPENTER_REGISTERED: ["true"],
    names.KARPENTER_PROVISIONER: ["gpu"],
    names.GPU_PRESENT: ["true", "false"],
    names.MIG_CONFIG: ["all-disabled", "all-1g.5gb"],
    names.MIG_CONFIG_STATE: ["success", "pending"],
    names.LABEL_MODEL: ["T4", "a-lie"],
    names.LABEL_MEMORY_MIB: ["15360"],
    names.LABEL_COUNT: ["1", "9"],
    names.LABEL_SOURCE: ["nvml", "none"],
    "team": ["vision"],
    "nvidia.com/gpu.product": ["Tesla-T4"],
}
labels = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in LABELS.items()})
resources = st.fixed_dictionaries(
    {"cpu": st.just(4000), "pods": st.just(29)},
    optional={
        names.MEMORY_RESOURCE: amounts,
        FORMER: amounts,
        FOREIGN: amounts,
        names.GPU_RESOURCE: st.integers(0, 4),
        names.GPU_SHARED_RESOURCE: st.integers(0, 4),
        "nvidia.com/mig-1g.5gb": st.sampled_from([0, 0, 0, 7]),
    },
)
taints = st.lists(
    st.builds(
        Taint,
        st.sampled_from([names.STARTUP_TAINT, "special", names.KARPENTER_DISRUPTED_TAINT]),
        st.sampled_from(["NoSchedule", "NoExecute"]),
        st.none() | texts,
        st.none() | st.just("2026-01-01T00:00:00Z"),
    ),
    max_size=3,
).map(tuple)
nodes = st.builds(
    NodeView,
    key=st.just(NodeKey(NodeName("ip-10-0-0-1"), "uid-1")),
    instance_type=st.none() | kinds,
    boot_id=boots,
    ready=st.booleans(),
    created=st.just(NOW),
    labels=labels,
    taints=taints,
    capacity=resources,
    allocatable=resources,
    condition=conditions,
    record=records,
    deleting=st.sampled_from([False] * 9 + [True]),
    resource_version=st.just("7"),
)
facts = st.builds(
    CapacityFacts,
    node=nodes,
    spec=specs,
    builtin=specs,
    learned=learned,
    probe=probes,
    requested=st.sampled_from([0, 0, 1, 104 * MIB, 14592 * MIB, 20000 * MIB]),
)
overrides = st.builds(
    Override,
    st.none() | st.sampled_from([1, 14000, 99999]),
    st.none() | st.integers(0, 2000),
    st.none() | st.floats(0, 50),
)
policies = st.builds(
    CapacityPolicy,
    resource=st.sampled_from(RESOURCES),
    margin_mib=st.sampled_from([0, 0, 30, 20000]),
    margin_percent=st.floats(0, 50),
    provisional_margin_mib=st.sampled_from([0, 512, 20000]),
    provisional_margin_percent=st.floats(0, 50),
    tolerance_percent=st.floats(0, 50),
    multi_gpu=st.sampled_from(list(MultiGpu)),
    existing_value=st.sampled_from(list(ExistingValue)),
    overrides=st.dictionaries(kinds, overrides, max_size=2),
    probe=st.booleans(),
    contest_limit=st.integers(1, 6),
)
