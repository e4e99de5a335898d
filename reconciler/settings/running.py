"""How does the process run: one leader of several, its loops, its port, its words?"""

from datetime import timedelta
from typing import Literal

from pydantic import ValidationInfo, field_validator

from reconciler.settings.duration import Duration, text
from reconciler.settings.fields import Section, knob
from reconciler.settings.kinds import NAME, NAME_RULES


class LeaderSettings(Section):
    """Which of several replicas writes."""

    enabled: bool = knob(
        True, "Whether a Lease decides who writes. Switch it off only where a single process runs.", example="true"
    )
    lease: str = knob(
        "gpu-reconciler",
        "Name of the Lease, in the controller's namespace.",
        example="gpu-reconciler",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    identity: str | None = knob(
        None,
        "What this replica calls itself in the Lease. Empty: the host's name and a random part.",
        example="gpu-reconciler-7d9c5-x2x5v",
    )
    lease_duration: Duration = knob(
        timedelta(seconds=15),
        "How long the others wait after the leader's last renewal before one of them takes over.",
        example="15s",
        ge=timedelta(seconds=2),
        le=timedelta(minutes=5),
    )
    renew_deadline: Duration = knob(
        timedelta(seconds=10),
        "After so long without a renewal the leader stops writing.",
        example="10s",
        ge=timedelta(seconds=1),
        le=timedelta(minutes=5),
    )
    retry_period: Duration = knob(
        timedelta(seconds=2),
        "Time between renewals, and between tries to take over.",
        example="2s",
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=1),
    )

    @field_validator("renew_deadline")
    @classmethod
    def _stops_before_another_starts(cls, value: timedelta, info: ValidationInfo) -> timedelta:
        lease = info.data.get("lease_duration")
        if lease is not None and value >= lease:
            raise ValueError(
                f"it is not less than leader.lease_duration ({text(lease)}): two replicas could write at once"
            )
        return value

    @field_validator("retry_period")
    @classmethod
    def _renews_in_time(cls, value: timedelta, info: ValidationInfo) -> timedelta:
        renew = info.data.get("renew_deadline")
        if renew is not None and value * 2 > renew:
            raise ValueError(
                f"it is more than half of leader.renew_deadline ({text(renew)}): one lost request would end it"
            )
        return value


class ServerSettings(Section):
    """Health and metrics."""

    host: str = knob(
        "0.0.0.0",
        "Address to listen on for /healthz, /readyz and /metrics. :: listens on IPv6 as well.",
        example="127.0.0.1",
        pattern=r"^[0-9A-Za-z.:-]+$",
        allowed="an address or a host's name",
    )
    port: int = knob(8080, "Port to listen on; 0 takes any free one.", example=8080, ge=0, le=65535)


class LogSettings(Section):
    """The process's own words."""

    format: Literal["json", "console"] = knob("json", "json for machines, console for people.", example="console")
    level: Literal["debug", "info", "warning", "error"] = knob(
        "info", "The least level that is written.", example="debug"
    )


class WorkSettings(Section):
    """The loops."""

    workers: int = knob(4, "Nodes that are looked at side by side.", unit="nodes", example=4, ge=1, le=64)
    first_retry: Duration = knob(
        timedelta(milliseconds=500),
        "Wait after a first failure; it doubles with each further one.",
        example="0.5s",
        ge=timedelta(milliseconds=10),
        le=timedelta(minutes=1),
    )
    longest_retry: Duration = knob(
        timedelta(minutes=1),
        "The longest wait after failures.",
        example="1m",
        ge=timedelta(seconds=1),
        le=timedelta(hours=1),
    )
