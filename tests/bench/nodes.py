"""What nodes does the measured cluster have? JSON as an API server writes it, about 11 KB each."""

from collections.abc import Iterator

from tests.bench.template import Json, Template

TYPES = ("m6i.4xlarge", "c6i.8xlarge", "r6i.4xlarge", "g4dn.xlarge", "g5.2xlarge", "g6.xlarge")
_GPUS = {"g4dn.xlarge": ("t4", "16384"), "g5.2xlarge": ("a10g", "24576"), "g6.xlarge": ("l4", "24576")}


def nodes(count: int) -> Iterator[bytes]:
    """Ready nodes of six types, half of them with GPUs, made by Karpenter."""
    templates = [Template(_template(kind)) for kind in TYPES]
    for index in range(count):
        yield templates[index % len(TYPES)].fill(
            {
                "NODE": f"node-{index:05d}",
                "UID": f"{index:08x}-1d2e-4f5a-8b9c-{index:012x}",
                "VERSION": str(500_000 + index),
                "IP": f"10.{index >> 8}.{index & 255}.10",
                "INSTANCE": f"i-{index * 2654435761 & 0xFFFFFFFFFFFFFFF:017x}",
                "BOOT": f"{index:08x}-b007-4000-8000-{index:012x}",
                "TIME": f"2026-02-28T{index // 3600 % 24:02d}:{index // 60 % 60:02d}:{index % 60:02d}Z",
            }
        )


def _template(kind: str) -> Json:
    family, size = kind.split(".")
    gpu = _GPUS.get(kind)
    resources = {
        "cpu": "16",
        "ephemeral-storage": "104845292Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "64983072Ki",
        "pods": "110",
        **({"nvidia.com/gpu": "1"} if gpu else {}),
    }
    return {
        "metadata": {
            "name": "@NODE@",
            "uid": "@UID@",
            "resourceVersion": "@VERSION@",
            "creationTimestamp": "@TIME@",
            "labels": _labels(kind, family, size, gpu),
            "annotations": {
                "alpha.kubernetes.io/provided-node-ip": "@IP@",
                "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"@INSTANCE@"}',
                "karpenter.k8s.aws/ec2nodeclass-hash": "15382294862843523041",
                "karpenter.sh/nodepool-hash": "9014726345211287654",
                "node.alpha.kubernetes.io/ttl": "300",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "ownerReferences": [
                {
                    "apiVersion": "karpenter.sh/v1",
                    "kind": "NodeClaim",
                    "name": "default-@NODE@",
                    "uid": "@UID@",
                    "blockOwnerDeletion": True,
                }
            ],
            "finalizers": ["karpenter.sh/termination"],
            "managedFields": [_managed(who, kind, gpu) for who in ("karpenter", "kube-controller-manager", "kubelet")],
        },
        "spec": {
            "providerID": "aws:///eu-west-1a/@INSTANCE@",
            **({"taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]} if gpu else {}),
        },
        "status": {
            "capacity": resources,
            "allocatable": {**resources, "cpu": "15890m", "memory": "61838304Ki", "ephemeral-storage": "95551679124"},
            "conditions": _conditions(),
            "addresses": [
                {"type": "InternalIP", "address": "@IP@"},
                {"type": "InternalDNS", "address": "@NODE@.eu-west-1.compute.internal"},
                {"type": "Hostname", "address": "@NODE@.eu-west-1.compute.internal"},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "ec2-@BOOT@",
                "systemUUID": "ec2-@BOOT@",
                "bootID": "@BOOT@",
                "kernelVersion": "6.12.40-64.114.amzn2023.x86_64",
                "osImage": "Amazon Linux 2023.8.20260214",
                "containerRuntimeVersion": "containerd://2.1.5",
                "kubeletVersion": "v1.36.1-eks-1a2b3c4",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": [_image(number) for number in range(14)],
        },
    }


def _labels(kind: str, family: str, size: str, gpu: tuple[str, str] | None) -> dict[str, str]:
    aws = "karpenter.k8s.aws/instance-"
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": kind,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        "failure-domain.beta.kubernetes.io/zone": "eu-west-1a",
        "k8s.io/cloud-provider-aws": "7f0a3b5a8c0d4b6e9d1f2a3b4c5d6e7f",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/registered": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "@NODE@.eu-west-1.compute.internal",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": kind,
        "topology.ebs.csi.aws.com/zone": "eu-west-1a",
        "topology.k8s.aws/zone-id": "euw1-az1",
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": "eu-west-1a",
        f"{aws}category": family[0],
        f"{aws}cpu": "16",
        f"{aws}cpu-manufacturer": "intel",
        f"{aws}ebs-bandwidth": "10000",
        f"{aws}encryption-in-transit-supported": "true",
        f"{aws}family": family,
        f"{aws}generation": family[1],
        f"{aws}hypervisor": "nitro",
        f"{aws}memory": "65536",
        f"{aws}network-bandwidth": "12500",
        f"{aws}size": size,
    }
    if gpu:
        name, memory = gpu
        labels |= {f"{aws}gpu-name": name, f"{aws}gpu-memory": memory, f"{aws}gpu-count": "1"}
        labels |= {f"{aws}gpu-manufacturer": "nvidia", "nvidia.com/gpu.present": "true"}
        labels |= {f"nvidia.com/{what}": "535" for what in ("cuda.driver.major", "cuda.driver.minor", "mig.capable")}
        labels |= {
            "nvidia.com/gpu.memory": memory,
            "nvidia.com/gpu.count": "1",
            "nvidia.com/gpu.product": f"NVIDIA-{name}",
        }
    return labels


def _conditions() -> list[Json]:
    texts = {
        "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
        "NetworkingReady": ("True", "NetworkingIsReady", "Monitoring for the Networking system is active"),
        "KernelReady": ("True", "KernelIsReady", "Monitoring for the Kernel system is active"),
    }
    times = {"lastHeartbeatTime": "@TIME@", "lastTransitionTime": "@TIME@"}
    return [
        {"type": kind, "status": status, **times, "reason": reason, "message": message}
        for kind, (status, reason, message) in texts.items()
    ]


def _image(number: int) -> Json:
    repository = f"602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/addon-{number:02d}"
    return {
        "names": [f"{repository}@sha256:{number + 4096:064x}", f"{repository}:v1.{number}.0-eksbuild.1"],
        "sizeBytes": 50_000_000 + number * 7_654_321,
    }


def _managed(manager: str, kind: str, gpu: tuple[str, str] | None) -> Json:
    family, size = kind.split(".")
    fields: Json
    if manager == "kubelet":
        leaves: Json = {".": {}, "f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}}
        conditions = {f'k:{{"type":"{one["type"]}"}}': leaves for one in _conditions()}
        fields = {"f:status": {"f:conditions": conditions, "f:allocatable": {}, "f:capacity": {}, "f:images": {}}}
    elif manager == "karpenter":
        labels: Json = {f"f:{label}": {} for label in _labels(kind, family, size, gpu)}
        fields = {
            "f:metadata": {"f:labels": {".": {}, **labels}, "f:finalizers": {".": {}}},
            "f:spec": {"f:taints": {}},
        }
    else:
        fields = {
            "f:metadata": {"f:annotations": {"f:node.alpha.kubernetes.io/ttl": {}}},
            "f:spec": {"f:providerID": {}},
        }
    head = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "@TIME@"}
    return {**head, "fieldsType": "FieldsV1", "fieldsV1": fields}
