#!/usr/bin/env python3
"""Tables of `make bench-suci`, and one JSON with everything.

usage: report-suci.py OUT.json DIR "MTU..." PEER...      (suci is one of the peers)

For each measure and size: the median over rounds of each peer, and the ratio of ours to the
fastest other, round by round (median, worst): machines drift, ratios of neighbouring runs do
not. A ratio above 1 means ours is faster, in time as in throughput.
"""
import glob
import json
import statistics
import sys


def load(pattern):
    out = []
    for f in sorted(glob.glob(pattern)):
        with open(f) as fd:
            out.append({(r["what"], r["bytes"]): r for r in json.load(fd)["rows"]})
    return out


def human(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n} {unit}"
        n //= 1024


def value(row):
    return row["half_us_median"] if row["what"] == "ping" else row["mb_per_s"]


def faster(what, a, b):
    """How much a is faster than b."""
    return b / a if what == "ping" else a / b


def compare(mtu, data, peers):
    rows = []
    others = [p for p in peers if not p.startswith("suci")]
    n = min(len(data[p]) for p in peers)
    for key in data["suci"][0]:
        what = key[0]
        row = {"mtu": mtu, "what": what, "bytes": key[1], "rounds": n,
               "unit": "us half round trip" if what == "ping" else "MB/s"}
        for p in peers:
            row[p] = statistics.median(value(r[key]) for r in data[p])
            row[p + "_cpu_s_per_gb"] = statistics.median(r[key]["cpu_s_per_gb"] for r in data[p])
        for p in others:
            ratio = [faster(what, value(data["suci"][i][key]), value(data[p][i][key]))
                     for i in range(n)]
            row["ratio_" + p] = statistics.median(ratio)
            row["ratio_" + p + "_range"] = [min(ratio), max(ratio)]
        if others:
            best = min(others, key=lambda p: row["ratio_" + p])
            row["best_other"] = best
            row["ratio"] = row["ratio_" + best]
            row["fastest"] = row["ratio"] >= 1
        rows.append(row)
    return rows


def show(mtu, rows, peers):
    for what in ("ping", "bulk"):
        these = [r for r in rows if r["what"] == what]
        if not these:
            continue
        title = "ping-pong, half a round trip, us" if what == "ping" else "one way, MB/s"
        print(f"\nMTU {mtu}, {title}, and (CPU s per GB)")
        print(f"  {'size':>8}" + "".join(f"{p:>20}" for p in peers) + "   ours / best other (range)")
        for r in these:
            line = f"  {human(r['bytes']):>8}"
            for p in peers:
                line += f"{r[p]:>11.1f} ({r[p + '_cpu_s_per_gb']:.4g})".rjust(20)
            if "ratio" in r:
                lo, hi = r["ratio_" + r["best_other"] + "_range"]
                line += (f"   {r['ratio']:.2f} x {r['best_other']} ({lo:.2f}..{hi:.2f})"
                         f"{'' if r['fastest'] else '   NOT FASTEST'}")
            print(line)


def sealed(mtu, directory):
    plain, seal = (load(f"{directory}/raw-duel-{mtu}-{k}-*") for k in ("plain", "sealed"))
    if not plain or len(plain) != len(seal):
        return []
    rows = []
    print(f"\nMTU {mtu}, sealed (AES-256-GCM) / not sealed; at 1 KiB at least 0.80 is asked")
    for k in plain[0]:
        ratio = [faster(k[0], value(s[k]), value(p[k])) for p, s in zip(plain, seal)]
        row = {"mtu": mtu, "what": k[0], "bytes": k[1], "ratio": statistics.median(ratio),
               "range": [min(ratio), max(ratio)],
               "plain": statistics.median(value(p[k]) for p in plain),
               "sealed": statistics.median(value(s[k]) for s in seal)}
        rows.append(row)
        print(f"  {k[0]} {human(k[1]):>8} {row['sealed']:>9.1f} / {row['plain']:.1f} "
              f"{'us' if k[0] == 'ping' else 'MB/s'}   {row['ratio']:.2f} "
              f"({min(ratio):.2f}..{max(ratio):.2f})")
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
          "neighbours in time (range)")
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
            row["to_size_before"] = statistics.median(ratio)
            row["range"] = [min(ratio), max(ratio)]
            line += f"   {row['to_size_before']:.3f} ({min(ratio):.2f}..{max(ratio):.2f})"
        print(line)
        rows.append(row)
    return rows


def main():
    out, directory, mtus, *peers = sys.argv[1:]
    result = {"peers": peers, "rows": [], "sealed": [], "blocks": []}
    for mtu in map(int, mtus.split()):
        data = {p: load(f"{directory}/raw-duel-{mtu}-{p}-*") for p in peers}
        if all(data.values()):
            rows = compare(mtu, data, peers)
            show(mtu, rows, peers)
            result["rows"] += rows
        result["sealed"] += sealed(mtu, directory)
        result["blocks"] += ladder(mtu, directory)
    slower = [r for r in result["rows"] if r.get("fastest") is False]
    print(f"\n{len(result['rows']) - len(slower)} rows fastest, {len(slower)} not; {out}")
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
