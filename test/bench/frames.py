#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""frames.py BUILD DIR OUT.json: turns of frames.c under each that can start it, in neighbouring
turns; rates, and ratios taken within a round (frames.sh has the variables).

CPU time is that of all processes of a turn, less that of a turn of a third of the time: what a start
costs is in both."""
import json
import os
import re
import resource
import statistics
import subprocess
import sys

import rounds

BUILD, DIR, OUT = sys.argv[1:]
BYTES, MS = os.environ["BYTES"], int(os.environ["MS"])
RANKS = 5  # make, I/O process, filter, I/O process, take
PLAN = """cluster make program {p} make {a}
cluster filter program {p} filter {a}
cluster take program {p} take {a}
chain add make filter window=32
chain add filter take ordered window=32
io make filter
io filter take
"""
UNIT = {"universe": {"name": "frames", "state": DIR + "/state"}, "units": {"n0": "127.0.0.1:7829"},
        "clusters": {"all": {"units": ["n0"], "compute": RANKS, "in_flight": "epoch"}}}
OPENMPI = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun.openmpi", "--oversubscribe",
           "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1"]


class Job:
    """One way to run it."""

    def __init__(self, name):
        self.name = name

    def command(self, size, taps, ms):
        words = [f"{DIR}/frames", "plain", str(size), str(taps), str(ms)]
        if self.name == "frames":
            with open(DIR + "/plan", "w", encoding="ascii") as f:
                f.write(PLAN.format(p=words[0], a=" ".join(words[2:])))
            return [BUILD + "/bin/mpisprun", DIR + "/plan"]
        if self.name.startswith("epoch"):
            UNIT["clusters"]["all"]["program"] = words
            with open(DIR + "/unit.json", "w", encoding="ascii") as f:
                json.dump(UNIT, f)
            return [BUILD + "/bin/mpispd", "--unit", "n0", "--socket", DIR + "/sock", "--new", DIR + "/unit.json"]
        if self.name.startswith("openmpi"):
            btl = ["--mca", "btl", "self,tcp" if self.name.endswith("tcp") else "self,vader"]
            return OPENMPI + btl + ["-np", str(RANKS), DIR + "/frames-openmpi"] + words[1:]
        return [BUILD + "/bin/mpirun", "-n", str(RANKS)] + words

    def run(self, size, taps, ms):
        """Frames a second, how many there were, seconds of CPU time of all processes."""
        env = dict(os.environ)
        if self.name.endswith("udp"):
            env["LIBMPI_TRANSPORT"] = "udp"
        before = children_s()
        r = subprocess.run(self.command(size, taps, ms), env=env, capture_output=True, text=True, check=False,
                           timeout=60 + ms / 100, stdin=subprocess.DEVNULL)
        cpu = children_s() - before
        found = re.search(r"frames: ([\d.]+) of (\d+)", r.stdout + r.stderr)
        if r.returncode or not found:
            sys.exit(f"bench-frames: {self.name} failed:\n{(r.stdout + r.stderr)[-2000:]}")
        return float(found[1]), int(found[2]), cpu

    def take(self, size, taps):
        """A turn."""
        _, few, start_s = self.run(size, taps, MS // 3)
        rate, many, cpu_s = self.run(size, taps, MS)
        if not rate:
            sys.exit(f"bench-frames: {self.name} made {many} frames in {MS} ms, which are too few: MS=")
        return {"taps": taps, "rate": rate, "cpu_us": 1e6 * (cpu_s - start_s) / max(1, many - few)}


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(taps, turns, jobs):
    """Rates, CPU times, and the ratio to both plain ones, taken in the round."""
    of = {(t["contender"], t["round"]): t for t in turns}
    last = 1 + max(t["round"] for t in turns)
    print(f"\n{BYTES} bytes a frame, {taps} taps; [quartiles] of what was taken in a round")
    print(f"{'':10} {'frames/s':>9} {'CPU us':>8}   {'rate to plain-udp':26}{'rate to plain-shm':26}CPU to plain-udp")
    for j in jobs:
        mine = [of[j.name, r] for r in range(last) if (j.name, r) in of]
        rate, cpu = (statistics.median(t[k] for t in mine) for k in ("rate", "cpu_us"))
        line = f"{j.name:11} {rate:9.1f} {cpu:8.1f}  "
        for base, key in (("plain-udp", "rate"), ("plain-shm", "rate"), ("plain-udp", "cpu_us")):
            both = [r for r in range(last) if (j.name, r) in of and (base, r) in of]
            if both:
                q = rounds.quartiles([of[j.name, r][key] / of[base, r][key] for r in both])
                line += f" {q[1]:7.3f} [{q[0]:.3f} {q[2]:.3f}]".ljust(26)
        print(line.rstrip(), flush=True)


def main():
    names = ["frames", "plain-udp", "epoch-udp", "plain-shm", "epoch-shm"]
    if os.path.exists(DIR + "/frames-openmpi"):
        names += ["openmpi-tcp", "openmpi-shm"]
    jobs = [Job(n) for n in os.environ.get("JOBS", "").split() or names]
    kept, before = {}, rounds.ticks()
    print(f"load before: {os.getloadavg()[0]:.1f}")
    for taps in os.environ["TAPS"].split():
        rounds.of(0, jobs, int(BYTES), taps, lambda row: 0, kept.setdefault(taps, []))
        show(taps, kept[taps], jobs)
    print(f"\nstolen by the hypervisor: {100 * rounds.stolen(before):.1f} %; load after: {os.getloadavg()[0]:.1f}")
    with open(OUT, "w", encoding="utf-8") as f:
        json.dump({"bytes": int(BYTES), "ms": MS, "stolen": rounds.stolen(before), "taps": kept}, f)


if __name__ == "__main__":
    main()
