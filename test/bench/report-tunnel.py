#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Table and JSON of `make bench-tunnel`.

usage: report-tunnel.py OUT.json DIR "DELAY..." "LOSS..." "CC..." RATE OURS PEER...

DIR has raw-tunnel-DELAY-LOSS-CC, as turns-mpi.py writes it.  Medians; ratios are of one round: above 1
ours is faster, with quartiles.  "too slow": no answer within LIMIT_S."""
import itertools
import json
import os
import statistics
import sys

import rounds

UNITS = {"bandwidth": "MB/s", "rate": "1000/s"}


def human(n):
    return f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB" if n >= 1 << 10 else f"{n} B"


def load(path):
    """Microseconds by (what, bytes), contender and (session, round); share of time stolen."""
    with open(path, encoding="utf-8") as f:
        raw = json.load(f)
    turns = {}
    for t in raw["turns"]:
        of = turns.setdefault((t["what"], t["bytes"]), {}).setdefault(t["contender"], {})
        of[t["session"], t["round"]] = t["us"]
    return turns, raw["stolen"]


def shown(what, size, us):
    value = size / us if what == "bandwidth" else us
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def main():
    out, directory, delays, losses, ccs, rate, ours, *peers = sys.argv[1:]
    result = {"wan_rate": float(rate), "cpus": os.cpu_count(), "rows": []}
    head = ["WAN, one way, loss, congestion control", "row", ours] + peers + [f"to {p}" for p in peers]
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    worst = 0
    for delay, loss, cc in itertools.product(delays.split(), losses.split(), ccs.split()):
        turns, stolen = load(f"{directory}/raw-tunnel-{delay}-{loss}-{cc}")
        worst = max(worst, stolen)
        for (what, size), of in turns.items():
            row = {"delay_ms": float(delay), "loss": float(loss), "cc": cc, "what": what, "bytes": size}
            line = [f"{delay} ms, {loss}, {cc}", f"{what} {human(size)}, {UNITS.get(what, 'us')}"]
            for p in [ours] + peers:
                row[p + "_us"] = statistics.median(of[p].values()) if of.get(p) else None
                line.append("too slow" if row[p + "_us"] is None else shown(what, size, row[p + "_us"]))
            for p in peers:
                both = of.get(ours, {}).keys() & of.get(p, {}).keys()
                if both:
                    low, mid, high = rounds.quartiles([of[p][r] / of[ours][r] for r in both])
                    row["to_" + p] = [low, mid, high]
                    line.append(f"{mid:.2f} ({low:.2f}..{high:.2f})")
                else:
                    line.append("-")
            result["rows"].append(row)
            print("| " + " | ".join(line) + " |")
    print(f"\nat most {100 * worst:.1f} % of the cores' time was not given to this machine; {out}")
    with open(out, "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
