#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs of the NPB kernels under libmpitrace, and what obsim says of their traces on the same network
(`REPLAY=1 make bench-npb`).

usage: npb-replay.py OUT.json DIR OBSIM WHERE RANKS "KERNEL:CLASS..."

DIR/launch-line says what a line costs, DIR/launch-traced KERNEL CLASS leaves a trace in DIR/trace.
Each of ROUNDS (5) rounds takes the line anew and replays with it: a packet network, no light.  The
whole run counts, from MPI_Init to MPI_Finalize.  Beyond computing is what is left without the time of
the rank that computes most: what the network, waiting and the library took.
"""
import json
import os
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("ROUNDS", 5))
LIMIT_S = float(os.environ.get("LIMIT_S", 180))


def said(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def line_of(directory):
    text = said(f"{directory}/launch-line", "", "")
    words = next(t.split() for t in text.splitlines() if t.startswith("line "))
    return float(words[1]), max(float(words[2]), 1e-12), float(words[3])


def replay(obsim, traces, alpha, beta):
    return json.loads(said(obsim, "--json", "-m", "packets", "-A", repr(alpha), "-B", repr(beta), *traces))


def turn(directory, obsim, ranks, kernel, letter):
    for f in os.listdir(f"{directory}/trace"):
        os.unlink(f"{directory}/trace/{f}")
    alpha, beta, both = line_of(directory)
    if '"verified": true' not in said(f"{directory}/launch-traced", kernel, letter):
        sys.exit(f"{kernel} {letter} is not SUCCESSFUL")
    got = replay(obsim, [f"{directory}/trace/{r}" for r in range(ranks)], alpha, beta)
    mode = got["modes"][0]
    return {"alpha_s": alpha, "beta_s": beta, "both_ways": both, "traced_s": got["measured_s"], "replayed_s": mode["total_s"],
            "computing_s": mode["compute_s"], "messages": mode["messages"], "calls": mode["calls"]}


def cell(turns, value, form):
    of = [value(t) for t in turns]
    return f"{statistics.median(of):{form}} ({min(of):{form}}..{max(of):{form}})"


def main():
    path, directory, obsim, where, ranks, kernels = sys.argv[1:]
    rows = []
    for spec in kernels.split():
        turns = [turn(directory, obsim, int(ranks), *spec.split(":")) for _ in range(ROUNDS)]
        rows.append({"where": where, "ranks": int(ranks), "kernel": spec, "turns": turns})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"load": os.getloadavg(), "rows": rows}, f, indent=1)
    print(f"\n| {where}, {ranks} ranks | messages, calls | alpha, us | Mb/s | both ways | traced, s | replayed, s "
          "| ratio | computing, s | beyond computing: ratio |\n|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        t = r["turns"]
        print(f"| {r['kernel']} | {t[0]['messages']}, {t[0]['calls']} "
              f"| {cell(t, lambda x: x['alpha_s'] * 1e6, '.0f')} | {cell(t, lambda x: 8e-6 / x['beta_s'], '.0f')} "
              f"| {cell(t, lambda x: x['both_ways'], '.2f')} "
              f"| {cell(t, lambda x: x['traced_s'], '.2f')} | {cell(t, lambda x: x['replayed_s'], '.2f')} "
              f"| {cell(t, lambda x: x['replayed_s'] / x['traced_s'], '.2f')} "
              f"| {cell(t, lambda x: x['computing_s'], '.2f')} "
              f"| {cell(t, lambda x: (x['replayed_s'] - x['computing_s']) / (x['traced_s'] - x['computing_s']), '.2f')} |")


if __name__ == "__main__":
    main()
