"""Where does the probe's report go? `python -m reconciler.probe` reads the GPUs once, reports, and ends.

The environment is its only setting: GPU_PROBE_TERMINATION_LOG (default /dev/termination-log, the file that the
kubelet reads) and GPU_PROBE_DEADLINE_SECONDS (default 60). The format and the exit codes: docs/probe-report.md.
"""

import os
import sys
import threading
from collections.abc import Mapping
from typing import NoReturn

from reconciler.model.probe_report import EXIT_CODES, MAX_LOG_BYTES, ProbeReason, ProbeReport
from reconciler.probe import deadline
from reconciler.probe.failures import NvmlFailure
from reconciler.probe.findings import Findings

TERMINATION_LOG = "GPU_PROBE_TERMINATION_LOG"
DEFAULT_TERMINATION_LOG = "/dev/termination-log"
DEADLINE = "GPU_PROBE_DEADLINE_SECONDS"
DEFAULT_DEADLINE = 60.0


def main(environ: Mapping[str, str]) -> NoReturn:
    findings = Findings()
    first = threading.Lock()

    def end(report: ProbeReport) -> NoReturn:
        first.acquire()  # for good: whoever comes second waits here for the process to end
        code = EXIT_CODES[ProbeReason.UNEXPECTED]
        try:
            code = hand_over(report, environ)
        finally:
            # Not sys.exit: the driver's library runs code at exit, and a thread may hang inside it.
            os._exit(code)

    try:
        seconds = deadline_seconds(environ)
    except ValueError as error:
        end(findings.failed(ProbeReason.UNEXPECTED, str(error)))
    deadline.watch(seconds, lambda why: end(findings.cut_short(why)))
    end(look(findings))


def look(findings: Findings) -> ProbeReport:
    """Everything NVML says. Never raises: a probe without a report would leave the controller guessing."""
    try:
        from reconciler.probe import nvml  # here, so that an image without the binding still reports

        nvml.read(findings)
    except NvmlFailure as failure:
        return findings.failed(failure.reason, str(failure))
    except Exception as error:
        return findings.failed(ProbeReason.UNEXPECTED, f"{type(error).__name__}: {error}")
    return findings.report()


def hand_over(report: ProbeReport, environ: Mapping[str, str]) -> int:
    """Write the report where the kubelet looks, and to standard output; the exit code.

    With `terminationMessagePolicy: FallbackToLogsOnError` the kubelet reads the end of the log when the file is empty
    and the exit code is not 0. So a file that is there and cannot be written makes a good report's code 1.
    """
    code = report.exit_code
    path = environ.get(TERMINATION_LOG, DEFAULT_TERMINATION_LOG)
    in_pod = TERMINATION_LOG in environ or os.path.exists(path)
    try:
        if in_pod:
            with open(path, "w", encoding="utf-8") as file:
                file.write(report.to_json())
    except OSError as error:
        sys.stderr.write(f"the termination message could not be written: {error}\n")
        code = code or EXIT_CODES[ProbeReason.UNEXPECTED]
    # The last line of the log, and short enough for the kubelet's fallback.
    print(report.to_json(MAX_LOG_BYTES - 1), flush=True)  # noqa: T201 - standard output is the second way out
    return code


def deadline_seconds(environ: Mapping[str, str]) -> float:
    """Raises ValueError with what to do."""
    text = environ.get(DEADLINE)
    if text is None:
        return DEFAULT_DEADLINE
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"{DEADLINE} is {text!r}: give a number of seconds above 0 and up to 3600")
    return seconds


if __name__ == "__main__":
    main(os.environ)
