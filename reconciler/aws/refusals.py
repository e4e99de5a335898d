"""Why did AWS not answer, and what can be done about it? From botocore's exceptions to a sentence or Unavailable.

`Unavailable` is for what passes by itself within minutes (throttling, a fault of AWS's). All else needs a person, or
at least more time than a node has: then the built-in table answers and the sentence says why.
"""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    InvalidRegionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)
from botocore.exceptions import (
    ConnectionError as UnreachableError,
)
from botocore.parsers import ResponseParserError

from reconciler.aws.session import Refused
from reconciler.runtime.errors import Unavailable

UNKNOWN_TYPE = frozenset({"InvalidInstanceType", "InvalidInstanceType.NotFound"})
"""The whole batch fails for one type that the region does not know."""

# EC2 API guide, "Error codes": throttling carries several names, and not all of them come with status 503.
_THROTTLED = frozenset(
    {
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionInProgressException",
        "BandwidthLimitExceeded",
        "SlowDown",
    }
)
_FORBIDDEN = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
_BAD_CREDENTIALS = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IDPCommunicationError",
        "IDPRejectedClaim",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidIdentityToken",
        "MissingAuthenticationToken",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def translate(error: ClientError | BotoCoreError | ResponseParserError) -> Refused | Unavailable:
    """What is to be raised instead."""
    if isinstance(error, ClientError):
        return _of_answer(error)
    match error:
        case NoCredentialsError() | PartialCredentialsError() | CredentialRetrievalError() | ProfileNotFound():
            why = f"the controller has no AWS credentials ({error}): give its service account a role by EKS Pod "
            return Refused(why + "Identity or IRSA, or switch the look-up off (settings: aws.enabled)")
        case NoRegionError() | InvalidRegionError():
            return Refused(f"no AWS region is known ({error}): set it (settings: aws.region)")
        case ResponseParserError():  # not a BotoCoreError; botocore itself says that a later try may succeed
            return Unavailable(f"what came back was not AWS's (a proxy or load balancer in between?): {error}")
        case HTTPClientError() | UnreachableError():
            why = f"AWS cannot be reached from here ({error}): allow it in the network policy, or add a VPC endpoint "
            return Refused(why + "(settings: aws.endpoint_url)")
        case _:
            return Refused(f"the AWS client failed ({type(error).__name__}: {error})")


def _of_answer(error: ClientError) -> Refused | Unavailable:
    code = code_of(error)
    words = str(error.response.get("Error", {}).get("Message", ""))
    call = error.operation_name
    about = error.response.get("ResponseMetadata", {})
    if code in _THROTTLED or int(about.get("HTTPStatusCode") or 0) >= 500:
        return Unavailable(f"AWS asks for patience with {call} ({code}: {words})", _wish(about.get("HTTPHeaders", {})))
    if code in _FORBIDDEN:
        if call == "DescribeInstanceTypes":
            return Refused(f"the controller's role lacks the right ec2:DescribeInstanceTypes ({code}): grant it")
        return Refused(f"AWS refuses {call} ({code}: {words}): check the trust policy of the controller's role")
    if code in _BAD_CREDENTIALS:
        return Refused(f"AWS does not accept the controller's credentials ({call}: {code}: {words}): renew them")
    return Refused(f"AWS refuses {call} ({code}: {words})")


def _wish(headers: dict[str, str]) -> float | None:
    """Seconds, where the answer names them."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None
