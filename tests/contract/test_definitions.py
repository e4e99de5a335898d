"""How do kinds come and go?"""

from tests.contract.world import MERGE, Json, World, eventually, get, make, patch

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/contract.example/v1/widgets"


def definition() -> Json:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "contract.example", "names": names, "scope": "Cluster", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.contract.example"},
        "spec": spec,
    }


def test_a_kind_appears_with_its_definition_and_goes_with_it(world: World) -> None:
    """Before and after, its path is a 404; in between it behaves like a custom resource."""
    assert world.request("GET", WIDGETS).status == 404
    make(world, CRDS, definition())
    eventually(world, lambda: world.request("GET", WIDGETS).status == 200, "the kind is served")
    widget = {"apiVersion": "contract.example/v1", "kind": "Widget"}
    made = make(world, WIDGETS, {**widget, "metadata": {"name": "w"}, "spec": {"a": 1}, "status": {"b": 1}})
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    change = {"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"b": 2}}
    statused = patch(world, f"{WIDGETS}/w/status", change, MERGE)
    assert (statused["spec"], statused["status"]) == ({"a": 1}, {"b": 2})
    assert "labels" not in statused["metadata"]
    main = patch(world, f"{WIDGETS}/w", change | {"status": {"b": 3}}, MERGE)
    assert (main["spec"], main["status"]) == ({"a": 2}, {"b": 2})
    assert main["metadata"]["generation"] == 2
    strategic = world.request("PATCH", f"{WIDGETS}/w", {}, "application/strategic-merge-patch+json")
    assert (strategic.status, strategic.body["reason"]) == (415, "UnsupportedMediaType")
    blind = world.request("PUT", f"{WIDGETS}/w", {**widget, "metadata": {"name": "w"}, "spec": {"a": 3}})
    assert (blind.status, blind.body["reason"]) == (422, "Invalid")
    assert "metadata.resourceVersion: Invalid value" in blind.body["message"]
    listed = get(world, WIDGETS)["items"]
    assert [(each["kind"], each["metadata"]["name"]) for each in listed] == [("Widget", "w")]
    world.request("DELETE", f"{CRDS}/widgets.contract.example")
    eventually(world, lambda: world.request("GET", WIDGETS).status == 404, "the kind is gone")
