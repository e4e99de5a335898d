"""What pods does the measured cluster have? JSON as an API server writes it, about 7.5 KB each, the same on every run.

They come from 3,000 workloads, as Deployments make them: 150,000 pods are 50 replicas of each. `unique` pods share
nothing that a client could keep once: each has labels, an owner and requests of its own, as Jobs tuned one by one have.
"""

from collections.abc import Iterator

from tests.bench.template import Json, Template

WORKLOADS = 3_000


def pods(count: int, nodes: int, *, unique: bool = False) -> Iterator[bytes]:
    """Running pods, spread over the nodes `node-00000` and on."""
    replicas = max(1, count // WORKLOADS)
    for index in range(count):
        workload = index // replicas
        if index % replicas == 0:
            template = Template(_template(workload, unique))
        owner = index if unique else workload
        node = index % nodes
        yield template.fill(
            {
                "POD": f"{_name(workload)}-{_hash(owner)}-{index:07x}",
                "UID": f"{index:08x}-5b1f-4a3e-9c2d-{index:012x}",
                "VERSION": str(1_000_000 + index),
                "NODE": f"node-{node:05d}",
                "HOST": f"10.{node >> 8}.{node & 255}.10",
                "IP": f"10.{128 + (index >> 16)}.{index >> 8 & 255}.{index & 255}",
                "TIME": f"2026-03-01T08:{index // 60 % 60:02d}:{index % 60:02d}Z",
                "OWNER": f"{_name(workload)}-{_hash(owner)}",
                "OWNERUID": f"{owner:08x}-77aa-4c5d-8e9f-{owner:012x}",
                "CPU": f"{1000 + index if unique else 100 + workload % 40 * 50}m",
                "MEM": f"{10_000 + index if unique else 128 << workload % 6}Mi",
            }
        )


def _name(workload: int) -> str:
    return f"{('api', 'worker', 'frontend', 'batch', 'inference', 'ingest')[workload % 6]}-{workload:04d}"


def _hash(number: int) -> str:
    return f"{number * 2654435761 & 0xFFFFFFFF:08x}"


def _template(workload: int, unique: bool) -> Json:
    name, team = _name(workload), f"team-{workload % 40}"
    own = {"job-name": "@OWNER@", "controller-uid": "@OWNERUID@"} if unique else {}
    return {
        "metadata": {
            "name": "@POD@",
            "generateName": "@OWNER@-",
            "namespace": team,
            "uid": "@UID@",
            "resourceVersion": "@VERSION@",
            "creationTimestamp": "@TIME@",
            "labels": {
                "app.kubernetes.io/name": name,
                "app.kubernetes.io/instance": f"{name}-prod",
                "app.kubernetes.io/version": f"1.{workload % 30}.{workload % 7}",
                "app.kubernetes.io/managed-by": "Helm",
                "pod-template-hash": _hash(workload),
                "team": team,
            }
            | own,
            "annotations": {
                "checksum/config": _hash(workload) * 8,
                "kubectl.kubernetes.io/restartedAt": "2026-02-27T10:11:12Z",
                "prometheus.io/scrape": "true",
                "prometheus.io/port": "9102",
            },
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1" if unique else "apps/v1",
                    "kind": "Job" if unique else "ReplicaSet",
                    "name": "@OWNER@",
                    "uid": "@OWNERUID@",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [_managed_spec(), _managed_status()],
        },
        "spec": _spec(workload, name, team),
        "status": _status(workload, name),
    }


def _spec(workload: int, name: str, team: str) -> Json:
    spec: Json = {
        "volumes": [
            {
                "name": "kube-api-access-x7k2p",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "path": "namespace",
                                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                    }
                                ]
                            }
                        },
                    ],
                    "defaultMode": 420,
                },
            },
            {"name": "config", "configMap": {"name": f"{name}-config", "defaultMode": 420}},
        ],
        "containers": [_container(name, "main")] + ([_container(name, "sidecar")] if workload % 3 == 0 else []),
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": name,
        "serviceAccount": name,
        "nodeName": "@NODE@",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    if workload % 5 < 2:
        chosen = {"matchLabels": {"app.kubernetes.io/name": name, "team": team}}
        term = {"labelSelector": chosen, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
            },
        }
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": chosen,
            }
        ]
    return spec


