"""pipeline-report.py FOLDER: what each event of demo-pipeline cost, and a timeline.

Reads run.log (mpisprun: seconds since its start) and frames.log (monotonic seconds, number, told
again) and writes timeline.svg.
"""
import re
import sys

import picture

STEP_S = 0.1
# What begins an event, what detects it, what ends it.
EVENTS = [
    ("rank 1 of the filter killed", r'^"kill filter 1"', r"rank 1 of filter died", r"rank 1 of filter: .* takes over"),
    ("I/O before the filter killed", r'^"kill io input filter"', r"I/O .* behind input died", r"started I/O .* behind input"),
    ("I/O behind the filter killed", r'^"kill io filter output"', r"I/O .* behind filter died", r"started I/O .* behind filter"),
    ("node n1 failed", r"unit n1 is lost", r"of filter died", r"of filter: .* takes over"),
    ("second filter chained", r'^"chain add input filter2', r"cluster filter2 is complete", r"cluster filter2 is complete"),
    ("first filter drained", r'^"chain drain input filter"', None, None),
    ("input killed", r'^"kill input 0"', r"rank 0 of input died", r"started .* rank 0 of input"),
]


def read_log(folder):
    """Lines as (monotonic seconds, text)."""
    rows, base = [], 0.0
    with open(f"{folder}/run.log", encoding="utf-8") as f:
        for line in f:
            m = re.match(r" *(\d+\.\d+) (.*)", line)
            if not m:
                continue
            clock = re.match(r"monotonic clock (\d+\.\d+)", m[2])
            base = float(clock[1]) if clock else base
            rows.append((base + float(m[1]), m[2]))
    return rows


def first(rows, pattern, after):
    return next((t for t, text in rows if t >= after and re.search(pattern, text)), None)


def shown_ms(t, since):
    return "-" if t is None else f"{(t - since) * 1e3:.0f} ms"


def main(folder):
    rows = read_log(folder)
    with open(f"{folder}/frames.log", encoding="utf-8") as f:
        frames = [(float(t), int(n), int(again)) for t, n, again in (line.split() for line in f)]
    times = [t for t, _, _ in frames]
    begun = [first(rows, e[1], 0) for e in EVENTS]
    if None in begun:
        sys.exit(f"{EVENTS[begun.index(None)][0]}: not in run.log")
    print(f"{'event':32}{'detected':>10}{'taken over':>12}{'longest gap':>13}{'told again':>12}")
    for i, (name, _, seen, done) in enumerate(EVENTS):
        # An order's line is written behind what it did; a kill's own line is the moment.
        t = begun[i]
        kill = [u for u, text in rows if u <= t and re.match("killing", text)]
        t = kill[-1] if kill and "killed" in name else t
        end = begun[i + 1] if i + 1 < len(begun) else times[-1] + 1
        there = [k for k in range(1, len(times)) if t <= times[k] < end]
        gap = max((times[k] - times[k - 1] for k in there), default=0)
        again = sum(frames[k][2] for k in there)
        print(f"{name:32}{shown_ms(seen and first(rows, seen, t), t):>10}"
              f"{shown_ms(done and first(rows, done, t), t):>12}{gap * 1e3:>10.0f} ms{again:>12}")
    start = times[0]
    counts = {}
    for t in times:
        counts[int((t - start) / STEP_S)] = counts.get(int((t - start) / STEP_S), 0) + 1
    last = max(counts)
    line = [(k * STEP_S, counts.get(k, 0) / STEP_S) for k in range(last)]
    top = max(y for _, y in line)
    marks = [(f"{i + 1}  {EVENTS[i][0]}", [(t - start, top * (1.05 + 0.04 * i))], "marks")
             for i, t in enumerate(begun)]
    picture.curves(f"{folder}/timeline.svg", "Measured", "frames through a pipeline that is rebuilt",
                   "time, s", "frames a second, at the output", [("frames", line, "line"), *marks])


if __name__ == "__main__":
    main(sys.argv[1])
