"""A mocked AWS that Karpenter can buy machines from: moto's server with its gaps in EC2 closed.

    MOTO_AMIS_PATH=amis.json python -m tests.controlplane.moto_aws g4dn,g5 no-capacity.json

prints {"port": N} once it listens on the loopback. The first argument is the instance families that exist: all of
moto's 1,377 types make answers of 5.8 MB. The second is a file that says what cannot be bought now (`Shortage`); it
is read at each CreateFleet. What moto 5.2 gets wrong or lacks, and this adds:

- CreateFleet starts instances in the default security group, which Karpenter takes for drift, and replaces them;
- it takes the first override, whatever it costs, and never runs out of capacity;
- instances have no SpotInstanceRequestId, by which Karpenter tells spot from on-demand;
- every spot price is 0.00001, and instances have no zone id.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import instance_types, instances
from moto.ec2.responses.fleets import Fleets
from moto.ec2.responses.spot_instances import SpotInstances
from moto.ec2.utils import convert_tag_spec, random_fleet_id, random_spot_request_id
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

_SPOT_PRICE_OF_A_CORE = 0.03  # dollars an hour; on-demand, in Karpenter's own table, is above 0.1


@dataclass(frozen=True, slots=True)
class Shortage:
    """What cannot be bought; an empty text means "any"."""

    capacity_type: str = ""
    zone: str = ""
    instance_type: str = ""

    def covers(self, offer: Offer) -> bool:
        """Whether this offer cannot be bought."""
        pairs = [
            (self.capacity_type, offer.capacity_type),
            (self.zone, offer.zone),
            (self.instance_type, offer.instance_type),
        ]
        return all(short in ("", offered) for short, offered in pairs)


@dataclass(frozen=True, slots=True)
class Offer:
    """One override of a CreateFleet request, with the template that it overrides."""

    capacity_type: str
    zone: str
    instance_type: str
    template: Any
    answer: Any

    def price(self) -> float:
        """By cores; in each further zone a little more."""
        return price(self.instance_type, self.zone)


def price(instance_type: str, zone: str) -> float:
    """Dollars an hour on the spot market."""
    cores: int = instance_types.INSTANCE_TYPES[instance_type]["VCpuInfo"]["DefaultVCpus"]
    return cores * _SPOT_PRICE_OF_A_CORE * (1 + (ord(zone[-1]) - ord("a")) / 100)


def keep_families(families: set[str]) -> None:
    """Forget all instance types of other families."""
    known = instance_types.INSTANCE_TYPES
    for name in [name for name in known if name.split(".")[0] not in families]:
        del known[name]
    described = instance_types.InstanceTypeBackend.instance_types
    described[:] = [one for one in described if one["InstanceType"] in known]
    for regions in instance_types.INSTANCE_TYPE_OFFERINGS.values():
        for region, offered in regions.items():
            regions[region] = [one for one in offered if one["InstanceType"] in known]


def close_gaps(shortages: Path) -> None:
    """Put the missing behaviour into moto."""

    def create_fleet(self: Any) -> ActionResult:
        self.error_on_dryrun()
        short = [Shortage(**one) for one in json.loads(shortages.read_text())]
        answer: dict[str, Any] = {"FleetId": random_fleet_id(), "Instances": [], "Errors": []}
        for offer in sorted(_offers(self), key=Offer.price):
            if any(one.covers(offer) for one in short):
                answer["Errors"].append(_refusal(offer))
            else:
                answer["Instances"].append(_launch(self, offer))
                break
        return ActionResult(answer)

    def describe_spot_price_history(self: Any) -> ActionResult:
        offered = self.ec2_backend.describe_spot_price_history(
            self._get_param("InstanceTypes", []), self._filters_from_querystring()
        )
        return ActionResult({"SpotPriceHistory": [_spot_price(one) for one in offered]})

    # A server of its own, with nothing else in its process: replacing moto's methods is how it is extended.
    Fleets.create_fleet = create_fleet  # type: ignore[method-assign]  # see above
    SpotInstances.describe_spot_price_history = describe_spot_price_history  # type: ignore[method-assign]  # see above
    instances.Instance.spot_instance_request_id = None  # type: ignore[attr-defined]  # what is serialized if it is there


def _offers(request: Any) -> Iterator[Offer]:
    capacity_type = request._get_param("TargetCapacitySpecification")["DefaultTargetCapacityType"]
    for config in request._get_param("LaunchTemplateConfigs", []):
        specification = config["LaunchTemplateSpecification"]
        if name := specification.get("LaunchTemplateName"):
            template = request.ec2_backend.get_launch_template_by_name(name)
        else:
            template = request.ec2_backend.get_launch_template(specification["LaunchTemplateId"])
        for override in config["Overrides"]:
            zone = request.ec2_backend.get_subnet(override["SubnetId"]).availability_zone
            told = {**override, "AvailabilityZone": zone}
            answer = {"LaunchTemplateSpecification": specification, "Overrides": told}
            yield Offer(capacity_type, zone, override["InstanceType"], template.latest_version().data, answer)


def _launch(request: Any, offer: Offer) -> dict[str, Any]:
    specification = request._get_param("TargetCapacitySpecification")
    tags = convert_tag_spec(request._get_param("TagSpecifications", []))
    override = offer.answer["Overrides"]
    reservation = request.ec2_backend.run_instances(
        image_id=override.get("ImageId") or offer.template["ImageId"],
        count=int(specification["TotalTargetCapacity"]),
        user_data=offer.template.get("UserData"),
        security_group_names=[],
        security_group_ids=_security_groups(offer.template),
        instance_type=offer.instance_type,
        is_instance_type_default=False,
        subnet_id=override["SubnetId"],
        tags=tags,
        region_name=request.region,
        lifecycle="spot" if offer.capacity_type == "spot" else None,
    )
    for instance in reservation.instances:
        if offer.capacity_type == "spot":
            instance.spot_instance_request_id = random_spot_request_id()
    return {
        "Lifecycle": offer.capacity_type,
        "InstanceIds": [instance.id for instance in reservation.instances],
        "InstanceType": offer.instance_type,
        "LaunchTemplateAndOverrides": offer.answer,
    }


def _security_groups(template: dict[str, Any]) -> list[str]:
    """Of the template itself, or of its first network interface."""
    interfaces = template.get("NetworkInterfaces") or [{}]
    groups: list[str] = template.get("SecurityGroupIds") or interfaces[0].get("Groups") or []
    assert groups, f"the launch template names no security group: {sorted(template)}"
    return groups


def _refusal(offer: Offer) -> dict[str, Any]:
    return {
        "ErrorCode": "InsufficientInstanceCapacity",
        "ErrorMessage": "We currently do not have sufficient capacity in the Availability Zone you requested.",
        "Lifecycle": offer.capacity_type,
        "LaunchTemplateAndOverrides": offer.answer,
    }


def _spot_price(offered: dict[str, str]) -> dict[str, str]:
    return {
        "InstanceType": offered["InstanceType"],
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": f"{price(offered['InstanceType'], offered['Location']):.6f}",
        "AvailabilityZone": offered["Location"],
        "Timestamp": "2026-01-02T15:04:05Z",
    }


def main(families: str, shortages: str) -> None:
    """Serve until killed."""
    keep_families(set(families.split(",")))
    close_gaps(Path(shortages))
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    sys.stdout.write(json.dumps({"port": server.server_port}) + "\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
