"""What does EC2 say about this instance type? Key: the type, asked before its first node joins where possible."""

from collections.abc import Callable, Collection
from datetime import timedelta

from reconciler.controllers.ports import SpecMemory, TypeSource
from reconciler.model.gpu import SpecUnknown
from reconciler.model.node import InstanceType
from reconciler.runtime.worker import Pass


class InstanceTypes:
    """Asks for all types that are due together, so that a fleet costs one call a hundred and not one a type."""

    def __init__(
        self,
        *,
        source: TypeSource,
        memory: SpecMemory,
        answered: Callable[[InstanceType], None],
        again_after: timedelta,
    ) -> None:
        self._source = source
        self._memory = memory
        self._answered = answered
        self._again_after = again_after
        self._wanted: set[InstanceType] = set()

    def want(self, instance_type: InstanceType) -> None:
        """Remember to ask for this type in the next turn of any type."""
        self._wanted.add(instance_type)

    async def reconcile(self, instance_type: InstanceType) -> Pass:
        """One turn: ask for this type and for every other wanted one that is due."""
        if not self._memory.due(instance_type):
            self._wanted.discard(instance_type)
            return Pass(revisit=self._again_after, quiet=True)
        others = sorted(kind for kind in self._wanted if kind != instance_type and self._memory.due(kind))
        batch = (instance_type, *others)
        answers = await self._source.describe(batch)
        await self._memory.remember(answers)
        self._wanted.difference_update(batch)
        for kind in batch:
            self._answered(kind)
        unknown = [answer.instance_type for answer in answers if isinstance(answer, SpecUnknown)]
        return Pass(revisit=self._again_after, notes=_notes(batch, unknown))


def _notes(asked: Collection[InstanceType], unknown: Collection[InstanceType]) -> tuple[tuple[str, object], ...]:
    return (("asked", list(asked)), ("unknown", list(unknown))) if unknown else (("asked", list(asked)),)
