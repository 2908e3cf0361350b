# SPDX-License-Identifier: BSD-2-Clause
"""pipeline-report.py FOLDER: what each event of demo-pipeline cost, and a timeline.

Reads run.log (what daemons said, with monotonic seconds), events.log (when what was done) and
frames.log (monotonic seconds, number, told again) and writes timeline.svg.
"""
import re
import sys

import picture

STEP_S = 0.1
# What is done (events.log), what it is called, what detects it, what ends it (run.log).
EVENTS = [
    (r"kill rank 1 of filter", "rank 1 of the filter killed", r"rank 1 of filter .* died",
     r"rank 1 of filter .* takes over"),
    (r"kill I.*before filter", "I/O before the filter killed", r"I/O process . before filter .* died",
     r"I/O process . before filter .* takes over"),
    (r"kill I.*behind filter", "I/O behind the filter killed", r"I/O process . behind filter .* died",
     r"I/O process . behind filter .* takes over"),
    (r"chain filter2", "second filter chained", r"rank 0 of filter2 .* begins",
     r"cluster filter2 is complete"),
    (r"cut ", "a node cut off", r"unit {0} is down", r"of filter .* takes over"),
    (r"back ", "the node is back", r"unit {0} is up", None),
    (r"master ", "the master killed", r"daemon is master", r"takes over"),
    (r"again ", "its daemon started again", r"unit {0} is up", None),
    (r"drain ", "first filter drained", None, None),
    (r"kill rank 0 of input", "input killed", r"rank 0 of input .* died",
     r"rank 0 of input .* takes over"),
]


def read_rows(path):
    """Lines as (monotonic seconds, text)."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return [(float(m[1]), m[2]) for m in (re.match(r"(\d+\.\d+) (.*)", line) for line in f) if m]


def first(rows, pattern, after):
    return next((t for t, text in rows if t >= after and re.search(pattern, text)), None)


def shown_ms(t, since):
    return "-" if t is None else f"{(t - since) * 1e3:.0f} ms"


def main(folder):
    rows, done = read_rows(f"{folder}/run.log"), read_rows(f"{folder}/events.log")
    with open(f"{folder}/frames.log", encoding="utf-8") as f:
        frames = [(float(t), int(n), int(again)) for t, n, again in (line.split() for line in f)]
    times = [t for t, _, _ in frames]
    print(f"{'event':32}{'detected':>10}{'taken over':>12}{'longest gap':>13}{'told again':>12}")
    marks = []
    for i, (t, what) in enumerate(done):
        event = next((e for e in EVENTS if re.match(e[0], what)), None)
        if not event:
            sys.exit(f"events.log: what is \"{what}\"?")
        _, name, seen, over = event
        node = what.split()[-1]
        end = done[i + 1][0] if i + 1 < len(done) else times[-1] + 1
        there = [k for k in range(1, len(times)) if t <= times[k] < end]
        gap = max((times[k] - times[k - 1] for k in there), default=0)
        again = sum(frames[k][2] for k in there)
        print(f"{name:32}{shown_ms(seen and first(rows, seen.format(node), t), t):>10}"
              f"{shown_ms(over and first(rows, over.format(node), t), t):>12}{gap * 1e3:>10.0f} ms{again:>12}")
        marks.append((f"{i + 1}  {name}", t))
    start = times[0]
    counts = {}
    for t in times:
        counts[int((t - start) / STEP_S)] = counts.get(int((t - start) / STEP_S), 0) + 1
    last = max(counts)
    line = [(k * STEP_S, counts.get(k, 0) / STEP_S) for k in range(last)]
    top = max(y for _, y in line)
    shown = [(name, [(t - start, top * (1.05 + 0.04 * i))], "marks") for i, (name, t) in enumerate(marks)]
    picture.curves(f"{folder}/timeline.svg", "Measured", "frames through a pipeline that is rebuilt",
                   "time, s", "frames a second, at the output", [("frames", line, "line"), *shown])


if __name__ == "__main__":
    main(sys.argv[1])
