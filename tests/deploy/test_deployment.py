"""The Deployment is hardened, and speaks to the program in settings that exist."""

from typing import Any

import yaml

from reconciler.kube import catalog_config_map, sources
from reconciler.model.policy import SlicingPolicy
from reconciler.settings import names
from reconciler.settings.load import load
from reconciler.settings.root import Settings
from reconciler.settings.shape import fields
from tests.deploy.needed_verbs import CATALOG, LEASE, PLUGIN, PROFILES
from tests.deploy.objects import EXAMPLES, only

POD: dict[str, Any] = only("Deployment").body["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
ENV = {variable["name"]: variable.get("value") for variable in CONTAINER["env"]}


def test_every_variable_is_a_setting() -> None:
    known = {names.in_environment(path) for path, _ in fields(Settings)} | {names.CONFIG}
    assert set(ENV) <= known


def test_the_variables_and_the_mounted_file_load() -> None:
    """What the pod sees: values that are filled in at run time stand in by their field's path."""
    given = {name: value or "gpu-reconciler" for name, value in ENV.items() if name != names.CONFIG}
    settings = load(given)
    assert settings.probe.image == CONTAINER["image"]
    assert settings.probe.service_account == only("ServiceAccount", "gpu-reconciler-probe").name


def test_the_settings_file_is_mounted_where_the_variable_looks() -> None:
    (mount,) = CONTAINER["volumeMounts"]
    (volume,) = POD["volumes"]
    settings = only("ConfigMap", volume["configMap"]["name"])
    assert f"{mount['mountPath']}/{next(iter(settings.body['data']))}" == ENV[names.CONFIG]


def test_the_commented_examples_in_the_settings_are_settings(tmp_path: Any) -> None:
    text = only("ConfigMap", "gpu-reconciler-settings").body["data"]["settings.yaml"]
    file = tmp_path / "settings.yaml"
    file.write_text("".join(line.removeprefix("# ") for line in text.splitlines(keepends=True)))
    assert load({}, file).capacity.resource == "veriff.com/gpu-memory"


def test_default_settings_name_what_the_role_grants() -> None:
    settings = Settings()
    assert (catalog_config_map.NAME, settings.leader.lease) == (CATALOG, LEASE)
    assert settings.kubernetes.namespace == only("Namespace").name
    assert SlicingPolicy().config_map == f"{PLUGIN}/{PROFILES}"


def test_what_is_watched_of_the_plugin_is_what_the_role_grants() -> None:
    """A list by name is authorized only with the field selector that names the same."""
    source = sources.plugin_config_map(lambda trouble: None, PLUGIN, PROFILES)
    assert source.path == f"/api/v1/namespaces/{PLUGIN}/configmaps"
    assert source.selectors == {"fieldSelector": f"metadata.name={PROFILES}"}


def test_service_links_are_off_since_their_variables_look_like_settings() -> None:
    assert POD["enableServiceLinks"] is False


def test_the_pod_is_hardened() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["runAsUser"] > 0
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & POD.keys()
    assert not any("hostPath" in volume for volume in POD["volumes"])


def test_the_token_is_mounted_in_the_controller_alone() -> None:
    assert POD["automountServiceAccountToken"] is True
    for account in ("gpu-reconciler", "gpu-reconciler-probe"):
        assert only("ServiceAccount", account).body["automountServiceAccountToken"] is False


def test_memory_is_bounded_and_cpu_is_not_throttled() -> None:
    assert CONTAINER["resources"]["limits"].keys() == {"memory"}
    assert CONTAINER["resources"]["requests"].keys() == {"cpu", "memory"}


def test_probes_ask_the_port_that_is_served() -> None:
    (port,) = CONTAINER["ports"]
    assert port["containerPort"] == Settings().server.port
    asked = {name: CONTAINER[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {ask["port"] for ask in asked.values()} == {port["name"]}
    assert asked["readinessProbe"]["path"] == "/readyz"
    assert asked["livenessProbe"]["path"] == "/healthz"


def test_two_replicas_survive_a_drain_and_spread() -> None:
    assert only("Deployment").body["spec"]["replicas"] == 2
    assert only("PodDisruptionBudget").body["spec"]["maxUnavailable"] == 1
    spread = {constraint["topologyKey"] for constraint in POD["topologySpreadConstraints"]}
    assert spread == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}


def test_the_image_is_named_without_a_registry_and_with_a_version() -> None:
    name, _, version = CONTAINER["image"].partition(":")
    assert "/" not in name
    assert version not in ("", "latest")


def test_the_settings_of_starting_point_a_load_and_name_what_its_pods_ask_for() -> None:
    folder = EXAMPLES / "starting-point-a"
    settings = load({}, folder / "settings.yaml")
    pod = yaml.safe_load((folder / "deployment.yaml").read_text())["spec"]["template"]["spec"]
    asked = pod["containers"][0]["resources"]
    assert asked["limits"] == asked["requests"] == {settings.capacity.resource: "104Mi"}
