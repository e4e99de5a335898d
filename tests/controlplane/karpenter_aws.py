"""What does the real Karpenter for AWS need of AWS, and what is the machine that it bought there?"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fleet import Birth
from tests.controlplane.kubelet import Machine
from tests.controlplane.moto_aws import Shortage
from tests.controlplane.process import Process
from tests.controlplane.user_data import registration
from tests.controlplane.waiting import eventually

REGION = "eu-west-1"
ZONES = ("eu-west-1a", "eu-west-1b")
CLUSTER = "tests"
QUEUE = "karpenter"
AMI = "ami-0a1b2c3d4e5f60718"

_KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_REGION": REGION,
    "NO_PROXY": "127.0.0.1",
}
_IMAGE = {
    "ami_id": AMI,
    "name": "amazon-eks-node-al2023-x86_64-nvidia-1.36-v20261101",
    "description": "EKS-optimized Kubernetes node for tests",
    "owner_id": "602401143452",
    "public": True,
    "virtualization_type": "hvm",
    "architecture": "x86_64",
    "state": "available",
    "platform": None,
    "image_type": "machine",
    "hypervisor": "xen",
    "root_device_name": "/dev/xvda",
    "root_device_type": "ebs",
    "sriov": "simple",
    "creation_date": "2026-11-01T00:00:00.000Z",
}


class Aws:
    """A mocked AWS (see moto_aws.py) with a network, a role, a cluster, a queue, and an EC2NodeClass that names them.

    `families` are the instance families that it sells, in two zones, spot and on-demand.
    """

    program = "karpenter-aws"
    crds = "aws"

    def __init__(self, plane: ControlPlane, folder: Path, families: Sequence[str] = ("g4dn",)) -> None:
        self._plane = plane
        self._families = families
        self._shortages = folder / "no-capacity.json"
        self._amis = folder / "amis.json"
        self._log = folder / "moto.log"
        self._process: Process | None = None
        self.node_class: Json = {}

    def __enter__(self) -> Self:
        self.run_out()
        self._amis.write_text(json.dumps([_IMAGE]))
        argv = [sys.executable, "-m", "tests.controlplane.moto_aws", ",".join(self._families), str(self._shortages)]
        self._process = Process(argv, self._log, {**_KEYS, "MOTO_AMIS_PATH": str(self._amis)})
        self.url = f"http://127.0.0.1:{eventually(self._port, 'the mocked AWS listens', 60)}"
        self.node_class = self._node_class()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.kill()

    def run_out(self, *shortages: Shortage) -> None:
        """Sell none of these any more, until told again."""
        self._shortages.write_text(json.dumps([asdict(one) for one in shortages]))

    def client(self, service: str) -> Any:
        """A boto3 client of this AWS."""
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def interrupt(self, claim: Json) -> None:
        """Tell by EventBridge and the queue that a NodeClaim's spot instance will be taken in two minutes."""
        instance = _instance_id(claim)
        told = {
            "version": "0",
            "id": "12345678-1234-1234-1234-123456789012",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "source": "aws.ec2",
            "account": "123456789012",
            "time": "2026-11-30T12:00:00Z",
            "region": REGION,
            "resources": [f"arn:aws:ec2:{REGION}:123456789012:instance/{instance}"],
            "detail": {"instance-id": instance, "instance-action": "terminate"},
        }
        queue = self.client("sqs")
        queue.send_message(QueueUrl=queue.get_queue_url(QueueName=QUEUE)["QueueUrl"], MessageBody=json.dumps(told))

    def environment(self) -> Mapping[str, str]:
        """No pricing API in moto: Karpenter's own table says what on-demand costs."""
        return {
            **_KEYS,
            "AWS_ENDPOINT_URL": self.url,
            "CLUSTER_NAME": CLUSTER,
            "CLUSTER_ENDPOINT": self._plane.url,
            "INTERRUPTION_QUEUE": QUEUE,
            "ISOLATED_VPC": "true",
        }

    def birth(self, claim: Json) -> Birth:
        """The instance as EC2 describes it; labels and taints are those of its user data."""
        ec2 = self.client("ec2")
        instance_id = _instance_id(claim)
        (reservation,) = ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
        (instance,) = reservation["Instances"]
        told = ec2.describe_instance_attribute(InstanceId=instance_id, Attribute="userData")["UserData"]["Value"]
        (kind,) = ec2.describe_instance_types(InstanceTypes=[instance["InstanceType"]])["InstanceTypes"]
        wanted = registration(base64.b64decode(told).decode())
        zone = instance["Placement"]["AvailabilityZone"]
        # What the cloud controller of EKS adds; all the rest is in the user data.
        cloud = {
            "node.kubernetes.io/instance-type": instance["InstanceType"],
            "topology.kubernetes.io/region": REGION,
            "topology.kubernetes.io/zone": zone,
        }
        gpus = sum(gpu["Count"] for gpu in kind.get("GpuInfo", {}).get("Gpus", []))
        machine = Machine(
            labels={**wanted.labels, **cloud},
            taints=wanted.taints,
            devices={"nvidia.com/gpu": str(gpus)} if gpus else {},
            cpu=kind["VCpuInfo"]["DefaultVCpus"],
            memory=f"{kind['MemoryInfo']['SizeInMiB']}Mi",
            max_pods=int(claim["status"]["capacity"]["pods"]),
            provider_id=f"aws:///{zone}/{instance_id}",
        )
        return Birth(instance["PrivateDnsName"], machine)

    def _port(self) -> int:
        assert self._process is not None
        self._process.check()
        lines = self._log.read_text().splitlines()
        return next((json.loads(line)["port"] for line in lines if line.startswith('{"port"')), 0)

    def _node_class(self) -> Json:
        ec2 = self.client("ec2")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnets = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
            for number, zone in enumerate(ZONES)
        ]
        group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)["GroupId"]
        role = self.client("iam").create_role(RoleName="karpenter-node", AssumeRolePolicyDocument="{}")["Role"]
        self.client("eks").create_cluster(
            name=CLUSTER,
            roleArn=role["Arn"],
            resourcesVpcConfig={"subnetIds": subnets, "securityGroupIds": [group]},
            kubernetesNetworkConfig={"serviceIpv4Cidr": "10.100.0.0/16"},
        )
        self.client("sqs").create_queue(QueueName=QUEUE)
        return {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "default"},
            "spec": {
                "amiFamily": "AL2023",
                "amiSelectorTerms": [{"id": AMI}],
                "role": role["RoleName"],
                "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
                "securityGroupSelectorTerms": [{"id": group}],
            },
        }


def _instance_id(claim: Json) -> str:
    provider_id: str = claim["status"]["providerID"]
    return provider_id.rpartition("/")[2]
