"""How hard are properties tried here?"""

from hypothesis import HealthCheck, Phase, settings

thorough = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[phase for phase in Phase if phase is not Phase.explain],  # it traces every line of a large fact
)
