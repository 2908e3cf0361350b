#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Put bench results of ours and of a peer, taken in turn, into one table and one JSON.

usage: report.py OUT.json TITLE NOTE OURS_GLOB PEER_NAME PEER_GLOB SIZE...

Each glob names the JSON files of the rounds (pingpong --json or netpp). For each
size: the median over rounds of the median half round trip, and the ratio
ours / peer round by round (median, min, max): machines drift, ratios of
neighbouring runs do not.
"""
import glob
import json
import statistics
import sys


def rounds(pattern):
    files = sorted(glob.glob(pattern))
    if not files:
        sys.exit(f"report.py: no results match {pattern}")
    return [{r["bytes"]: r for r in json.load(open(f))["rows"]} for f in files]


def human(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or unit == "MiB":
            return f"{n} {unit}"
        n //= 1024


def main():
    out, title, note, ours_glob, peer_name, peer_glob, *sizes = sys.argv[1:]
    ours, peer = rounds(ours_glob), rounds(peer_glob)
    n = min(len(ours), len(peer))
    print(f"\n{title}  ({n} rounds, in turn; {note})")
    print(f"  {'size':>8}  {'ours us':>10}  {peer_name + ' us':>16}  {'ours/peer':>9}  "
          f"{'min..max':>13}  {'ours MB/s':>10}  {'peer MB/s':>10}")
    rows = []
    for size in map(int, sizes):
        a = [r[size]["half_us_median"] for r in ours[:n]]
        b = [r[size]["half_us_median"] for r in peer[:n]]
        ratio = [x / y for x, y in zip(a, b)]
        row = {
            "bytes": size,
            "ours_half_us": statistics.median(a),
            "peer_half_us": statistics.median(b),
            "ratio_median": statistics.median(ratio),
            "ratio_min": min(ratio),
            "ratio_max": max(ratio),
        }
        rows.append(row)
        print(f"  {human(size):>8}  {row['ours_half_us']:>10.1f}  {row['peer_half_us']:>16.1f}  "
              f"{row['ratio_median']:>9.2f}  {row['ratio_min']:>5.2f}..{row['ratio_max']:<6.2f}  "
              f"{size / row['ours_half_us']:>10.1f}  {size / row['peer_half_us']:>10.1f}")
    with open(out, "w") as f:
        json.dump({"title": title, "note": note, "peer": peer_name, "rounds": n, "rows": rows}, f,
                  indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
