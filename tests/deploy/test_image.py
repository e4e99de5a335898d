"""The image is made of what is pinned, runs as nobody, and can hold the probe."""

import re

from tests.deploy.objects import ROOT, only

TEXT = (ROOT / "deploy" / "images" / "Dockerfile").read_text()
LINES = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
FINAL = LINES[max(number for number, line in enumerate(LINES) if line.startswith("FROM")) :]


def test_the_base_is_pinned_and_has_glibc() -> None:
    (version,) = re.findall(r"ARG PYTHON=(\S+)", TEXT)
    assert re.fullmatch(r"3\.\d+\.\d+-slim-\w+", version), "an exact version; NVML needs glibc, so no alpine"


def test_requirements_are_installed_by_hash() -> None:
    assert "--require-hashes -r" in TEXT
    assert "index" not in TEXT


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = [line.split()[1] for line in LINES if line.startswith("COPY ") and "--from" not in line]
    assert copied
    ignored = (ROOT / "deploy" / "images" / "Dockerfile.dockerignore").read_text().splitlines()
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def test_it_runs_as_the_user_of_the_deployment() -> None:
    user = only("Deployment").body["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in FINAL


def test_python_and_the_probe_are_on_the_path() -> None:
    """The probe's Job starts `python -m reconciler.probe`."""
    (environment,) = [line for line in FINAL if line.startswith("ENV ")]
    assert "PATH=/venv/bin:" in environment
    assert "PYTHONPATH=/app" in environment
