"""Which GPUs does EC2 say instance types have? Asked for exactly the types that are there, a hundred at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from reconciler.aws.builtin import Builtin, family_of
from reconciler.aws.parse import spec
from reconciler.aws.session import Refused
from reconciler.model.gpu import SpecAnswer, SpecUnknown
from reconciler.model.node import InstanceType

T = TypeVar("T")

BATCH = 100
"""EC2's limit for InstanceTypes in one call."""


class Caller(Protocol):
    """What is needed of AwsSession."""

    async def call(self, service: str, use: Callable[[Any], T]) -> T: ...


class Ec2InstanceTypes:
    """Answers for every type, always: from EC2, else from the built-in table with the reason why EC2 did not say."""

    def __init__(self, session: Caller, builtin: Builtin) -> None:
        self._session = session
        self._builtin = builtin

    async def describe(self, instance_types: Sequence[InstanceType]) -> Sequence[SpecAnswer]:
        """One answer for each type, in their order. Raises Unavailable only for throttling and faults of AWS's."""
        kinds = dict.fromkeys(instance_types)
        answers: dict[InstanceType, SpecAnswer] = {kind: _foreign(kind) for kind in kinds if family_of(kind) is None}
        ours = [kind for kind in kinds if kind not in answers]
        for start in range(0, len(ours), BATCH):
            answers.update(await self._ask(ours[start : start + BATCH]))
        return [answers[kind] for kind in instance_types]

    async def _ask(self, batch: Sequence[InstanceType]) -> Mapping[InstanceType, SpecAnswer]:
        try:
            entries = await self._session.call("ec2", lambda client: _describe(client, batch))
        except Refused as refusal:
            return {kind: self._builtin.answer_or_unknown(kind, str(refusal)) for kind in batch}
        answers = {kind: self._builtin.answer_or_unknown(kind, _not_known(kind)) for kind in batch}
        for entry in entries:
            kind = InstanceType(str(entry.get("InstanceType", "")))
            if kind in answers:
                answers[kind] = spec(entry, self._builtin)
        return answers


class TableOnly:
    """For runs that must not ask EC2: the built-in table and one reason for all."""

    def __init__(self, builtin: Builtin, because: str) -> None:
        self._builtin = builtin
        self._because = because

    async def describe(self, instance_types: Sequence[InstanceType]) -> Sequence[SpecAnswer]:
        return [
            _foreign(kind) if family_of(kind) is None else self._builtin.answer_or_unknown(kind, self._because)
            for kind in instance_types
        ]


def _describe(client: Any, batch: Sequence[InstanceType]) -> list[Mapping[str, Any]]:
    """All entries that the region has of these types.

    One unknown or retired type fails the whole batch. The names in the message are prose, so the second try does not
    read them: it asks by filter, which leaves out what it does not find.
    """
    from botocore.exceptions import ClientError

    from reconciler.aws.refusals import UNKNOWN_TYPE, code_of

    try:
        # Without MaxResults: other EC2 calls refuse it beside ids.
        return list(_pages(client, InstanceTypes=list(batch)))
    except ClientError as error:
        if code_of(error) not in UNKNOWN_TYPE:
            raise
        return list(_pages(client, Filters=[{"Name": "instance-type", "Values": list(batch)}]))


def _pages(client: Any, **arguments: Any) -> Iterator[Mapping[str, Any]]:
    token: Mapping[str, str] = {}
    while True:
        page = client.describe_instance_types(**arguments, **token)
        yield from page.get("InstanceTypes", [])
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}


def _foreign(kind: InstanceType) -> SpecUnknown:
    return SpecUnknown(
        kind,
        f"{kind!r} is no EC2 instance type: the node is not EC2's, or somebody set its label "
        "node.kubernetes.io/instance-type by hand",
    )


def _not_known(kind: InstanceType) -> str:
    return f"EC2 does not know {kind} in this region (retired, or not offered here)"