def _container(name: str, role: str) -> Json:
    def probe(path: str, seconds: int) -> Json:
        get = {"path": path, "port": "http", "scheme": "HTTP"}
        times = {"timeoutSeconds": 2, "periodSeconds": seconds, "successThreshold": 1, "failureThreshold": 3}
        return {"httpGet": get, **times}

    main = role == "main"
    requests = {"cpu": "@CPU@", "memory": "@MEM@"} if main else {"cpu": "50m", "memory": "64Mi"}
    return {
        "name": role,
        "image": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/{name}/{role}:2026.02.27-1",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel-collector.observability:4317"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
            {"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": f"{name}-database", "key": "url"}}},
        ],
        "resources": {"limits": {"memory": requests["memory"]}, "requests": requests},
        "volumeMounts": [
            {"name": "config", "readOnly": True, "mountPath": "/etc/config"},
            {
                "name": "kube-api-access-x7k2p",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "livenessProbe": probe("/live", 10),
        "readinessProbe": probe("/ready", 5),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _status(workload: int, name: str) -> Json:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    roles = ["main"] + (["sidecar"] if workload % 3 == 0 else [])
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "@TIME@"} for kind in kinds
        ],
        "hostIP": "@HOST@",
        "hostIPs": [{"ip": "@HOST@"}],
        "podIP": "@IP@",
        "podIPs": [{"ip": "@IP@"}],
        "startTime": "@TIME@",
        "containerStatuses": [
            {
                "name": role,
                "state": {"running": {"startedAt": "@TIME@"}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/{name}/{role}:2026.02.27-1",
                "imageID": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/{name}/{role}@sha256:{_hash(workload) * 8}",
                "containerID": "containerd://" + _hash(workload + 7) * 8,
                "started": True,
            }
            for role in roles
        ],
        "qosClass": "Burstable",
    }


def _managed_spec() -> Json:
    leaves = ("image", "imagePullPolicy", "name", "terminationMessagePath", "terminationMessagePolicy")
    blocks = ("livenessProbe", "readinessProbe", "resources", "securityContext", "volumeMounts", "env", "ports")
    labels = ("name", "instance", "version", "managed-by")
    container: Json = {".": {}, **{f"f:{leaf}": {} for leaf in leaves}} | {
        f"f:{block}": {".": {}, "f:first": {}, "f:second": {}, "f:third": {}} for block in blocks
    }
    metadata: Json = {
        "f:generateName": {},
        "f:labels": {".": {}, **{f"f:app.kubernetes.io/{label}": {} for label in labels}, "f:team": {}},
        "f:annotations": {".": {}, "f:checksum/config": {}, "f:prometheus.io/scrape": {}, "f:prometheus.io/port": {}},
        "f:ownerReferences": {".": {}, 'k:{"uid":"@OWNERUID@"}': {}},
    }
    leaves_of_spec = ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "serviceAccount", "volumes")
    spec = {"f:containers": {'k:{"name":"main"}': container}, **{f"f:{leaf}": {} for leaf in leaves_of_spec}}
    return _managed("kube-controller-manager", {"f:metadata": metadata, "f:spec": spec})


def _managed_status() -> Json:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    fields: Json = {".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
    conditions = {f'k:{{"type":"{kind}"}}': fields for kind in kinds}
    leaves: Json = {
        f"f:{leaf}": {} for leaf in ("containerStatuses", "hostIP", "hostIPs", "phase", "podIP", "startTime")
    }
    entry = _managed("kubelet", {"f:status": {"f:conditions": conditions, **leaves}})
    return {**entry, "subresource": "status"}


def _managed(manager: str, fields: Json) -> Json:
    head = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "@TIME@"}
    return {**head, "fieldsType": "FieldsV1", "fieldsV1": fields}
