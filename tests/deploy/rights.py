"""May a ServiceAccount do this, by these manifests? Kubernetes' RBAC rules, as far as our manifests use them.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.deploy.objects import Object


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that somebody may try; the fields are those of a SubjectAccessReview.

    `resource` may carry a subresource (`pods/exec`); no namespace means cluster-wide; no name means any or none.
    """

    verb: str
    group: str
    resource: str
    namespace: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.group + '/' if self.group else ''}{self.resource} {self.name or ''}{where}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that holds in `namespace`, or everywhere when that is None."""

    namespace: str | None
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...]

    def allows(self, attempt: Attempt) -> bool:
        return (
            self.namespace in (None, attempt.namespace)
            and _matches(self.groups, attempt.group)
            and _matches(self.resources, attempt.resource)
            and _matches(self.verbs, attempt.verb)
            and (not self.names or attempt.name in self.names)
        )


def _matches(allowed: tuple[str, ...], asked: str) -> bool:
    return "*" in allowed or asked in allowed


def rules(objects: Iterable[Object], account: tuple[str, str]) -> Iterator[Rule]:
    """Every rule that bindings give to the ServiceAccount (namespace, name)."""
    found = list(objects)
    roles = {(one.kind, one.namespace, one.name): one.body["rules"] for one in found if one.kind.endswith("Role")}
    for binding in found:
        if not binding.kind.endswith("RoleBinding"):
            continue
        subjects = [(subject.get("namespace"), subject["name"]) for subject in binding.body["subjects"]]
        if account not in subjects:
            continue
        role = binding.body["roleRef"]
        home = binding.namespace if role["kind"] == "Role" else None
        for rule in roles[role["kind"], home, role["name"]]:
            yield _rule(binding.namespace, rule)


def _rule(namespace: str | None, rule: dict[str, Any]) -> Rule:
    return Rule(
        namespace=namespace,
        groups=tuple(rule["apiGroups"]),
        resources=tuple(rule["resources"]),
        verbs=tuple(rule["verbs"]),
        names=tuple(rule.get("resourceNames", ())),
    )
