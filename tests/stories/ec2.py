"""What does AWS answer? A source of instance types that counts its calls, and may be slow, silent or wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from reconciler.aws.builtin import builtin
from reconciler.model.gpu import GpuSpec, SpecAnswer
from reconciler.model.node import InstanceType


class Ec2:
    """Answers with the table's own copies of EC2's figures, or with what it is told to say."""

    def __init__(self, says: Mapping[str, SpecAnswer] | None = None, *, seconds: float = 0.5) -> None:
        self.calls: list[tuple[InstanceType, ...]] = []
        self._says = dict(says or {})
        self._seconds = seconds

    async def describe(self, instance_types: Sequence[InstanceType]) -> Sequence[SpecAnswer]:
        self.calls.append(tuple(instance_types))
        await anyio.sleep(self._seconds)
        return [self._says.get(kind) or _as_ec2(kind) for kind in instance_types]


class Silent:
    """Never answers: no route to AWS, and no error either."""

    def __init__(self) -> None:
        self.calls: list[tuple[InstanceType, ...]] = []

    async def describe(self, instance_types: Sequence[InstanceType]) -> Sequence[SpecAnswer]:
        self.calls.append(tuple(instance_types))
        await anyio.sleep_forever()
        raise AssertionError("not reached")


def _as_ec2(kind: InstanceType) -> SpecAnswer:
    answer = builtin().answer_or_unknown(kind, "EC2 does not know it")
    if isinstance(answer, GpuSpec) and answer.builtin is not None:
        return replace(answer, ec2_mib=answer.builtin.ec2_mib, not_asked_because="")
    return answer
