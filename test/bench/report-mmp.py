#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report-mmp.py DIR WHERE...: what mmp.sh has measured in DIR, beside the paper's figures and the bars.

Tables; DIR/mmp.json, DIR/mmp.svg.  Exit status 1: a bar was missed, or what it is about is not there.

Of bare throughput, inline: in neighbouring turns, with and without copying into the area.  By the
thread: beside the better bare one of that size, inline or its own.  Both kinds go through the rings between
program and engine: what the rings cost is in neither, so the bars at 4 B say little, and the table says so.
"""
import glob
import json
import os
import shutil
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import limits  # noqa: E402
import picture  # noqa: E402

out, wheres = sys.argv[1], sys.argv[2:]
PAPER = {256: (223, 48), 4048: (4048, 100), 1048528: (1048528, 80)}
CPUS = len(os.sched_getaffinity(0))
bars, found = [], {}


def rows(where, name):
    path = f"{out}/raw-mmp-{where}-{name}"
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)["results"]
    except ValueError:
        return []


def rate_of(where, name, fragment):
    """Median MB/s of bursts with that fragment; None: there is none."""
    got = [r["results"][-1]["mb_per_s"] for p in glob.glob(f"{out}/raw-mmp-{where}-{name}-{fragment}-[0-9]*")
           if not p.endswith(".log") for r in [json.load(open(p, encoding="utf-8"))]]
    return statistics.median(got) if got else None


def bar(where, what, value, least, most=None):
    ok = value is not None and (value >= least if most is None else value <= most)
    bars.append({"where": where, "what": what, "value": value, "least": least, "most": most, "met": ok})


def place(where):
    return "one node" if where == "shm" else f"two nodes, MTU {where}"


def tuned(where):
    """Chosen fragment against the best of a sweep, in turns beside each other."""
    print(f"\n{place(where)}: | run | chosen | sweep's best | MB/s | MB/s | chosen / best |")
    good, runs = 0, []
    while rows(where, f"tune-{len(runs)}") and rows(where, f"sweep-{len(runs)}"):
        i = len(runs)
        chosen = int(rows(where, f"tune-{i}")[-1]["fragment"])
        best = int(rows(where, f"sweep-{i}")[-1]["best_fragment"])
        a, b = rate_of(where, f"duel-{i}", chosen), rate_of(where, f"duel-{i}", best)
        share = a / b if a and b else 0
        good += share >= 0.97
        runs.append({"chosen": chosen, "best": best, "share": share})
        print(f"| {i} | {chosen} | {best} | {a or 0:.0f} | {b or 0:.0f} | {share:.3f} |")
    bar(where, f"runs of {len(runs)} in which the chosen fragment is within 3 % of the sweep's best",
        good if runs else None, len(runs))
    return runs


def fig5(where, runs):
    if not runs:
        return {}
    chosen = runs[-1]["chosen"]
    top = rate_of(where, "fig5", chosen)
    print(f"\n{place(where)}, 4 MiB: | fragment | MB/s | of the chosen | paper |")
    got = {}
    for f in sorted({*PAPER, chosen}):
        rate = rate_of(where, "fig5", f)
        if not rate or not top:
            continue
        paper = f"{PAPER[f][1]} % at {PAPER[f][0]} B" if f in PAPER else "-"
        print(f"| {f}{' (chosen)' if f == chosen else ''} | {rate:.0f} | {100 * rate / top:.0f} % | {paper} |")
        got[f] = {"mb_per_s": rate, "of_chosen": rate / top}
    return got


def best_bare(inline, thread):
    return max(inline["bare_mb_per_s"], thread["bare_mb_per_s"])


def fig4(where):
    inline = {r["size"]: r for r in rows(where, "fig4-inline")}
    thread = {r["size"]: r for r in rows(where, "fig4-thread")}
    print(f"\n{place(where)}: | bytes | bare, MB/s | inline | of bare | thread | of the better bare | of its own bare |")
    for size, r in inline.items():
        t = thread.get(size)
        share = t["mb_per_s"] / best_bare(r, t) if t else None
        print(f"| {size} | {r['bare_mb_per_s']:.4g} | {r['mb_per_s']:.4g} | {100 * r['of_bare']:.1f} % | "
              + (f"{t['mb_per_s']:.4g} | {100 * share:.1f} % | {100 * t['of_bare']:.1f} % |" if t else "- | - | - |"))
    for size, least in ((4, 0.9), (65536, 0.95), (1 << 20, 0.98), (4 << 20, 0.98)):
        bar(where, f"of bare throughput, inline, {size} B", inline.get(size, {}).get("of_bare"), least)
    if 4 in inline and 4 in thread:
        bar(where, "of bare throughput, thread, 4 B", thread[4]["mb_per_s"] / best_bare(inline[4], thread[4]), 0.75)
    else:
        bar(where, "of bare throughput, thread, 4 B", None, 0.75)
    return {"inline": list(inline.values()), "thread": list(thread.values())}


def overlap(where):
    got = rows(where, "overlap")
    for r in got or [{"size": "?"}]:
        bar(where, f"compute kept while receiving, thread, {r['size']} B", r.get("compute_kept"), 0.95)
        both = max(r["data_ms"], r["compute_ms"]) / r["both_ms"] if got else None
        bar(where, f"the longer of data and computing / both at once, {r['size']} B", both, 0.9)
    busy = rows(where, "busy")
    for r in (busy or [{"size": "?"}]) if where != "shm" else []:
        late = r["busy_ms"] - r["wire_ms"] if busy else None
        bar(where, f"ms beyond the wire, to a receiver that computes, {r['size']} B", late, 0, 5)
    return {"overlap": got, "busy": busy}


def plot():
    """Fig. 4 of each place."""
    if not shutil.which("gnuplot"):
        return
    lines = []
    for where in wheres:
        for mode in ("inline", "thread"):
            data = found[where]["fig4"][mode]
            if not data:
                continue
            lines.append((f"{place(where)}, {mode}", [(r["size"], r["mb_per_s"]) for r in data]))
            if mode == "inline":
                lines.append((f"{place(where)}, bare", [(r["size"], r["bare_mb_per_s"]) for r in data], "dashed"))
    if lines:
        picture.curves(f"{out}/mmp.svg", "Measured", "MMP beside bare messages (paper: figure 4)",
                       "bytes of a message", "MB/s", lines, "set logscale xy")


def table():
    print("\n| bar | where | measured | bar at | |")
    print("|---|---|---|---|---|")
    for b in bars:
        value = "not measured" if b["value"] is None else f"{b['value']:.3g}"
        limit = f">= {b['least']:g}" if b["most"] is None else f"<= {b['most']:g}"
        print(f"| {b['what']} | {place(b['where'])} | {value} | {limit} | {'' if b['met'] else 'MISSED'} |")
    missed = sum(not b["met"] for b in bars)
    print(f"\n{len(bars) - missed} of {len(bars)} bars met")
    print("Bare messages go through the rings, too: the bars of bare throughput at 4 B do not show what those cost.")
    if CPUS < 4:
        print(f"{CPUS} CPUs: two ranks with an engine thread each are four that want to run, so by the thread program "
              "and engines share CPUs. Those bars (thread, compute kept, both at once) say little here.")
    return missed


for w in wheres:
    limit = limits.load(f"{out}/raw-limits-mmp-{w}")
    limits.show(place(w), limit)
    runs_ = tuned(w)
    found[w] = {"limits": limit, "tune": runs_, "fig5": fig5(w, runs_), "fig4": fig4(w), **overlap(w)}
plot()
missed_ = table()
with open(f"{out}/mmp.json", "w", encoding="utf-8") as f_:
    json.dump({"cpus": CPUS, "bars": bars, "where": found}, f_, indent=1)
    f_.write("\n")
print(f"{out}/mmp.json, mmp.svg")
sys.exit(missed_ > 0)
