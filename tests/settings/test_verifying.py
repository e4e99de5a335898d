"""settings/verifying.py and what app/ makes of it: the Job of a verification as people decided."""

import pytest

from reconciler.app.job_wishes import probe_job, verify_job, verify_policy
from reconciler.model.verification import VerifyPolicy
from reconciler.settings.load import load
from reconciler.settings.mistakes import SettingsError


def given(**values: str) -> dict[str, str]:
    return {f"GPU_RECONCILER_{name.replace('_in_', '__').upper()}": value for name, value in values.items()}


def test_default_settings_make_the_default_policy() -> None:
    assert verify_policy(load({})) == VerifyPolicy()


def test_the_job_is_as_the_probes_without_what_only_probes_need_to_reach_the_gpu() -> None:
    """A RuntimeClass that the probe needs may be one that pods with a GPU do without."""
    settings = load(
        given(
            probe_in_image="registry.example/one:1",
            probe_in_runtime_class="nvidia",
            probe_in_priority_class="high",
            probe_in_sys_admin="true",
            probe_in_pull_secret="login",
            probe_in_user="7",
        )
    )
    job, probe = verify_job(settings), probe_job(settings)
    assert (job.image, job.image_pull_secrets, job.user) == (probe.image, probe.image_pull_secrets, probe.user)
    assert (job.runtime_class, job.priority_class, job.extra_capabilities) == ("", "", ())
    assert (job.deadline, job.ttl, job.backoff_limit) == (120, 600, 0)


def test_every_knob_of_a_verification_can_be_set() -> None:
    settings = load(
        given(
            verify_in_image="registry.example/two:2",
            verify_in_runtime_class="nvidia-cdi",
            verify_in_priority_class="low",
            verify_in_deadline="7s",
            verify_in_ttl="1h",
            verify_in_gpu_memory="1Gi",
            verify_in_at_once="3",
            verify_in_at_join="true",
            capacity_in_resource="veriff.com/gpu-memory",
            capacity_in_tolerance_percent="5",
            probe_in_enabled="false",
        )
    )
    job, policy = verify_job(settings), verify_policy(settings)
    assert (job.image, job.runtime_class, job.priority_class) == ("registry.example/two:2", "nvidia-cdi", "low")
    assert (job.deadline, job.ttl) == (7, 3600)
    assert (policy.resource, policy.memory, policy.tolerance_percent) == ("veriff.com/gpu-memory", 2**30, 5.0)
    assert (policy.probe, settings.verify.at_once, settings.verify.at_join) == (False, 3, True)


@pytest.mark.parametrize("amount", ["0", "-1Mi", "lots", "500m", "1e30", ""])
def test_an_amount_that_no_pod_could_ask_for_is_refused(amount: str) -> None:
    with pytest.raises(SettingsError, match=r"verify\.gpu_memory"):
        load(given(verify_in_gpu_memory=amount))
