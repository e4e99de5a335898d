"""What does a node say when the trouble goes away, comes from somebody, or can be mended by us?"""

from dataclasses import replace

import anyio

from reconciler.model import names
from reconciler.model.sharing import Replicas
from reconciler.sandbox.kinds import CONFIGMAPS, NODEPOOLS, NODES
from reconciler.sandbox.plugin_chart import EXCLUSIVE, sliced
from reconciler.sandbox.plugin_script import PluginScript
from tests.stories import gpus
from tests.stories.sharing_stage import (
    STARTUP,
    profile,
    ruled,
    shared_machine,
    shares,
    sharing_condition,
    sharing_stage,
)
from tests.stories.telling import virtual

LONG = 400.0
"""Seconds: the plugin has had its time."""
BOTTLEROCKET = "Bottlerocket OS 1.40.0 (aws-k8s-1.36-nvidia)"


@virtual
async def test_a_plugin_that_lost_its_race_is_restarted_once_where_people_allow_it() -> None:
    """k8s-device-plugin 1645: only another pod helps."""
    async with sharing_stage(ruled(Replicas(4), restart_plugin=True)) as play:
        await play.sandbox.add_node("a", shared_machine(script=PluginScript(lost_races=1)))
        await anyio.sleep(LONG)

        assert (shares(play), play.taints()) == ("True/Sliced", [])
        deleted = [call for call in play.writes() if call.method == "DELETE"]
        assert len(deleted) == 1


@virtual
async def test_a_plugin_that_loses_every_race_is_restarted_no_oftener_than_allowed() -> None:
    async with sharing_stage(ruled(Replicas(4), restart_plugin=True)) as play:
        await play.sandbox.add_node("a", shared_machine(script=PluginScript(lost_races=9)))
        await anyio.sleep(3 * LONG)

        assert shares(play) == "False/NoGPUsOffered"
        assert len([call for call in play.writes() if call.method == "DELETE"]) == 1
        await play.quiet(0.2)


@virtual
async def test_whoever_keeps_writing_over_our_label_wins_and_is_named() -> None:
    async with sharing_stage() as play:
        await play.join("a", shared_machine())
        for _ in range(3):
            patch = {"metadata": {"labels": {names.PLUGIN_CONFIG: "ts-2"}}}
            await play.sandbox.client("mutineer").merge(NODES, "", "a", patch)
            await anyio.sleep(90)

        assert (shares(play), profile(play)) == ("False/Reverted", "ts-2")
        assert "mutineer" in sharing_condition(play)["message"]
        await play.quiet(0.1)


@virtual
async def test_the_template_of_a_node_pool_is_named_as_the_labels_writer() -> None:
    async with sharing_stage(start=False) as play:
        await play.sandbox.install_karpenter()
        template = {"metadata": {"labels": {names.PLUGIN_CONFIG: "ts-2"}}, "spec": {"requirements": []}}
        await play.admin.create(NODEPOOLS, "", {"metadata": {"name": "gpu"}, "spec": {"template": template}})
        await play.start()
        labels = {names.KARPENTER_NODEPOOL: "gpu", names.KARPENTER_REGISTERED: "true", names.PLUGIN_CONFIG: "ts-2"}
        await play.join("a", shared_machine(labels=labels))

        assert (shares(play), profile(play), play.taints()) == ("False/ForeignLabel", "ts-2", [])
        assert "the template of its NodePool set the label" in sharing_condition(play)["message"]
        await play.quiet(0.1)


@virtual
async def test_bottlerocket_that_slices_as_wanted_by_its_own_setting_is_right() -> None:
    async with sharing_stage() as play:
        machine = replace(gpus.machine(gpus=4, taints=(STARTUP,)), os_image=BOTTLEROCKET)
        await play.join("a", machine)
        assert (shares(play), profile(play), play.taints()) == ("True/Sliced", None, [])
        await play.quiet(0.1)


@virtual
async def test_a_key_that_comes_later_is_waited_for_until_pods_have_it_mounted() -> None:
    """A label that names a key which is not mounted yet crashes the config-manager (nos 57)."""
    async with sharing_stage(configs={"exclusive": EXCLUSIVE}) as play:
        await play.sandbox.add_node("a", shared_machine())
        await anyio.sleep(60)
        assert shares(play) == "False/ProfileMissing"

        await play.admin.merge(CONFIGMAPS, "nvidia-device-plugin", "gpu-profiles", {"data": {"ts-4": sliced(4)}})
        await anyio.sleep(30)
        assert (shares(play), profile(play)) == ("False/AwaitingProfile", None)
        await anyio.sleep(200)
        assert (shares(play), profile(play), play.taints()) == ("True/Sliced", "ts-4", [])
