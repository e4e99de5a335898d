"""Which names, label keys and label values are well formed? (apimachinery, validation.go)"""

import re

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


def subdomain(name: str) -> bool:
    """A lowercase RFC 1123 subdomain, as nearly all objects are named."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def qualified(name: str) -> bool:
    """`domain/name` or `name`, each within its length: label and annotation keys, resources."""
    domain, slash, last = name.rpartition("/")
    return (not slash or subdomain(domain)) and len(last) <= 63 and _PART.fullmatch(last) is not None


def label_value(value: str) -> bool:
    """Empty, or up to 63 characters."""
    return len(value) <= 63 and (value == "" or _PART.fullmatch(value) is not None)
