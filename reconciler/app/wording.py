"""How does an action read to a person?"""

from typing import assert_never

from reconciler.model import quantity
from reconciler.model.plan import Action, Advertise, Announce, ClearTaint, Learn, RestartPlugin, RunProbe, SetTaint


def words(action: Action) -> str:
    """One line; the JSON form has every field."""
    match action:
        case Advertise(node, resources, labels, annotations, condition, dropped, second):
            parts = [
                f"remove {name}" if amount is None else f"{name}={quantity.text(amount)}"
                for name, amount in resources.items()
            ]
            parts += [
                f"remove label {name}" if text is None else f"label {name}={text}" for name, text in labels.items()
            ]
            parts += [f"{'remove' if text is None else 'set'} annotation {name}" for name, text in annotations.items()]
            told = [one for one in (condition, second) if one is not None]
            parts += [f"condition {one.type}={one.status} ({one.reason})" for one in told]
            if dropped:
                parts.append(f"remove condition {dropped}")
            return f"patch the status of node {node.name}: {', '.join(parts)}"
        case ClearTaint(node, key):
            return f"remove taint {key} from node {node.name}"
        case SetTaint(node, taint):
            return f"set taint {taint.key}={taint.value or ''}:{taint.effect} on node {node.name}"
        case RestartPlugin(node, pod):
            return f"delete the device plugin's pod {pod.namespace}/{pod.name} on node {node.name}"
        case RunProbe(node, _, _, serial):
            return f"run a probe Job on node {node.name}" + (f" (try {serial + 1})" if serial else "")
        case Learn(figure):
            return f"remember {figure.total_mib} MiB, {figure.reserved_mib} reserved, for {figure.instance_type}"
        case Announce(node, reason, _, warning):
            return f"tell a {'Warning' if warning else 'Normal'} Event {reason.value} on node {node.name}"
        case _:
            assert_never(action)
