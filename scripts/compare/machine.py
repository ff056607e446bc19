"""The machine of the run."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    cpu: str
    threads: int
    memory: str
    system: str
    rustc: str
    levels: str


def output(*command: str) -> str:
    """The output of a command, or an empty text if it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cpu() -> str:
    if platform.system() == "Darwin":
        return output("sysctl", "-n", "machdep.cpu.brand_string") or "unknown"
    info = Path("/proc/cpuinfo")
    fields = dict(
        (part.strip() for part in line.split(":", 1))
        for line in (info.read_text().splitlines() if info.exists() else [])
        if ":" in line
    )
    if name := fields.get("model name"):
        family = f"family {fields.get('cpu family')}, model {fields.get('model')}"
        return f"{name} ({family})"
    return platform.processor() or platform.machine()


def memory() -> str:
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return "unknown"
    return f"{pages / 2**30:.0f} GiB"


def virtual() -> str:
    """True if the machine runs under a hypervisor."""
    info = Path("/proc/cpuinfo")
    return ", virtual" if info.exists() and " hypervisor" in info.read_text() else ""


def describe(levels: str | None = None) -> Machine:
    """This machine; the SIMD levels are those that Sordino's kernels detect."""
    command = ("cargo", "run", "--quiet", "--release", "--example", "cpu_levels")
    return Machine(
        cpu=cpu(),
        threads=os.cpu_count() or 1,
        memory=memory(),
        system=f"{platform.system()} {platform.machine()}{virtual()}",
        rustc=output("rustc", "--version") or "unknown",
        levels=levels or output(*command) or "unknown",
    )
