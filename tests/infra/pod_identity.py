"""A mocked AWS that also knows EKS Pod Identity associations, which moto 5.2 lacks (it answers 404 with HTML).

Paths and bodies are those of the EKS API: https://docs.aws.amazon.com/eks/latest/APIReference/
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moto.eks import urls
from moto.server import ThreadedMotoServer

Reply = tuple[int, dict[str, str], str]

_COLLECTION = "{0}/clusters/(?P<name>[^/]+)/pod-identity-associations$"
_ONE = "{0}/clusters/(?P<name>[^/]+)/pod-identity-associations/(?P<id>[^/]+)$"
_JSON = {"Content-Type": "application/json"}
_MISSING = {**_JSON, "x-amzn-ErrorType": "ResourceNotFoundException"}


class Associations:
    """The associations of every cluster, as the EKS API keeps them."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Any]] = {}

    def collection(self, request: Any, url: str, headers: Mapping[str, str]) -> Reply:
        """POST makes one; GET lists them."""
        if request.method == "GET":
            return 200, _JSON, json.dumps({"associations": list(self._kept.values())})
        asked = json.loads(request.get_data(as_text=True))
        cluster = re.findall("/clusters/([^/]+)/", url)[0]
        made = {
            "clusterName": cluster,
            "associationId": f"a-{uuid.uuid4().hex[:17]}",
            "createdAt": 1.0,
            "modifiedAt": 1.0,
            **{key: asked[key] for key in ("namespace", "serviceAccount", "roleArn", "tags") if key in asked},
        }
        region = re.findall(r"Credential=[^/]+/\d+/([^/]+)/", headers["Authorization"])[0]
        made["associationArn"] = (
            f"arn:aws:eks:{region}:123456789012:podidentityassociation/{cluster}/{made['associationId']}"
        )
        self._kept[made["associationId"]] = made
        return 200, _JSON, json.dumps({"association": made})

    def one(self, request: Any, url: str, headers: Mapping[str, str]) -> Reply:
        """GET shows, DELETE removes one."""
        del headers
        known = url.partition("?")[0].rpartition("/")[2]
        found = self._kept.pop(known, None) if request.method == "DELETE" else self._kept.get(known)
        if found is None:
            return 404, _MISSING, json.dumps({"message": f"association {known} is not there"})
        return 200, _JSON, json.dumps({"association": found})


@contextmanager
def mocked_aws() -> Iterator[str]:
    """A moto server on a free port of this machine, with Pod Identity; yields its address."""
    associations = Associations()
    added: dict[str, Callable[..., Reply]] = {_COLLECTION: associations.collection, _ONE: associations.one}
    before = dict(urls.url_paths)
    urls.url_paths.update(added)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    try:
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
        urls.url_paths.clear()
        urls.url_paths.update(before)
