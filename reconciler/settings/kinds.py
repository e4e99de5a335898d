"""Which kinds of text do several settings share?"""

NAME = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
"""A DNS-1123 subdomain, near enough: the API server has the last word."""

NAME_RULES = "a Kubernetes object's name: lower-case letters, digits, '-' and '.'"
