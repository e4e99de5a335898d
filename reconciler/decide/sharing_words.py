"""What must be done so that the node says what was decided on its sharing? Only differences: a true node rests."""

from datetime import datetime, timedelta

from reconciler.decide import fencing
from reconciler.decide.fencing import Fencing
from reconciler.decide.sharing_answer import FOLLOWS, UNSAID, WARNINGS, Answer, Voice
from reconciler.model import names, sharing_record
from reconciler.model.node import Condition, NodeView
from reconciler.model.plan import Action, Advertise, Announce, RestartPlugin
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing_record import SharingRecord


def actions(answer: Answer, node: NodeView, now: datetime, fence_for: timedelta) -> tuple[Action, ...]:
    """What to do now. Taints have a pass of their own: a patch of the status moves the version that they need."""
    if answer.voice is Voice.NONE:
        return ()
    if answer.fence is not None:
        return (fencing.put(node, answer.fence),)
    words = _words(answer, node, now) if answer.voice is Voice.ALL else ()
    if words:
        return words
    stands = fencing.of(node.taints, now, fence_for)
    needless = stands is Fencing.OVER or (stands is Fencing.STANDS and not answer.keeps_fence)
    return (fencing.clear(node),) if needless else ()


def _words(answer: Answer, node: NodeView, now: datetime) -> tuple[Action, ...]:
    standing = node.sharing_condition
    said = answer.reason not in UNSAID
    condition = _condition(answer, node, now) if said else None
    dropped = names.SHARING_CONDITION if not said and standing is not None else ""
    annotations = _annotation(answer.record, node)
    labels = {names.PLUGIN_CONFIG: answer.label} if answer.label else {}
    resources: dict[str, int | None] = {answer.removes: None} if answer.removes else {}
    found: list[Action] = []
    if dropped or (condition is not None and (standing is None or standing.reason != condition.reason)):
        found.append(Announce(node.key, answer.reason, answer.because, warning=answer.reason in WARNINGS))
    if isinstance(node.sharing_record, UnreadableRecord):
        rebuilt = f"our annotation {names.SHARING_RECORD} could not be read ({node.sharing_record.why}) and is rebuilt"
        found.append(Announce(node.key, answer.reason, rebuilt, warning=True))
    if condition is not None or dropped or annotations or labels or resources:
        found.append(Advertise(node.key, resources, labels, annotations, condition, dropped))
    if answer.restart is not None:
        # After the patch that counts it: whatever fails in between, the budget is spent and not overdrawn.
        found.append(RestartPlugin(node.key, answer.restart.ref))
    return tuple(found)


def _condition(answer: Answer, node: NodeView, now: datetime) -> Condition | None:
    old = node.sharing_condition
    status = "True" if answer.reason in FOLLOWS else "False"
    if old is not None and (old.status, old.reason, old.message) == (status, answer.reason.value, answer.because):
        return None
    since = old.since if old is not None and old.status == status else now
    return Condition(names.SHARING_CONDITION, status, answer.reason.value, answer.because, since)


def _annotation(record: SharingRecord, node: NodeView) -> dict[str, str | None]:
    """An empty record is no annotation."""
    if record == SharingRecord():
        return {names.SHARING_RECORD: None} if node.sharing_record is not None else {}
    text = record.to_json()
    return {} if sharing_record.parse(text) == node.sharing_record else {names.SHARING_RECORD: text}
