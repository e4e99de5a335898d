"""How is another role assumed on top of the pod's own credentials? Rarely needed: a catalog account, say."""

from typing import Any

import botocore.session
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    DeferredRefreshableCredentials,
)

SESSION_NAME = "gpu-reconciler"


def session(role_arn: str, region: str | None) -> Any:
    """A botocore session whose credentials are the role's, fetched when first used and renewed before they expire."""
    own = botocore.session.get_session()
    if region is not None:
        own.set_config_variable("region", region)
    assumed = botocore.session.get_session()
    assumed.register_component("credential_provider", CredentialResolver([_AssumedRole(own, role_arn)]))
    return assumed


class _AssumedRole(CredentialProvider):  # type: ignore[misc] # botocore has no types
    METHOD = "assume-role"

    def __init__(self, own: Any, role_arn: str) -> None:
        super().__init__()
        self._own = own
        self._role_arn = role_arn

    def load(self) -> Any:
        """None, which botocore reports as missing credentials, when the pod has none of its own."""
        source = self._own.get_credentials()
        if source is None:
            return None
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=self._own.create_client,
            source_credentials=source,
            role_arn=self._role_arn,
            extra_args={"RoleSessionName": SESSION_NAME},
        )
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)
