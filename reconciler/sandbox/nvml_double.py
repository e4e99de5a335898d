"""How is the NVML double built, and which machines can it play?

The double is a C library that pynvml takes for libnvidia-ml.so.1; its settings are documented at the top of
nvml_double.c. Put the directory it was built into on LD_LIBRARY_PATH before Python starts.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml_double.c")
LIBRARY = "libnvidia-ml.so.1"

# Older libraries, for build(without=...): each leaves functions out.
INIT_WITH_FLAGS = "INIT_WITH_FLAGS"
PROCESSES_V3 = "V3"
MEMORY_V2 = "MEMORY_V2"

# gnu11, as c11 hides strtok_r. The soname lets a library that is loaded already satisfy pynvml's own loading of it.
_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden"]


class NotBuilt(RuntimeError):
    """There is a compiler and it refused; the text is what it said."""


def build(directory: Path, *, without: Collection[str] = ()) -> Path | None:
    """The library's path in `directory`, which must exist; None where the machine has no `cc`. Takes half a second."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = directory / LIBRARY
    # Built beside its place and moved there, so that a process that is loading it never sees half of it.
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        built = Path(scratch) / LIBRARY
        leave_out = [f"-DNVML_DOUBLE_WITHOUT_{name}" for name in without]
        command = [compiler, *_FLAGS, f"-Wl,-soname,{LIBRARY}", *leave_out, "-o", str(built), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotBuilt(f"{' '.join(command)}: {done.stderr.strip()}")
        os.replace(built, library)
    return library


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as NVML shows it. Totals are those of the built-in table; MiB."""

    name: str
    total_mib: int
    reserved_mib: int
    """Measured on the T4 only. Where drivers before R510 took the reserve off the total, that difference; else 512."""
    ecc: bool | None = True


T4 = Card("Tesla T4", 15360, 450)
A10G = Card("NVIDIA A10G", 23028, 297)
L4 = Card("NVIDIA L4", 23034, 512)
L4_3Q = Card("NVIDIA L4-3Q", 3072, 512, ecc=None)
"""An eighth of an L4, as a vGPU guest sees it (g6f.large)."""
L40S = Card("NVIDIA L40S", 46068, 512)
V100 = Card("Tesla V100-SXM2-16GB", 16384, 224)
A100 = Card("NVIDIA A100-SXM4-40GB", 40960, 424)
H100 = Card("NVIDIA H100 80GB HBM3", 81559, 512)

MIG_2G_1G = "1:0:9856;2:0:9856;3:0:9856;4:0:4864"
"""An A100-40GB cut into three 2g.10gb and one 1g.5gb: GPU instance, compute instance, MiB."""


def environment(card: Card, count: int = 1, *, mig: str | None = None, errors: Collection[str] = ()) -> dict[str, str]:
    """The double's settings for a machine with `count` such cards. `errors`: FUNCTION[@GPU]=CODE each."""
    settings = {
        "NVML_DOUBLE_COUNT": str(count),
        "NVML_DOUBLE_NAME": card.name,
        "NVML_DOUBLE_TOTAL_MIB": str(card.total_mib),
        "NVML_DOUBLE_RESERVED_MIB": str(card.reserved_mib),
        "NVML_DOUBLE_ECC": "-" if card.ecc is None else str(int(card.ecc)),
    }
    if mig is not None:
        settings["NVML_DOUBLE_MIG"] = mig
    if errors:
        settings["NVML_DOUBLE_ERRORS"] = ",".join(errors)
    return settings


MACHINES: Mapping[str, Mapping[str, str]] = {
    "g4dn.xlarge": environment(T4),
    "g4dn.12xlarge": environment(T4, 4),
    "g5.xlarge": environment(A10G),
    "g5.12xlarge": environment(A10G, 4),
    "g6.xlarge": environment(L4),
    "g6.12xlarge": environment(L4, 4),
    "g6e.xlarge": environment(L40S),
    "g6f.large": environment(L4_3Q),
    "p3.2xlarge": environment(V100),
    "p4d.24xlarge": environment(A100, 8, mig="off"),
    "p5.48xlarge": environment(H100, 8, mig="off"),
}
"""Instance type to the double's settings, all in good order."""

P4D_MIG = environment(A100, 8, mig=MIG_2G_1G)
"""A p4d.24xlarge with every GPU cut up."""
NO_DRIVER = {"NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=9"}
MISMATCHED_DRIVER = {"NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=18"}


def lost_gpu(settings: Mapping[str, str], gpu: int) -> dict[str, str]:
    """The same machine with one GPU off the bus: NVML still counts it and answers nothing else about it."""
    errors = [settings["NVML_DOUBLE_ERRORS"]] if "NVML_DOUBLE_ERRORS" in settings else []
    return {**settings, "NVML_DOUBLE_ERRORS": ",".join([*errors, f"*@{gpu}=15"])}
