"""Would Kubernetes take this as the name of an extended resource?

The rules are IsExtendedResourceName's (kubernetes: pkg/apis/core/helper/helpers.go): the name has a domain, the domain
is not Kubernetes' own, and the name stays a qualified one when a quota puts `requests.` before it.
"""

import re

_QUOTA_PREFIX = "requests."
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LONGEST_DOMAIN = 253 - len(_QUOTA_PREFIX)
_LONGEST_NAME = 63

RULES = (
    "a domain, a slash and a name, such as example.com/gpu-memory; not below kubernetes.io, not starting with requests."
)


def fault(name: str) -> str | None:
    """What Kubernetes would refuse, as the rest of a sentence; None when the name is good."""
    domain, slash, rest = name.partition("/")
    if not slash or not domain:
        return "has no domain: names without one belong to Kubernetes"
    if "kubernetes.io/" in name:
        return "lies below kubernetes.io, which belongs to Kubernetes"
    if name.startswith(_QUOTA_PREFIX):
        return "starts with requests., which quotas put before a name"
    if not _DOMAIN.fullmatch(domain):
        return f"has a domain {domain!r} that is no lower-case DNS name"
    if len(domain) > _LONGEST_DOMAIN:
        return f"has a domain of {len(domain)} characters; {_LONGEST_DOMAIN} is the most"
    if "/" in rest:
        return "has more than one slash"
    if not _NAME.fullmatch(rest):
        return f"has a name {rest!r} that is not letters, digits, '-', '_' and '.' with a letter or digit at both ends"
    if len(rest) > _LONGEST_NAME:
        return f"has a name of {len(rest)} characters after the slash; {_LONGEST_NAME} is the most"
    return None
