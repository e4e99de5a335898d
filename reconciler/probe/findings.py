"""What is known so far? Grows while NVML is read, so that a watchdog can report it in the middle."""

from dataclasses import dataclass, field

from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport


@dataclass(slots=True)
class Findings:
    """One thread adds, in the order that the fields are read in; another may take a report at any time."""

    doing: str = "starting"
    """The NVML call that is under way, for the message of a deadline."""
    driver: str = ""
    nvml: str = ""
    expected: int | None = None
    """How many GPUs NVML counted; None before it was asked."""
    gpus: list[GpuReading] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences for the node's owner, one for each thing that could not be read."""

    def report(self) -> ProbeReport:
        """All that is known, for a run that went to its end."""
        return ProbeReport(self.driver, self.nvml, tuple(self.gpus), message="; ".join(self.notes))

    def failed(self, reason: ProbeReason, sentence: str) -> ProbeReport:
        """Nothing could be read, for one reason."""
        return ProbeReport(self.driver, self.nvml, error=reason, message="; ".join([*self.notes, sentence]))

    def cut_short(self, why: str) -> ProbeReport:
        """All that is known now; GPUs that were not reached are told with a timeout of their own."""
        read = tuple(self.gpus)
        sentence = (
            f"{why}: {self.doing} did not return; the driver or a GPU hangs, look for Xid lines in the node's log"
        )
        if not self.expected:
            return self.failed(ProbeReason.TIMEOUT, sentence)
        missing = range(len(read), self.expected)
        notes = [*self.notes, sentence] if missing else self.notes
        unread = tuple(GpuReading(index, error=ProbeReason.TIMEOUT) for index in missing)
        return ProbeReport(self.driver, self.nvml, read + unread, message="; ".join(notes))
