#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report-counts.py DIR TIMES ROUNDS "WHAT:BYTES..." WHO...: what counts.sh has counted, for each call.

Counts are of both ranks together, as a program pays for both.  Times are of rank 0, without perf.
DIR/counts.json has all rounds."""
import json
import statistics
import sys

DIR, TIMES, ROUNDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
CALLS, WHO = sys.argv[4].split(), sys.argv[5:]
OF_PLAIN = {"us": "us a call", "user_us": "us of rank 0 in the program", "sys_us": "us of rank 0 in the kernel",
            "own_switches": "waits of rank 0 that slept", "tx": "frames sent by its node",
            "tx_bytes": "bytes sent by its node"}


def counted(name):
    got = {}
    for rank in (0, 1):
        with open(f"{name}-{rank}", encoding="utf-8") as f:
            for line in f:
                field = line.strip().split(",")
                if len(field) > 2 and field[0].isdigit():
                    got[field[2]] = got.get(field[2], 0) + int(field[0]) / TIMES
    return got


def of_round(who, call, r):
    what, size = call.split(":")
    name = f"{DIR}/{who}-{what}-{size}-{r}"
    with open(f"{name}-plain", encoding="utf-8") as f:
        plain = json.loads(f.read())
    got = {text: plain[key] for key, text in OF_PLAIN.items()}
    for event, n in counted(name).items():
        got[event.replace("syscalls:sys_enter_", "").replace("raw_syscalls:sys_enter", "system calls")
            .replace("raw_system calls", "system calls")] = n
    return got


def spread(values):
    q = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{statistics.median(values):.4g} ({q[0]:.4g}..{q[2]:.4g})"


rows = {c: {w: [of_round(w, c, r) for r in range(ROUNDS)] for w in WHO} for c in CALLS}
for call, of in rows.items():
    print(f"\n| {call}, a call | " + " | ".join(WHO) + " |\n|---|" + "---|" * len(WHO))
    for key in of[WHO[0]][0]:
        values = {w: [x.get(key, 0) for x in of[w]] for w in WHO}
        if any(statistics.median(v) >= 0.005 for v in values.values()):
            print(f"| {key} | " + " | ".join(spread(values[w]) for w in WHO) + " |")
with open(f"{DIR}/counts.json", "w", encoding="utf-8") as f:
    json.dump(rows, f, indent=1)
