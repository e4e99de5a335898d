"""Not every node is a plain one: other GPUs, parts of GPUs, many, none, and nodes that do not say what they are."""

from dataclasses import replace

import anyio
import pytest

from reconciler.aws.builtin import builtin
from reconciler.model import names
from reconciler.model.gpu import GpuSpec, Vendor
from reconciler.model.node import InstanceType
from reconciler.model.policy import CapacityPolicy, MultiGpu, Override
from reconciler.model.probe_report import MigSlice
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.nvml_double import A100, L4_3Q, T4
from tests.stories import gpus
from tests.stories.ec2 import Ec2
from tests.stories.gpus import T4_MIB
from tests.stories.stage import Stage, stage
from tests.stories.telling import virtual

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"


def touched(play: Stage) -> list[str]:
    """Our writes, but for what we keep of EC2's answers."""
    return [str(call) for call in play.writes() if "/configmaps" not in call.path]


@virtual
async def test_the_gpu_of_another_maker_is_left_alone_and_its_startup_taint_goes() -> None:
    async with stage() as play:
        await play.join("a", gpus.machine("g4ad.xlarge", gpus=0))
        assert touched(play) == []
        await play.join("b", gpus.machine("g4ad.xlarge", gpus=0, taints=(STARTUP,)))
        assert (play.advertised("b"), play.taints("b")) == (None, [])


@virtual
async def test_an_eighth_of_a_gpu_is_advertised_as_an_eighth() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", gpus.machine("g6f.large"))
        await anyio.sleep(0.4)
        first = play.advertised()
        assert first is not None
        assert first <= L4_3Q.total_mib - L4_3Q.reserved_mib
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (L4_3Q.total_mib - L4_3Q.reserved_mib, "True/Verified")


@virtual
async def test_mig_is_found_by_the_probe_and_nothing_is_advertised() -> None:
    async with stage(policy=CapacityPolicy(multi_gpu=MultiGpu.SUM)) as play:
        play.answers["a"] = gpus.report(A100, 8, mig=(MigSlice(9856, 3), MigSlice(4864, 1)))
        await play.join("a", gpus.machine("p4d.24xlarge", gpus=8))
        assert (play.advertised(), play.reason()) == (None, "False/MIG")


@virtual
async def test_mig_that_the_device_plugin_shows_needs_no_probe() -> None:
    async with stage(policy=CapacityPolicy(multi_gpu=MultiGpu.SUM)) as play:
        machine = replace(gpus.machine("p4d.24xlarge"), devices={"nvidia.com/mig-1g.5gb": 7}, device_delay=0.0)
        await play.join("a", machine)
        assert (play.advertised(), play.reason(), play.jobs()) == (None, "False/MIG", [])


@pytest.mark.parametrize(
    ("policy", "mib", "reason", "labels"),
    [
        (MultiGpu.SKIP, None, "False/MultiGPU", {}),
        (MultiGpu.SUM, 4 * T4_MIB, "True/Verified", {"gpu-count": "4", "gpu-memory-mib": "15360"}),
        (MultiGpu.LARGEST, None, "False/MultiGPU", {"gpu-count": "4", "gpu-memory-mib": "15360"}),
    ],
)
@virtual
async def test_several_gpus_are_advertised_as_the_policy_says(
    policy: MultiGpu, mib: int | None, reason: str, labels: dict[str, str]
) -> None:
    async with stage(policy=CapacityPolicy(multi_gpu=policy)) as play:
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4, taints=(STARTUP,)))
        assert (play.advertised(), play.reason(), play.taints()) == (mib, reason, [])
        assert labels.items() <= play.labels().items()
        await play.quiet(0.2)


@virtual
async def test_a_node_that_says_nothing_of_itself_is_asked_for_its_label() -> None:
    async with stage() as play:
        await play.join("a", replace(gpus.machine(None), provider_id=""))
        assert (play.advertised(), play.reason()) == (None, "False/NoInstanceType")
        assert names.LABEL_INSTANCE_TYPE in play.condition()["message"]

        await play.admin.merge(NODES, "", "a", {"metadata": {"labels": {names.LABEL_INSTANCE_TYPE: "g4dn.xlarge"}}})
        await anyio.sleep(30)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_a_node_without_a_label_or_a_gpu_is_nobodys_business() -> None:
    async with stage() as play:
        await play.join("a", replace(gpus.machine(None, gpus=0), provider_id=""))
        assert touched(play) == []


@virtual
async def test_an_unknown_type_with_an_nvidia_gpu_is_probed_and_believed() -> None:
    async with stage() as play:
        play.answers["a"] = gpus.report(T4)
        await play.sandbox.add_node("a", replace(gpus.machine("g99.xlarge"), device_delay=0.0))
        await anyio.sleep(1.5)
        assert play.advertised() is None
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        play.answers["b"] = gpus.report(T4)
        await play.join("b", gpus.machine("g99.xlarge"))
        assert (play.advertised("b"), play.reason("b")) == (T4_MIB, "True/Verified")
        await play.quiet(0.2)


@virtual
async def test_an_unknown_type_without_a_gpu_is_left_alone() -> None:
    async with stage() as play:
        await play.join("a", gpus.machine("g99.xlarge", gpus=0))
        assert touched(play) == []


def ec2_says(kind: str, *, count: int, mib: int | None, model: str = "T4") -> Ec2:
    row = builtin().row(InstanceType(kind))
    figure = row.figure if row is not None else None
    return Ec2({kind: GpuSpec(InstanceType(kind), model, Vendor.NVIDIA, count, mib, figure)})


@virtual
async def test_ec2s_figure_for_a_type_that_the_table_lacks_is_the_first_guess() -> None:
    async with stage(types=ec2_says("g99.xlarge", count=1, mib=16384)) as play:
        play.answers["a"] = gpus.report(T4)
        await play.sandbox.add_node("a", gpus.machine("g99.xlarge"))
        await anyio.sleep(1)
        first = play.advertised()
        assert first is not None
        assert first < T4_MIB
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_a_count_of_zero_from_ec2_is_no_gpu_lost() -> None:
    async with stage(types=ec2_says("g99.xlarge", count=0, mib=16384)) as play:
        play.answers["a"] = gpus.report(T4)
        await play.join("a", gpus.machine("g99.xlarge"))
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_ec2s_total_in_place_of_the_figure_per_gpu_never_admits_a_pod_too_many() -> None:
    """EC2 has said 91,553 MiB for one L4 of a g6.12xlarge, where 22,888 is right."""
    async with stage(types=ec2_says("g6.xlarge", count=1, mib=91_553, model="L4")) as play:
        seen = []
        await play.sandbox.add_node("a", gpus.machine("g6.xlarge"))
        for _ in range(600):
            seen.append(play.advertised() or 0)
            await anyio.sleep(0.1)
        assert max(seen) == play.advertised() == 23_034 - 512
        assert play.reason() == "True/Mismatch"


@virtual
async def test_a_persons_figure_counts_and_is_never_more_than_nvmls() -> None:
    overrides = {
        InstanceType("g4dn.xlarge"): Override(mib_per_gpu=8_000),
        InstanceType("g5.xlarge"): Override(mib_per_gpu=90_000),
    }
    async with stage(policy=CapacityPolicy(overrides=overrides)) as play:
        await play.join("a")
        await play.join("b", gpus.machine("g5.xlarge"))
        assert (play.advertised("a"), play.reason("a")) == (8_000, "True/Overridden")
        assert (play.advertised("b"), play.reason("b")) == (gpus.A10G_MIB, "True/Overridden")
