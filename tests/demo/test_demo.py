"""Does the demo take its story's path, tell the truth, and leave nothing behind?"""

import json
import re
import signal
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.demo import running
from tests.demo.running import Demo
from tests.probe.double import built

pytestmark = [pytest.mark.timeout(300), pytest.mark.sandbox]


def test_it_plays_its_story_and_stays_up_until_it_is_interrupted(tmp_path: Path) -> None:
    """Real probe processes; every key sentence in order, figures that kubectl sees, a picture, and nothing left."""
    built(tmp_path)  # says loudly what is not tried where there is no compiler
    picture = tmp_path / "demo.svg"
    with Demo("--keep", "--svg", str(picture)) as demo:
        kubeconfig = Path(demo.until("the cluster stays up").partition("--kubeconfig ")[2].split()[0])
        advertised = advertised_by_the_server_of(kubeconfig)
        demo.signal(signal.SIGINT)
        ended = demo.end()
    assert ended.told() == list(running.STORY), ended.output
    assert "NOT SO" not in ended.output
    assert ended.computed < running.COMPUTED, "of the minute that it may take (tests/demo/test_time.py)"
    assert advertised == {
        "gpu-t4": "14880Mi",
        "gpu-a10g": "22701Mi",
        "gpu-l4": "22492Mi",
        "gpu-l4-eighth": "2530Mi",
        "gpu-radeon": None,
        "gpu-a100-mig": None,
        "gpu-blind": None,
        "dev-1": "14880Mi",
        "production-1": "22701Mi",
        "dev-2": "14880Mi",
    }
    assert (ended.code, ended.left, kubeconfig.exists()) == (0, (), False)
    assert_is_a_picture_of_the_end(picture.read_text())


def advertised_by_the_server_of(kubeconfig: Path) -> dict[str, str | None]:
    """The memory resource of each node, asked for as kubectl would: without a token."""
    server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    # Past any proxy that the environment names: the cluster is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server}/api/v1/nodes", timeout=10) as answer:
        nodes = json.loads(answer.read())["items"]
    return {node["metadata"]["name"]: node["status"]["allocatable"].get("veriff.com/gpu-memory") for node in nodes}


def assert_is_a_picture_of_the_end(svg: str) -> None:
    """It shows the full node, slices and overlays, and a page that shows it loads nothing from elsewhere."""
    words = "".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ")
    assert "gpu-l4-eighth" in words
    assert "2496/2530" in words
    assert re.search(r"4/4 *ts-4", words)
    assert re.search(r"gpu-reconciler-memory-14880mi *veriff.com/gpu-memory 14880Mi *g4dn.xlarge", words)
    assert "url(http" not in svg


def test_without_a_compiler_it_says_so_and_replays_recorded_reports(tmp_path: Path) -> None:
    """The same story to its end by itself, with the same figures."""
    without_compiler = running.run(env={"PATH": str(tmp_path)})
    assert "no C compiler (cc) here" in without_compiler.output
    assert "recorded reports are replayed" in without_compiler.output
    assert without_compiler.told() == list(running.STORY), without_compiler.output
    assert (without_compiler.code, without_compiler.left) == (0, ())
