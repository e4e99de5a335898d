"""aws/instance_types.py: one answer for every type, whatever EC2 does."""

from collections.abc import Callable
from typing import Any, TypeVar

import botocore.session
import pytest
from botocore.stub import Stubber

from reconciler.aws.builtin import builtin
from reconciler.aws.instance_types import Ec2InstanceTypes, TableOnly
from reconciler.aws.session import AwsSession
from reconciler.controllers.ports import TypeSource
from reconciler.model.gpu import GpuSpec, NoGpu, SpecUnknown
from reconciler.model.node import InstanceType
from reconciler.runtime.errors import Unavailable
from tests.aws import ec2_double

T = TypeVar("T")
pytestmark = pytest.mark.anyio


def kinds(*names: str) -> list[InstanceType]:
    return [InstanceType(name) for name in names]


def source(url: str, **settings: Any) -> TypeSource:
    session = AwsSession(region="us-east-1", endpoint_url=url, **{"max_attempts": 1, "timeout": 5.0, **settings})
    return Ec2InstanceTypes(session, builtin())


class Stubbed:
    """A session whose client answers from a script of botocore's own, which checks both shapes."""

    def __init__(self) -> None:
        self._client = botocore.session.get_session().create_client("ec2", region_name="us-east-1")
        self.script = Stubber(self._client)

    async def call(self, service: str, use: Callable[[Any], T]) -> T:
        assert service == "ec2"
        with self.script:
            return use(self._client)


def entry(name: str, **gpu: Any) -> dict[str, Any]:
    whole = {"Name": "L4", "Manufacturer": "NVIDIA", "Count": 1, "MemoryInfo": {"SizeInMiB": 22888}, **gpu}
    return {"InstanceType": name, "GpuInfo": {"Gpus": [whole]}}


async def test_moto_describes_every_kind_of_type(moto_url: str) -> None:
    asked = kinds("g5.12xlarge", "m5.large", "g6f.large", "inf2.xlarge", "f2.6xlarge", "vt1.3xlarge", "p4d.24xlarge")
    answers = await source(moto_url).describe(asked)

    assert [answer.instance_type for answer in answers] == asked
    a10g, cpu, slice_of, neuron, fpga, media, a100 = answers
    assert isinstance(a10g, GpuSpec)
    assert (a10g.model, a10g.count, a10g.ec2_mib) == ("A10G", 4, 22888)
    assert cpu == NoGpu(InstanceType("m5.large"))
    assert isinstance(slice_of, GpuSpec)
    assert (slice_of.count, slice_of.ec2_mib, slice_of.partition) == (1, 2861, 0.125)
    assert [item.accelerator for item in (neuron, fpga, media) if isinstance(item, NoGpu)] == [
        "AWS Inferentia",
        "Xilinx FPGA",
        "Xilinx U30",
    ]
    assert isinstance(a100, GpuSpec)
    assert a100.count == 8


async def test_a_retired_and_an_invented_type_do_not_cost_the_others_their_answers(moto_url: str) -> None:
    retired, invented, living = await source(moto_url).describe(kinds("p2.xlarge", "g99.large", "g5.xlarge"))

    assert isinstance(retired, GpuSpec)
    assert (retired.ec2_mib, retired.count) == (None, 1)
    assert "retired, or not offered here" in retired.not_asked_because
    assert isinstance(invented, SpecUnknown)
    assert "EC2 does not know g99.large" in invented.why
    assert isinstance(living, GpuSpec)
    assert (living.ec2_mib, living.not_asked_because) == (22888, "")


async def test_more_than_a_hundred_types_are_asked_in_batches(session: AwsSession, ec2: ec2_double.Double) -> None:
    names = [f"g99.{number}xlarge" for number in range(230)]

    def answer(request: ec2_double.Request) -> ec2_double.Answer:
        return ec2_double.gpu_types(*request.values("InstanceType"))

    ec2.rule = answer
    answers = await Ec2InstanceTypes(session, builtin()).describe(kinds(*names))

    assert [len(request.values("InstanceType")) for request in ec2.requests] == [100, 100, 30]
    assert all("MaxResults" not in request.form for request in ec2.requests)
    assert [answer.instance_type for answer in answers] == names
    assert all(isinstance(answer, GpuSpec) for answer in answers)


