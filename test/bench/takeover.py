#!/usr/bin/env python3
"""takeover.py BUILD FOLDER RANKS KILLS SEED OUT: kills ranks of a running cluster (takeover.sh) and
says how long takeovers took: OUT.json, OUT.svg, a table."""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import picture

BUILD, FOLDER, RANKS, KILLS, SEED, OUT = sys.argv[1:]
RANKS, KILLS = int(RANKS), int(KILLS)
STARTED = re.compile(r"takeover: rank (\d+) is process (\d+).* at ([\d.]+)$", re.M)
GOES_ON = re.compile(r"takeover: rank \d+ goes on after ([\d.]+) ms$", re.M)
BARS = {"taken over": (60, 150), "no step": (300, 300)}  # p50, p99 [ms]


def logs():
    text = ""
    for name in sorted(glob.glob(FOLDER + "/n*.log")):
        with open(name, encoding="utf-8", errors="replace") as f:
            text += f.read()
    return text


def wait_for(what, test):
    for _ in range(6000):
        value = test()
        if value:
            return value
        time.sleep(0.01)
    sys.exit(f"bench-takeover: waited a minute for {what}\n" + logs()[-3000:])


def spares():
    """Living ones that wait in MPI_Init, as each daemon knows of its own."""
    n = 0
    for sock in glob.glob(FOLDER + "/*.sock"):
        r = subprocess.run([BUILD + "/bin/mpispctl", "-s", sock, "--json", "status"],
                           capture_output=True, text=True, check=False)
        if r.returncode:
            return 0
        for unit in json.loads(r.stdout).get("units", []):
            n += sum(s["state"] == "spare" and s.get("in_mpi", False) for s in unit["slots"])
    return n


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p / 100))]


def kill_one(rank):
    """ms until the new process has said that it has the rank, and ms without a step."""
    before = logs()
    pid = max((float(m[2]), int(m[1])) for m in STARTED.findall(before) if int(m[0]) == rank)[1]
    known, went = len(STARTED.findall(before)), len(GOES_ON.findall(before))
    at = time.clock_gettime(time.CLOCK_MONOTONIC)
    os.kill(pid, signal.SIGKILL)
    new = wait_for(f"a new rank {rank}", lambda: STARTED.findall(logs())[known:])
    others = wait_for("the others",
                      lambda: len(GOES_ON.findall(logs())) >= went + RANKS - 1 and
                      GOES_ON.findall(logs())[went:])
    ours = [float(m[2]) for m in STARTED.findall(logs()) if int(m[0]) == rank]
    return 1e3 * (max(ours) - at), max(float(g) for g in others), len(new)


def main():
    draw = random.Random(int(SEED))
    times = {"taken over": [], "no step": []}
    wait_for("all ranks", lambda: len(STARTED.findall(logs())) >= RANKS)
    for _ in range(KILLS):
        wait_for("a spare", spares)
        taken, gap, _ = kill_one(draw.randrange(RANKS))
        times["taken over"].append(taken)
        times["no step"].append(gap)
    wrong = "the sum is" in logs()
    print(f"{KILLS} kills of {RANKS} ranks on 3 nodes of {os.cpu_count()} processors together; "
          f"sums {'WRONG' if wrong else 'right'}")
    print("| what | p50 [ms] | p90 | p99 | most | bar p50 | bar p99 |\n|---|---|---|---|---|---|---|")
    for name, ms in times.items():
        print(f"| {name} | " + " | ".join(f"{percentile(ms, p):.0f}" for p in (50, 90, 99)) +
              f" | {max(ms):.0f} | {BARS[name][0]} | {BARS[name][1]} |")
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    with open(OUT + ".json", "w", encoding="utf-8") as f:
        json.dump({"ranks": RANKS, "kills": KILLS, "seed": int(SEED), "ms": times}, f)
    lines = []
    for name, ms in times.items():
        ordered = sorted(ms)
        lines.append((name, [(v, 100 * (i + 1) / len(ordered)) for i, v in enumerate(ordered)],
                      "line"))
    picture.curves(OUT + ".svg", "Measured", f"{KILLS} ranks killed, {RANKS} ranks on 3 namespaces",
                   "ms after the kill", "kills that were over by then [%]", lines,
                   "set yrange [0:100]\nset xrange [0:*]")
    sys.exit(wrong)


main()
