#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
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
GOES_ON = re.compile(r"takeover: rank \d+ of \d+ goes on after ([\d.]+) ms$", re.M)
NODES, HUB, DEAD_MS = int(os.environ["NODES"]), os.environ["HUB"], int(os.environ["DEAD_MS"])
# p50, p99 [ms]; those of nodes are for beats of 20 ms, 5 missed.
BARS = {"taken over": (60, 150), "no step": (300, 300), "node: detected": (150, 150),
        "node: taken over": (300, 300)}


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


def status(node):
    r = subprocess.run([BUILD + "/bin/mpispctl", "-s", f"{FOLDER}/{node}.sock", "--json", "status"],
                       capture_output=True, text=True, check=False)
    return {u["unit"]: u for u in json.loads(r.stdout)["units"]} if r.returncode == 0 else {}


class News:
    """What a node's log has got since."""

    def __init__(self, node):
        self.file = open(f"{FOLDER}/{node}.log", encoding="utf-8", errors="replace")
        self.file.seek(0, os.SEEK_END)
        self.text = ""

    def __contains__(self, text):
        self.text += self.file.read()
        return text in self.text


def roles_of(node, asked):
    return sum(s["state"] == "role" for s in status(asked).get(node, {"slots": []})["slots"])


def cut_node(draw):
    """One that plays ranks.  ms until another node says that it is down, and until its ranks are played elsewhere."""
    i = draw.choice([k for k in range(3) if roles_of(f"n{k}", "n0")])
    node, others = f"n{i}", [f"n{k}" for k in range(3) if k != i]
    known, mine = len(STARTED.findall(logs())), roles_of(node, others[0])
    news = [News(n) for n in others]
    at = time.clock_gettime(time.CLOCK_MONOTONIC)
    subprocess.run(["ip", "-n", HUB, "link", "set", f"p{i}", "down"], check=True)
    while not any(f"unit {node} is down" in n for n in news):
        time.sleep(0.001)
        if time.clock_gettime(time.CLOCK_MONOTONIC) > at + 60:
            sys.exit(f"bench-takeover: nobody says that {node} is down\n" + logs()[-3000:])
    seen = time.clock_gettime(time.CLOCK_MONOTONIC)
    new = wait_for(f"the ranks of {node}",
                   lambda: len(STARTED.findall(logs())) >= known + mine and STARTED.findall(logs())[known:])
    ours = sorted(float(m[2]) for m in STARTED.findall(logs()) if float(m[2]) > at)
    subprocess.run(["ip", "-n", HUB, "link", "set", f"p{i}", "up"], check=True)
    wait_for(f"{node} to be back", lambda: not status(others[0]).get(node, {"down": True})["down"])
    return 1e3 * (seen - at), 1e3 * (ours[-1] - at) if new and ours else 0


def main():
    draw = random.Random(int(SEED))
    times = {"taken over": [], "no step": []}
    wait_for("all ranks", lambda: len(STARTED.findall(logs())) >= RANKS)
    for _ in range(KILLS):
        wait_for("a spare", spares)
        taken, gap, _ = kill_one(draw.randrange(RANKS))
        times["taken over"].append(taken)
        times["no step"].append(gap)
    if NODES:
        times |= {"node: detected": [], "node: taken over": []}
    for _ in range(NODES):
        wait_for("spares", lambda: spares() >= 4)
        seen, taken = cut_node(draw)
        times["node: detected"].append(seen)
        times["node: taken over"].append(taken)
    wrong = "the sum is" in logs()
    print(f"{KILLS} kills of {RANKS} ranks, {NODES} cuts of one of 3 nodes (dead after {DEAD_MS} ms), "
          f"{os.cpu_count()} processors together; "
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
