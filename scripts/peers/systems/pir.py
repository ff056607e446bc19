"""Reads what a PIR program of systems.sh printed: `pir.py PEER FILE COMMIT` prints one JSON line.

Each reader says which of the program's figures is the server's time for one answer.
"""

import json
import re
import statistics
import sys

KIB = 1024
UNITS = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def nanoseconds(duration):
    """A duration as Rust prints it, and as Go does under one minute."""
    number, unit = re.fullmatch(r"([0-9.]+)(ns|µs|ms|s)", duration).groups()
    return float(number) * UNITS[unit]


def ypir(text, record_bytes, note):
    """`online.allServerTimesMs`: scheme.rs starts the clock before `perform_online_computation` and stops it
    after. Each trial has one query, and a first trial is left out. The keys for packing travel with each query."""
    report = json.loads(text)
    online, offline = report["online"], report["offline"]
    return {
        "median_ns": statistics.median(online["allServerTimesMs"]) * 1e6,
        "min_ns": min(online["allServerTimesMs"]) * 1e6,
        "bytes_up": online["uploadBytes"],
        "bytes_down": online["downloadBytes"],
        "bytes_once": offline["uploadBytes"] + offline["downloadBytes"],
        "record_bytes": record_bytes,
        "offline_ns": offline["serverTimeMs"] * 1e6,
        "note": note,
    }


def inspire(text, record_bytes, note):
    """`online.allServerTimesMs`, as in YPIR: bin/inspire.rs starts the clock before
    `perform_online_computation_simplepir_and_rgsw` and stops it after. systems.sh leaves precomputation out, so its
    time says nothing. The time of encoding the database is real."""
    report = json.loads(text)
    line = ypir(text, record_bytes, note)
    del line["offline_ns"]
    line["encode_ns"] = report["offline"]["encodeTimeMs"] * 1e6
    line["key_bytes_up"] = report["online"]["uploadKeys"]
    return line


def simplepir(text, record_bytes, note):
    """The `Elapsed` after `Answering query...`: pir.go starts the clock before `Answer` and stops it after. The
    benchmark makes up the hint, so it checks no answer. Its first run is left out, as in the benchmark's own mean."""
    times = [nanoseconds(time) for time in re.findall(r"Answering query\.\.\.\s+Elapsed: (\S+)", text)]

    def kib(name):
        return round(float(re.search(rf"{name}: ([0-9.]+) KB", text).group(1)) * KIB)

    return {
        "median_ns": statistics.median(times[1:]),
        "min_ns": min(times[1:]),
        "bytes_up": kib("Online upload"),
        "bytes_down": kib("Online download"),
        "bytes_once": kib("Offline download"),
        "record_bytes": record_bytes,
        "note": note,
    }


def respire(text, record_bytes, note):
    """The sum of a trial's times named `answer_...`: respire.rs adds those in `answer`, and the client's are
    `query` and `extract`. The program checks each record and says `protocol failed` if one is wrong."""
    if "protocol failed" in text:
        raise SystemExit("respire: a record came back wrong")
    trials = re.findall(r"Trial times:\n(.*?)Trial time", text, re.DOTALL)
    times = [sum(map(nanoseconds, re.findall(r"answer_\w+: (\S+)", trial))) for trial in trials]
    setup = re.search(r"encode: (\S+)", text).group(1)

    def kib(name):
        return round(float(re.search(rf"{re.escape(name)}: ([0-9.]+) KiB", text).group(1)) * KIB)

    mebibytes = float(re.search(r"records \(([0-9.]+) MiB\)", text).group(1))
    return {
        "parameter": "1GiB" if mebibytes == 1024 else f"{mebibytes:.0f}MiB",
        "median_ns": statistics.median(times),
        "min_ns": min(times),
        "bytes_up": kib("Query size"),
        "bytes_down": kib("Response size (batch)"),
        "bytes_once": kib("Public param size"),
        "record_bytes": record_bytes,
        "offline_ns": nanoseconds(setup),
        "note": note,
    }


UNCHECKED = "made-up precomputed data, answers not checked"

READERS = {
    "ypir": (ypir, 0.125, "YPIR, 2^33 records of one bit"),
    "ypir-sp": (ypir, 32768, "YPIR+SP, 2^15 records of 32 KiB"),
    "inspire": (inspire, 32768, f"InsPIRe, 2^15 records of 32 KiB, {UNCHECKED}"),
    "inspire-64": (inspire, 64, f"InsPIRe, 2^24 records of 64 bytes, {UNCHECKED}"),
    "simplepir": (simplepir, 256, f"SimplePIR, 2^22 records of 256 bytes, {UNCHECKED}"),
    "respire": (respire, 256, "Respire, records of 256 bytes, one a query"),
}


def main():
    peer, path, commit, *configuration = sys.argv[1:]
    reader, record_bytes, note = READERS[peer]
    note = ", ".join([note, *configuration])
    with open(path, encoding="utf-8") as file:
        figures = reader(file.read(), record_bytes, note)
    line = {"group": "systems/pir", "function": peer, "parameter": "1GiB", **figures, "commit": commit}
    print(json.dumps({key: round(value) if key.endswith("_ns") else value for key, value in line.items()}))


main()
