"""What is known of instance types, beyond this process's life? The ConfigMap that holds EC2's answers and findings.

A cache, not a truth: what cannot be written is still known in memory, and asked or probed again after a restart.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeGuard

import anyio

from reconciler.kube import catalog_data
from reconciler.kube import catalog_entries as entries
from reconciler.kube.catalog_config_map import NAME, CatalogConfigMap, Data
from reconciler.kube.catalog_data import CatalogFull, Reading
from reconciler.kube.catalog_entries import ASKED, LEARNED, Asked
from reconciler.kube.fence import Fence
from reconciler.kube.news import News, Seen, Synced, Vanished
from reconciler.kube.trouble import Once, Report, Trouble
from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, SpecAnswer
from reconciler.model.node import InstanceType
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Forbidden, Rejected, Unavailable
from reconciler.runtime.transport import Transport

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
"""What a ConfigMap accepts as a key (apimachinery, IsConfigMapKey); a node's label may hold anything."""


class CatalogStore:
    """`take` is the sink of the ConfigMap's watch. `changed` gets each type whose learned figure is another now."""

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str,
        may_write: Fence | None,
        clock: Clock,
        report: Report,
        builtin: Callable[[InstanceType], SpecAnswer | None],
        row: Callable[[GpuSpec], BuiltinFigure | None],
        changed: Callable[[InstanceType], None] = lambda kind: None,
        valid: timedelta = timedelta(hours=12),
        retry: timedelta = timedelta(minutes=10),
    ) -> None:
        """`row` is the built-in table's word beside an answer of EC2's: it is looked up, and never written down.

        `may_write` None: a dry run, which knows what it hears for its own life and writes nothing.
        """
        self.builtin = builtin
        self._row = row
        self._config_map = None if may_write is None else CatalogConfigMap(transport, namespace, may_write)
        self._clock = clock
        self._report = Once(report)
        self._changed = changed
        self._valid = valid
        self._retry = retry
        self._reading = Reading()
        self._answers: dict[InstanceType, tuple[SpecAnswer, datetime]] = {}
        self._figures: dict[InstanceType, LearnedFigure] = {}
        self._turn = anyio.Lock()

    # --- what is known, without asking anybody

    def spec(self, instance_type: InstanceType) -> SpecAnswer | None:
        """The newest answer, however old: an old one is better than none, and `due` sees to a newer one."""
        if instance_type in self._answers:
            return self._answers[instance_type][0]
        asked = self._reading.asked.get(instance_type)
        return None if asked is None else asked.answer

    def learned(self, instance_type: InstanceType) -> LearnedFigure | None:
        """The newest of what this process found and what is written down."""
        found = (self._figures.get(instance_type), self._reading.learned.get(instance_type))
        return max((figure for figure in found if figure is not None), key=lambda figure: figure.at, default=None)

    def types(self) -> Collection[InstanceType]:
        """Every type that something is known of, beyond the built-in table."""
        return {*self._answers, *self._figures, *self._reading.asked, *self._reading.learned}

    def due(self, instance_type: InstanceType) -> bool:
        """EC2's own answers hold for `valid`; stand-ins for one, for `retry`."""
        now = self._clock.now()
        if instance_type in self._answers:
            answer, at = self._answers[instance_type]
            return not timedelta(0) <= now - at < (self._valid if _from_ec2(answer) else self._retry)
        asked = self._reading.asked.get(instance_type)
        return asked is None or not timedelta(0) <= now - asked.at < self._valid

    # --- news of the ConfigMap

    def take(self, news: News[Data]) -> None:
        match news:
            case Seen(_, data):
                self._read(data)
            case Vanished():
                self._read({})
            case Synced(present):
                if NAME not in present:
                    self._read({})

    def _read(self, data: Data) -> None:
        """Take over what is written; what is written just as we know it need not be kept in memory as well."""
        before, self._reading = self._reading, self._with_rows(catalog_data.read(data))
        after = self._reading
        for key, why in after.unreadable.items():
            self._report(Trouble("ConfigMap", NAME, f"data.{key}: {why}; it is kept aside when its place is needed"))
        self._figures = {kind: found for kind, found in self._figures.items() if after.learned.get(kind) != found}
        self._answers = {
            kind: (answer, at)
            for kind, (answer, at) in self._answers.items()
            if not (kind in after.asked and (after.asked[kind].answer, after.asked[kind].at) == (answer, at))
        }
        for kind in sorted({*before.learned, *after.learned}):
            if before.learned.get(kind) != after.learned.get(kind):
                self._changed(kind)

    def _with_rows(self, reading: Reading) -> Reading:
        asked = dict(reading.asked)
        for kind, one in reading.asked.items():
            if isinstance(one.answer, GpuSpec):
                asked[kind] = replace(one, answer=replace(one.answer, builtin=self._row(one.answer)))
        return replace(reading, asked=asked)

    # --- what is new

    async def learn(self, figure: LearnedFigure) -> None:
        """Write down and know what a probe found, unless just that is known. Raises Unavailable, Stale, NotLeader.

        Known only when it is written, or will not be: what is known is no news, and would not be taught again.
        """
        kind = figure.instance_type
        known = self.learned(kind)
        if known is not None and replace(known, at=figure.at) == figure:
            figure = known
        if figure != self._reading.learned.get(kind):
            await self._keep({LEARNED + kind: entries.write_learned(figure)})
        if figure != self.learned(kind):
            self._figures[kind] = figure
            self._changed(kind)

    async def remember(self, answers: Sequence[SpecAnswer]) -> None:
        """Know these answers from now on, and write EC2's own ones down. Raises Stale and NotLeader."""
        now = self._clock.now()
        new: dict[str, str] = {}
        for answer in answers:
            self._answers[answer.instance_type] = (answer, now)
            if _from_ec2(answer):
                new[ASKED + answer.instance_type] = entries.write_asked(Asked(answer, now))
        try:
            await self._keep(new)
        except Unavailable as error:
            self._in_memory_only(error)

    async def _keep(self, new: Mapping[str, str]) -> None:
        """Write these entries. That there is no right or no room to is told, and no reason to stop."""
        if self._config_map is None:
            return
        new = {key: text for key, text in new.items() if _KEY.fullmatch(key)}
        try:
            async with self._turn:
                await self._config_map.put(new)
        except (Forbidden, Rejected, CatalogFull) as error:
            self._in_memory_only(error)

    def _in_memory_only(self, error: Exception) -> None:
        self._report(Trouble("ConfigMap", NAME, f"{error}; until it can be written, this is known in memory only"))


def _from_ec2(answer: SpecAnswer) -> TypeGuard[GpuSpec | NoGpu]:
    """Whether EC2 itself said so, and not the built-in table in its place."""
    if isinstance(answer, NoGpu):
        return not answer.not_asked_because
    return isinstance(answer, GpuSpec) and answer.ec2_mib is not None
