#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tables of `make bench-suci`, and one JSON with everything.

usage: report-suci.py OUT.json DIR "MTU..."

For each measure and size: the median over the turns of each contender, and the ratio of ours to the
fastest other, round by round (median, quartiles): machines drift, ratios of neighbouring turns do
not. A ratio above 1 means ours is faster, in time as in throughput.  Behind that ours as a multiple of
what the machine itself takes: of half a round trip of bare UDP, or of memcpy of the size.
"""
import json
import statistics
import sys

import limits
import rounds


def load(directory, mtu, kind):
    """Share of time stolen; turns by measure, contender, and round."""
    try:
        with open(f"{directory}/raw-duel-{mtu}-{kind}") as f:
            raw = json.load(f)
    except FileNotFoundError:
        return None, {}
    turns = {}
    for t in raw["turns"]:
        of = turns.setdefault((t["what"], t["bytes"]), {}).setdefault(t["contender"], {})
        of[t["session"], t["round"]] = t
    return raw["stolen"], turns


def human(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n} {unit}"
        n //= 1024


def value(row):
    return row["half_us_median"] if row["what"] == "ping" else row["mb_per_s"]


def faster(a, b):
    """How much a is faster than b, quartiles over the rounds that both took part in."""
    ratios = []
    for r in a.keys() & b.keys():
        x, y = value(a[r]), value(b[r])
        ratios.append(y / x if a[r]["what"] == "ping" else x / y)
    return rounds.quartiles(ratios)


def limit_of(own, row):
    if row["what"] == "ping":
        return limits.beside(own, row["bytes"], row["suci"], False)
    if own is None:
        return None
    us = row["bytes"] / row["suci"]
    return us / statistics.mean(own["sizes"][row["bytes"]]["memcpy_us"]), "memcpy"


def compare(mtu, directory):
    stolen, turns = load(directory, mtu, "all")
    rows, own = [], limits.load(f"{directory}/raw-limits-{mtu}")
    for (what, size), of in turns.items():
        row = {"mtu": mtu, "what": what, "bytes": size, "stolen": stolen,
               "rounds": len(of["suci"]), "unit": "us half round trip" if what == "ping" else "MB/s"}
        for p in of:
            row[p] = statistics.median(value(t) for t in of[p].values())
            row[p + "_cpu_s_per_gb"] = statistics.median(t["cpu_s_per_gb"] for t in of[p].values())
        row["limit"] = limit_of(own, row)
        others = [p for p in of if not p.startswith("suci")]
        for p in others:
            low, row["ratio_" + p], high = faster(of["suci"], of[p])
            row["ratio_" + p + "_quartiles"] = [low, high]
        if others:
            best = min(others, key=lambda p: row["ratio_" + p])
            row["best_other"] = best
            row["ratio"] = row["ratio_" + best]
            row["fastest"] = row["ratio"] >= 1
        rows.append(row)
    if rows:
        limits.show(f"MTU {mtu}", own)
        show(mtu, stolen, rows, list(of))
    return rows


def show(mtu, stolen, rows, peers):
    print(f"\nMTU {mtu}: {100 * stolen:.1f} % of the cores' time was not given to this machine")
    for what in ("ping", "bulk"):
        these = [r for r in rows if r["what"] == what]
        if not these:
            continue
        title = "ping-pong, half a round trip, us" if what == "ping" else "one way, MB/s"
        print(f"\nMTU {mtu}, {title}, and (CPU s per GB)")
        print(f"  {'size':>8}" + "".join(f"{p:>20}" for p in peers) +
              "   ours / best other, median (quartiles) of rounds")
        for r in these:
            line = f"  {human(r['bytes']):>8}"
            for p in peers:
                line += f"{r[p]:>11.1f} ({r[p + '_cpu_s_per_gb']:.4g})".rjust(20)
            if "ratio" in r:
                lo, hi = r["ratio_" + r["best_other"] + "_quartiles"]
                line += (f"   {r['ratio']:.2f} x {r['best_other']} ({lo:.2f}..{hi:.2f}) of {r['rounds']}"
                         f"{'' if r['fastest'] else '   NOT FASTEST'}")
            print(f"{line}   {limits.cell(r['limit'])}")


def sealed(mtu, directory):
    _, turns = load(directory, mtu, "seal")
    rows = []
    if turns:
        print(f"\nMTU {mtu}, sealed (AES-256-GCM) / not sealed; at 1 KiB at least 0.80 is asked")
    for (what, size), of in turns.items():
        low, ratio, high = faster(of["suci+seal"], of["suci"])
        row = {"mtu": mtu, "what": what, "bytes": size, "ratio": ratio, "quartiles": [low, high],
               "plain": statistics.median(value(t) for t in of["suci"].values()),
               "sealed": statistics.median(value(t) for t in of["suci+seal"].values())}
        rows.append(row)
        print(f"  {what} {human(size):>8} {row['sealed']:>9.1f} / {row['plain']:.1f} "
              f"{'us' if what == 'ping' else 'MB/s'}   {ratio:.2f} ({low:.2f}..{high:.2f})")
    return rows


def ladder(mtu, directory):
    """Sizes up and down: each ratio is of two measurements next to each other."""
    try:
        with open(f"{directory}/raw-duel-{mtu}-ladder") as fd:
            raw = json.load(fd)["rows"]
    except FileNotFoundError:
        return []
    sizes = sorted({r["bytes"] for r in raw})
    print(f"\nMTU {mtu}, one way by block size, medians, and the ratio to the size before, "
          "in neighbouring turns (quartiles)")
    rows = []
    for before, n in zip([None] + sizes, sizes):
        these = [r for r in raw if r["bytes"] == n]
        row = {"mtu": mtu, "bytes": n,
               "mb_per_s": statistics.median(r["mb_per_s"] for r in these),
               "cpu_s_per_gb": statistics.median(r["cpu_s_per_gb"] for r in these)}
        ratio = []
        for a, b in zip(raw, raw[1:]):
            if {a["bytes"], b["bytes"]} == {before, n}:
                ratio.append(b["mb_per_s"] / a["mb_per_s"] if b["bytes"] == n
                             else a["mb_per_s"] / b["mb_per_s"])
        line = f"  {human(n):>8} {row['mb_per_s']:>9.1f} MB/s ({row['cpu_s_per_gb']:.4g})"
        if ratio:
            low, row["to_size_before"], high = rounds.quartiles(ratio)
            row["quartiles"] = [low, high]
            row["turns"] = len(ratio)
            line += f"   {row['to_size_before']:.3f} ({low:.2f}..{high:.2f}) of {len(ratio)}"
        print(line)
        rows.append(row)
    return rows


def main():
    out, directory, mtus = sys.argv[1:]
    result = {"rows": [], "sealed": [], "blocks": []}
    for mtu in map(int, mtus.split()):
        result["rows"] += compare(mtu, directory)
        result["sealed"] += sealed(mtu, directory)
        result["blocks"] += ladder(mtu, directory)
    slower = [r for r in result["rows"] if r.get("fastest") is False]
    print(f"\n{len(result['rows']) - len(slower)} rows fastest, {len(slower)} not; {out}")
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
