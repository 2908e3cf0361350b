#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Table of `make bench-mpi`, and one JSON with everything.

usage: report-mpi.py OUT.json DIR "WHERE..." "RANKS..." LIBRARY...     (the first is ours)

For each row: the median over the turns of each library, CPU time of all ranks for one beside it, and
how much faster ours is than each other, round by round (median, quartiles): machines drift, ratios
of neighbouring turns do not.  Above 1 ours is faster, in time as in throughput.  "even": 1 lies
between the quartiles of the ratio, or within a hundredth of its median.

Beside them ours as a multiple of what the machine itself takes: in a node a short one of the
hand-over of a cache line, a longer one of memcpy; between nodes of half a round trip of bare UDP.
"""
import json
import os
import statistics
import sys

import limits
import rounds

UNITS = {"bandwidth": "MB/s", "fresh": "MB/s", "rate": "1000/s"}


def load(directory, where, ranks):
    """Share of time stolen; turns by (what, bytes), library and (session, round)."""
    with open(f"{directory}/raw-mpi-{where}-{ranks}", encoding="utf-8") as f:
        raw = json.load(f)
    turns = {}
    for t in raw["turns"]:
        of = turns.setdefault((t["what"], t["bytes"]), {}).setdefault(t["contender"], {})
        of[t["session"], t["round"]] = t
    return raw["stolen"], turns


def human(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or unit == "MiB":
            return f"{n} {unit}"
        n //= 1024


def shown(what, size, us):
    """What a table says: throughput for what is asked as throughput."""
    if what in ("bandwidth", "fresh"):
        return size / us
    return 1e3 / us if what == "rate" else us


def verdict(row, libraries):
    """Against the library that is nearest to ours, or ahead of it."""
    word = "fastest"
    for p in libraries[1:]:
        if "ratio_" + p not in row:
            continue
        low, high = row["ratio_" + p + "_quartiles"]
        if row["ratio_" + p] >= 1:
            continue
        if row["ratio_" + p] < 0.99 and high < 1:
            return "slower"
        word = "even"
    return word


def row_of(where, ranks, key, turns, libraries):
    ours = turns.get(libraries[0], {})
    row = {"where": where, "ranks": ranks, "what": key[0], "bytes": key[1],
           "unit": UNITS.get(key[0], "us")}
    for p in libraries:
        of = turns.get(p, {})
        row[p] = shown(*key, statistics.median(t["us"] for t in of.values())) if of else None
        for x in ("cpu_us", "switches"):
            row[f"{p}_{x}"] = statistics.median(t[x] for t in of.values()) if of else None
        ratio = [of[r]["us"] / ours[r]["us"] for r in ours.keys() & of.keys()]
        if p != libraries[0] and ratio:
            low, row["ratio_" + p], high = rounds.quartiles(ratio)
            row["ratio_" + p + "_quartiles"] = [low, high]
    row["verdict"] = verdict(row, libraries) if row[libraries[0]] is not None else "slower"
    return row


def cell(value):
    if value is None:
        return "too slow"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def show(rows, libraries):
    head = ["where, ranks", "row"] + [f"{p} (CPU us)" for p in libraries]
    head += [f"to {p}" for p in libraries[1:]] + ["of the machine's", ""]
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for r in rows:
        place = "one node" if r["where"] == "shm" else f"MTU {r['where']}"
        line = [f"{place}, {r['ranks']}", f"{r['what']} {human(r['bytes'])}, {r['unit']}"]
        for p in libraries:
            cpu = "" if r[p] is None else f" ({cell(r[p + '_cpu_us'])})"
            line.append(cell(r[p]) + cpu)
        for p in libraries[1:]:
            if "ratio_" + p in r:
                lo, hi = r["ratio_" + p + "_quartiles"]
                line.append(f"{r['ratio_' + p]:.2f} ({lo:.2f}..{hi:.2f})")
            else:
                line.append("-")
        line.append(limits.cell(r["limit"]))
        line.append("" if r["verdict"] == "fastest" else r["verdict"])
        print("| " + " | ".join(line) + " |")


def main():
    out, directory, wheres, counts, *libraries = sys.argv[1:]
    result = {"libraries": libraries, "load": os.getloadavg(), "cpus": os.cpu_count(), "rows": [],
              "limits": {}}
    worst = 0
    for where in wheres.split():
        for ranks in map(int, counts.split()):
            stolen, turns = load(directory, where, ranks)
            worst = max(worst, stolen)
            rows = [row_of(where, ranks, k, of, libraries) for k, of in turns.items()]
            own = limits.load(f"{directory}/raw-limits-{where}-{ranks}")
            for r in rows:
                of = turns[r["what"], r["bytes"]].get(libraries[0], {})
                us = statistics.median(t["us"] for t in of.values()) if of else None
                r["limit"] = limits.beside(own, r["bytes"], us, where == "shm")
            result["limits"][f"{where}, {ranks}"] = own
            result["rows"] += rows
    for place, own in result["limits"].items():
        limits.show(place + " ranks", own)
    show(result["rows"], libraries)
    n = {v: sum(r["verdict"] == v for r in result["rows"]) for v in ("fastest", "even", "slower")}
    print(f"\n{n['fastest']} of {len(result['rows'])} rows fastest, {n['even']} even, "
          f"{n['slower']} slower; at most {100 * worst:.1f} % of the cores' time was not given to this "
          f"machine; {out}")
    with open(out, "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
