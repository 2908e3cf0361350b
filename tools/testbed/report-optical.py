# SPDX-License-Identifier: BSD-2-Clause
"""report-optical.py OUT MODE...: what demo-optical has measured, as a table, as JSON, and a timeline for
each mode.  OUT has MODE.txt (collectives' lines) and, but for off, MODE.json (the controller's log)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import timeline  # noqa: E402

out, modes = sys.argv[1], sys.argv[2:]


def times(mode):
    rows = {}
    with open(os.path.join(out, mode + ".txt")) as f:
        for line in f:
            word = line.split()
            if len(word) == 5 and word[1].isdigit():
                rows[word[0]] = {"bytes": int(word[1]), "least_ms": float(word[2]),
                                 "median_ms": float(word[3]), "most_ms": float(word[4])}
    return rows


def circuits(mode, from_us):
    """Per operation: calls planned, set-ups ordered; and when the log ends."""
    path, ops = os.path.join(out, mode + ".json"), {}
    if not os.path.exists(path):
        return ops, from_us
    events = timeline.events_of(path, from_us)
    for e in events:
        if e["kind"] == "call":
            op = ops.setdefault(e["op"], {"calls": 0, "setups": 0, "messages": 0})
            op["calls"] += 1
            op["setups"] += e["setups"]
            op["messages"] += e["messages"]
    if any(e["kind"] == "lit" for e in events):
        with open(os.path.join(out, f"timeline-{mode}.svg"), "w") as f:
            f.write(timeline.draw(events, f"Measured: ports of the switch over time, mode {mode}"))
    return ops, max([e["t_us"] for e in events], default=from_us)


def main():
    result, seen = {}, 0
    for mode in modes:
        ops, seen = circuits(mode, seen)
        result[mode] = {op: {**row, **ops.get(op, {"calls": 0, "setups": 0, "messages": 0})}
                        for op, row in times(mode).items()}
    with open(os.path.join(out, "report.json"), "w") as f:
        json.dump(result, f, indent=1)
    names = list(result[modes[0]])
    print("\nMedian time of a call in ms, and circuits set up in all calls")
    print(f"{'':>10}" + "".join(f"{op:>20}" for op in names))
    for mode in modes:
        print(f"{mode:>10}" + "".join(
            f"{result[mode][op]['median_ms']:>12.2f} {result[mode][op]['setups']:>7}" for op in names))


main()
