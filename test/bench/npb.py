#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs of the NPB kernels beside each other, and their table (`make bench-npb`).

usage: npb.py turns OUT.json DIR "KERNEL:CLASS..." CONTENDER...
       npb.py report OUT.json DIR "WHERE..." "RANKS..." "KERNEL:CLASS..." CONTENDER...

turns: DIR/launch-CONTENDER KERNEL CLASS runs a job; ROUNDS (5) rounds, in each a run of everybody, in
an order that alternates.  A run counts if it ends with status 0 in LIMIT_S (180) and its line "npb"
says that the result is verified; others are shown, and the exit status is 1.

report: the median time of each with quartiles (of less than four runs: least and most), and how much
faster the first contender is than each other, in the same round.  Above 1 the first one is faster.
"""
import json
import os
import signal
import statistics
import subprocess
import sys

import rounds

ROUNDS = int(os.environ.get("ROUNDS", 5))
LIMIT_S = float(os.environ.get("LIMIT_S", 180))


def record(text):
    """What the line for programs says; None without one that is whole."""
    for line in text.splitlines():
        if line.startswith("npb {"):
            try:
                return json.loads(line[4:])
            except ValueError:
                return None
    return None


def run(directory, contender, kernel, letter):
    """The record of a run, and what is wrong with it."""
    job = subprocess.Popen([f"{directory}/launch-{contender}", kernel, letter], text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text = job.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGTERM)
        try:
            text = job.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            text = job.communicate()[0]
        return None, f"no end in {LIMIT_S:g} s: {text[-800:]}"
    got = record(text)
    if job.returncode or not got or not got.get("verified"):
        return None, f"status {job.returncode}, not SUCCESSFUL: {text[-800:]}"
    return got, None


def turns(path, directory, kernels, contenders):
    out, failed, before = [], [], rounds.ticks()
    for r in range(ROUNDS):
        for spec in kernels:
            kernel, letter = spec.split(":")
            for c in contenders if r % 2 == 0 else contenders[::-1]:
                got, why = run(directory, c, kernel, letter)
                if why:
                    print(f"{c}, {spec}, round {r}: {why.strip()}", file=sys.stderr)
                    failed.append({"round": r, "contender": c, "kernel": spec, "why": why})
                else:
                    out.append({**got, "round": r, "contender": c, "kernel": spec})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"stolen": rounds.stolen(before), "turns": out, "failed": failed}, f)
    return bool(failed)


def machine():
    model = "?"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": os.uname().release,
            "load": os.getloadavg()}


def spread(values):
    """Quartiles; of a few values the least and the most."""
    if len(values) > 3:
        return rounds.quartiles(values)
    return [min(values), statistics.median(values), max(values)]


def rows_of(directory, where, ranks, kernels, contenders):
    with open(f"{directory}/raw-npb-{where}-{ranks}", encoding="utf-8") as f:
        raw = json.load(f)
    for spec in kernels:
        times = {c: {t["round"]: t["seconds"] for t in raw["turns"]
                     if t["contender"] == c and t["kernel"] == spec} for c in contenders}
        row = {"where": where, "ranks": ranks, "kernel": spec, "stolen": raw["stolen"],
               "failed": sum(f["kernel"] == spec for f in raw["failed"]), "of": {}}
        first = times[contenders[0]]
        for c in contenders:
            of = list(times[c].values())
            ratio = [times[c][r] / first[r] for r in first.keys() & times[c].keys()]
            row["of"][c] = {"seconds": statistics.median(of) if of else None,
                            "quartiles": spread(of) if of else None,
                            "runs": len(of),
                            "ratio": statistics.median(ratio) if ratio else None,
                            "ratio_quartiles": spread(ratio) if ratio else None}
        yield row


def cell(of):
    if of["seconds"] is None:
        return "failed"
    low, _, high = of["quartiles"]
    return f"{of['seconds']:.3f} ({low:.3f}..{high:.3f})"


def share(of):
    if of["ratio"] is None:
        return "-"
    low, _, high = of["ratio_quartiles"]
    return f"{of['ratio']:.2f} ({low:.2f}..{high:.2f})"


def place(where):
    nodes, line, rate = where.partition("x")
    if where == "shm":
        return "one node"
    return f"{nodes} nodes at a switch, {rate}" if line else f"two nodes, {where}"


def report(path, directory, wheres, counts, kernels, contenders):
    rows = [r for w in wheres for n in counts
            for r in rows_of(directory, w, int(n), kernels, contenders)]
    head = ["where, ranks", "kernel"] + [f"{c}, s" for c in contenders]
    head += [f"to {c}" for c in contenders[1:]]
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for r in rows:
        line = [f"{place(r['where'])}, {r['ranks']}", r["kernel"]]
        line += [cell(r["of"][c]) for c in contenders]
        line += [share(r["of"][c]) for c in contenders[1:]]
        print("| " + " | ".join(line) + " |")
    m, failed = machine(), sum(r["failed"] for r in rows)
    missing = sum(of["runs"] == 0 for r in rows for of in r["of"].values())
    runs = sum(of["runs"] for r in rows for of in r["of"].values())
    print(f"\n{runs} runs SUCCESSFUL, {failed} not; {m['cpu']}, {m['cpus']} CPUs, {m['kernel']}, "
          f"load {' '.join(f'{x:.1f}' for x in m['load'])}; at most "
          f"{100 * max(r['stolen'] for r in rows):.1f} % of the cores' time was not given to this "
          f"machine; {path}")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": m, "contenders": contenders, "rows": rows}, f, indent=1)
        f.write("\n")
    return failed > 0 or missing > 0


def main():
    what, path, directory, *rest = sys.argv[1:]
    if what == "turns":
        return turns(path, directory, rest[0].split(), rest[1:])
    return report(path, directory, rest[0].split(), rest[1].split(), rest[2].split(), rest[3:])


if __name__ == "__main__":
    sys.exit(main())
