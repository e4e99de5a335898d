"""How is AWS called? One session and one client for each service, made late, used from worker threads of its own.

boto3 costs 0.2 s and 50 MB to import, and its calls block; a controller that never asks EC2 pays for neither, and one
that does keeps its event loop free. Making clients is not thread-safe, using them is.
"""

import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio

from reconciler.aws.threads import in_thread

T = TypeVar("T")

THREADS = 2
"""More would not help: answers are parsed under one interpreter lock."""

_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d+")


class Refused(Exception):
    """AWS cannot be asked for now; the text is a clause that tells why and what to do."""


class AwsSession:
    """The door to AWS. Credentials come from botocore's chain: environment, IRSA, Pod Identity, instance profile."""

    def __init__(
        self,
        *,
        region: str | None = None,
        node_region: Callable[[], str | None] = lambda: None,
        endpoint_url: str | None = None,
        role_arn: str | None = None,
        timeout: float = 10.0,
        max_attempts: int = 3,
    ) -> None:
        """`timeout` in seconds, for connecting and for each answer; `max_attempts` with the first one included.

        `node_region` is the last word on the region: after `region`, AWS_DEFAULT_REGION and instance metadata. It is
        called in a worker thread.
        """
        self._region = region
        self._node_region = node_region
        self._endpoint_url = endpoint_url
        self._role_arn = role_arn
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._making = threading.Lock()
        self._session: Any = None
        self._core: Any = None
        self._metadata_asked = False
        self._clients: dict[str, Any] = {}
        self._limiter = anyio.CapacityLimiter(THREADS)

    async def call(self, service: str, use: Callable[[Any], T]) -> T:
        """`use` with the service's client, in a worker thread.

        Raises Refused when AWS cannot be asked, Unavailable when it can be soon. A cancelled caller does not wait for
        the thread, whose time is limited anyway.
        """
        return await in_thread(lambda: self._in_thread(service, use), self._limiter)

    def _in_thread(self, service: str, use: Callable[[Any], T]) -> T:
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        from reconciler.aws.refusals import translate

        try:
            client = self._client(service)
            self._look_at_credentials()
            return use(client)
        except (ClientError, BotoCoreError, ResponseParserError) as error:
            raise translate(error) from error

    def _client(self, service: str) -> Any:
        from botocore.config import Config

        with self._making:
            if service not in self._clients:
                if self._session is None:
                    self._session = self._make_session()
                config = Config(
                    region_name=self._find_region(),
                    connect_timeout=self._timeout,
                    read_timeout=self._timeout,
                    # botocore's own retries, for throttling and for faults of AWS's; total: the first one included.
                    retries={"mode": "standard", "total_max_attempts": self._max_attempts},
                    max_pool_connections=2 * THREADS,
                )
                self._clients[service] = self._session.client(service, config=config, endpoint_url=self._endpoint_url)
            return self._clients[service]

    def _make_session(self) -> Any:
        import boto3
        import botocore.session

        if self._role_arn is None:
            self._core = botocore.session.get_session()
        else:
            from reconciler.aws.assumed_role import session

            self._core = session(self._role_arn, self._region)
        return boto3.Session(botocore_session=self._core)

    def _look_at_credentials(self) -> None:
        """Credentials come from files and agents, whose troubles botocore passes on as they are. Cheap once they came.

        None at all is left to the call, which says so.
        """
        try:
            credentials = self._core.get_credentials()
            if credentials is not None:
                credentials.get_frozen_credentials()
        except (OSError, ValueError, KeyError) as error:
            raise Refused(
                f"the controller's AWS credentials cannot be read ({type(error).__name__}: {error}): see that its pod "
                "has the token file of EKS Pod Identity or IRSA"
            ) from error

    def _find_region(self) -> str:
        """Raises NoRegionError; the next call looks again, as nodes may have joined by then."""
        from botocore.exceptions import NoRegionError

        if self._region is None:
            self._region = self._session.region_name or self._region_of_instance() or self._node_region()
        if self._region is None:
            raise NoRegionError()
        return self._region

    def _region_of_instance(self) -> str | None:
        """From instance metadata, asked once: where a hop limit or a policy bars it, that costs seconds."""
        if self._metadata_asked:
            return None
        self._metadata_asked = True
        from botocore.utils import IMDSRegionProvider

        place = IMDSRegionProvider(self._core).provide()
        # botocore cuts one letter off the zone, which is not enough in a local zone (us-west-2-lax-1a).
        match = _REGION.match(place or "")
        return match.group() if match else None
