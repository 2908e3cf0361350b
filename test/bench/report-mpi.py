#!/usr/bin/env python3
"""Table of `make bench-mpi`, and one JSON with everything.

usage: report-mpi.py OUT.json DIR "WHERE..." "RANKS..." LIBRARY...     (the first is ours)

For each row: the median over rounds of each library, and how much faster ours is than each
other, round by round (median, range): machines drift, ratios of neighbouring runs do not.
Above 1 ours is faster, in time as in throughput.
"""
import glob
import json
import os
import re
import statistics
import sys

UNITS = {"bandwidth": "MB/s", "rate": "1000/s"}


def load(directory, where, ranks, library):
    """One {(what, bytes): microseconds} per round that was run."""
    files = glob.glob(f"{directory}/raw-mpi-{where}-{ranks}-{library}-*")
    out = []
    for name in sorted(files, key=lambda f: int(f.rsplit("-", 1)[1])):
        with open(name) as fd:
            rows = re.findall(r"^(\w+) (\d+) ([\d.]+)$", fd.read(), re.M)
        out.append({(w, int(n)): float(us) for w, n, us in rows})
    return out


def human(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or unit == "MiB":
            return f"{n} {unit}"
        n //= 1024


def shown(what, size, us):
    """What a table says: throughput for what is asked as throughput."""
    if what == "bandwidth":
        return size / us
    return 1e3 / us if what == "rate" else us


def row_of(where, ranks, key, data, libraries):
    ours = data[libraries[0]]
    row = {"where": where, "ranks": ranks, "what": key[0], "bytes": key[1],
           "unit": UNITS.get(key[0], "us")}
    for p in libraries:
        times = [r[key] for r in data[p] if key in r]
        row[p] = shown(*key, statistics.median(times)) if times else None
        ratio = [theirs[key] / mine[key] for mine, theirs in zip(ours, data[p])
                 if key in mine and key in theirs]
        if p != libraries[0] and ratio:
            row["ratio_" + p] = statistics.median(ratio)
            row["ratio_" + p + "_range"] = [min(ratio), max(ratio)]
    ratios = [row["ratio_" + p] for p in libraries[1:] if "ratio_" + p in row]
    # A library that was too slow to be measured is not faster than one that was not.
    row["fastest"] = row[libraries[0]] is not None and all(r >= 1 for r in ratios)
    return row


def cell(value):
    if value is None:
        return "too slow"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def show(rows, libraries):
    print(f"  {'what':<10}{'size':>8} {'unit':>7}" + "".join(f"{p:>10}" for p in libraries) +
          "   ours faster than " + ", ".join(libraries[1:]) + " (range)")
    for r in rows:
        line = f"  {r['what']:<10}{human(r['bytes']):>8} {r['unit']:>7}"
        line += "".join(f"{cell(r[p]):>10}" for p in libraries)
        for p in libraries[1:]:
            if "ratio_" + p in r:
                lo, hi = r["ratio_" + p + "_range"]
                line += f"   {r['ratio_' + p]:.2f} ({lo:.2f}..{hi:.2f})"
            else:
                line += "   -"
        print(line + ("" if r["fastest"] else "   NOT FASTEST"))


def main():
    out, directory, wheres, counts, *libraries = sys.argv[1:]
    result = {"libraries": libraries, "load": os.getloadavg(), "cpus": os.cpu_count(), "rows": []}
    for where in wheres.split():
        for ranks in map(int, counts.split()):
            data = {p: load(directory, where, ranks, p) for p in libraries}
            keys = list(dict.fromkeys(k for rounds in data.values() for r in rounds for k in r))
            rows = [row_of(where, ranks, k, data, libraries) for k in keys]
            place = "one node" if where == "shm" else f"two nodes, MTU {where}"
            print(f"\n{place}, {ranks} ranks")
            show(rows, libraries)
            result["rows"] += rows
    slower = [r for r in result["rows"] if not r["fastest"]]
    print(f"\n{len(result['rows']) - len(slower)} rows fastest, {len(slower)} not; {out}")
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
