"""A PostgreSQL of the tests' own, with pgvector."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def programs():
    """The folder of PostgreSQL's programs, or None and what is missing."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places = [place for place in places if (place / "initdb").exists()]
    for place in places:
        # Debian names its folder of extensions by the version. On other systems pg_config tells the folder.
        shared = [Path("/usr/share/postgresql") / place.parent.name]
        if (place / "pg_config").exists():
            shared.append(Path(subprocess.run([place / "pg_config", "--sharedir"], check=True, capture_output=True, text=True).stdout.strip()))
        if any((folder / "extension" / "vector.control").exists() for folder in shared):
            return place, ""
    return None, "PostgreSQL has no pgvector here" if places else "PostgreSQL is not installed"


@contextmanager
def running(place):
    """The address of a server with a temporary folder. The server listens on a socket in that folder alone."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
    # PostgreSQL refuses to run as root.
    who = {}
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": []}
    data = folder / "data"

    def do(name, *line):
        subprocess.run([place / name, "-D", data, *line], check=True, cwd=folder, stdout=subprocess.DEVNULL, **who)

    try:
        do("initdb", "-A", "trust", "-U", "tests", "--no-sync")
        do("pg_ctl", "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql://tests@/postgres?host={folder}"
        finally:
            do("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