async def test_a_type_asked_twice_is_asked_once_and_answered_twice(session: AwsSession, ec2: ec2_double.Double) -> None:
    ec2.rule = ec2_double.always(ec2_double.gpu_types("g4dn.xlarge"))
    answers = await Ec2InstanceTypes(session, builtin()).describe(kinds("g4dn.xlarge", "g4dn.xlarge"))

    assert len(answers) == 2
    assert [request.values("InstanceType") for request in ec2.requests] == [["g4dn.xlarge"]]


async def test_nothing_asked_is_nothing_answered(session: AwsSession, ec2: ec2_double.Double) -> None:
    assert await Ec2InstanceTypes(session, builtin()).describe([]) == []
    assert ec2.requests == []


async def test_an_unknown_type_costs_one_more_call_and_no_third(session: AwsSession, ec2: ec2_double.Double) -> None:
    ec2.rule = ec2_double.in_turn([ec2_double.error("InvalidInstanceType"), ec2_double.gpu_types("g4dn.xlarge")])
    living, unknown = await Ec2InstanceTypes(session, builtin()).describe(kinds("g4dn.xlarge", "g99.large"))

    assert isinstance(living, GpuSpec)
    assert isinstance(unknown, SpecUnknown)
    first, second = ec2.requests
    assert first.values("InstanceType") == ["g4dn.xlarge", "g99.large"]
    assert second.form["Filter.1.Name"] == "instance-type"
    assert second.values("Filter.1.Value") == ["g4dn.xlarge", "g99.large"]


async def test_pages_are_followed_if_ec2_makes_any(session: AwsSession, ec2: ec2_double.Double) -> None:
    ec2.rule = ec2_double.in_turn(
        [ec2_double.gpu_types("g4dn.xlarge", token="more"), ec2_double.gpu_types("g4dn.metal")]
    )
    answers = await Ec2InstanceTypes(session, builtin()).describe(kinds("g4dn.xlarge", "g4dn.metal"))

    assert all(isinstance(answer, GpuSpec) and not answer.not_asked_because for answer in answers)
    assert ec2.requests[1].form["NextToken"] == "more"


async def test_names_that_are_not_ec2s_are_not_asked(session: AwsSession, ec2: ec2_double.Double) -> None:
    ec2.rule = ec2_double.always(ec2_double.gpu_types("g4dn.xlarge"))
    foreign, ours = await Ec2InstanceTypes(session, builtin()).describe(kinds("Standard_NC6s_v3", "g4dn.xlarge"))

    assert isinstance(foreign, SpecUnknown)
    assert "no EC2 instance type" in foreign.why
    assert isinstance(ours, GpuSpec)
    assert ec2.requests[0].values("InstanceType") == ["g4dn.xlarge"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (ec2_double.error("UnauthorizedOperation", status=403), "ec2:DescribeInstanceTypes"),
        (ec2_double.error("AccessDenied", status=403), "ec2:DescribeInstanceTypes"),
        (ec2_double.error("AuthFailure", status=401), "does not accept the controller's credentials"),
        (ec2_double.error("ExpiredToken"), "does not accept the controller's credentials"),
        (ec2_double.error("InvalidParameterValue", "strange"), "InvalidParameterValue: strange"),
    ],
)
async def test_where_ec2_may_not_be_asked_the_table_answers_and_says_why(
    session: AwsSession, ec2: ec2_double.Double, answer: ec2_double.Answer, says: str
) -> None:
    ec2.rule = ec2_double.always(answer)
    known, unknown, cpu = await Ec2InstanceTypes(session, builtin()).describe(
        kinds("g4dn.xlarge", "g99.large", "m5.large")
    )

    assert isinstance(known, GpuSpec)
    assert (known.ec2_mib, known.builtin and known.builtin.nvml_mib) == (None, 15360)
    assert says in known.not_asked_because
    assert isinstance(unknown, SpecUnknown)
    assert says in unknown.why
    assert isinstance(cpu, NoGpu)
    assert says in cpu.not_asked_because


@pytest.mark.parametrize(
    ("answer", "after"),
    [
        (ec2_double.error("RequestLimitExceeded", status=503), None),
        (ec2_double.error("RequestLimitExceeded", status=400), None),
        (ec2_double.error("Throttling", status=400, Retry_After="7"), 7.0),
        (ec2_double.error("InternalError", status=500), None),
        (ec2_double.error("Unavailable", status=503, Retry_After="soon"), None),
        (ec2_double.Answer(502, "bad gateway"), None),
        (ec2_double.Answer(200, "<html>a proxy's page"), None),
    ],
)
async def test_what_passes_by_itself_is_asked_again_later(
    session: AwsSession, ec2: ec2_double.Double, answer: ec2_double.Answer, after: float | None
) -> None:
    ec2.rule = ec2_double.always(answer)
    with pytest.raises(Unavailable, match=r"DescribeInstanceTypes|a proxy") as caught:
        await Ec2InstanceTypes(session, builtin()).describe(kinds("g4dn.xlarge"))

    assert caught.value.after == after


async def test_botocore_tries_throttled_calls_again_by_itself() -> None:
    rule = ec2_double.in_turn([ec2_double.error("Throttling"), ec2_double.gpu_types("g4dn.xlarge")])
    with ec2_double.serving(rule) as ec2:
        [answer] = await source(ec2.url, max_attempts=2).describe(kinds("g4dn.xlarge"))

    assert isinstance(answer, GpuSpec)
    assert len(ec2.requests) == 2


async def test_a_server_that_never_answers_is_no_network() -> None:
    with ec2_double.serving(ec2_double.always(None)) as ec2:
        [answer] = await source(ec2.url, timeout=0.2).describe(kinds("g4dn.xlarge"))

    assert isinstance(answer, GpuSpec)
    assert "AWS cannot be reached" in answer.not_asked_because


async def test_a_closed_port_is_no_network() -> None:
    with ec2_double.serving(ec2_double.always(None)) as ec2:
        closed = ec2.url
    [answer] = await source(closed).describe(kinds("g4dn.xlarge"))

    assert isinstance(answer, GpuSpec)
    assert "aws.endpoint_url" in answer.not_asked_because


async def test_without_credentials_the_table_answers_and_says_how_to_get_some(
    no_credentials: pytest.MonkeyPatch, moto_url: str
) -> None:
    [answer] = await source(moto_url).describe(kinds("g4dn.xlarge"))

    assert isinstance(answer, GpuSpec)
    assert "Pod Identity or IRSA" in answer.not_asked_because


async def test_odd_entries_that_botocore_itself_accepts() -> None:
    """Answers checked against EC2's own model: no count, two kinds, a total for each GPU, an entry nobody asked for."""
    session = Stubbed()
    two = entry("g98.large")
    two["GpuInfo"]["Gpus"].append({**two["GpuInfo"]["Gpus"][0], "Name": "T4"})
    asked = ["g99.large", "g98.large", "g6.12xlarge", "g97.large"]
    session.script.add_response(
        "describe_instance_types",
        {
            "InstanceTypes": [
                entry("g99.large", Count=0),
                two,
                entry("g6.12xlarge", Count=4, MemoryInfo={"SizeInMiB": 91553}),
                {"InstanceType": "g97.large", "GpuInfo": {"Gpus": [{"Name": "L4", "Count": 1}]}},
                entry("m5.large"),
                {},
            ]
        },
        {"InstanceTypes": asked},
    )
    uncounted, double, summed, short = await Ec2InstanceTypes(session, builtin()).describe(kinds(*asked))

    assert isinstance(uncounted, GpuSpec)
    assert uncounted.count == 0
    assert isinstance(double, SpecUnknown)
    assert isinstance(summed, GpuSpec)
    assert (summed.ec2_mib, summed.builtin and summed.builtin.ec2_mib) == (91553, 22888)
    assert isinstance(short, SpecUnknown)
    assert "MemoryInfo.SizeInMiB is missing" in short.why


async def test_without_ec2_by_choice_the_table_answers_alone() -> None:
    source: TypeSource = TableOnly(builtin(), "the look-up is switched off (settings: aws.enabled)")
    known, unknown, foreign = await source.describe(kinds("g5.xlarge", "g99.large", "k3s"))

    assert isinstance(known, GpuSpec)
    assert known.not_asked_because == "the look-up is switched off (settings: aws.enabled)"
    assert isinstance(unknown, SpecUnknown)
    assert "switched off" in unknown.why
    assert isinstance(foreign, SpecUnknown)
