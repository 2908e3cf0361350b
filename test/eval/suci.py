#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns, tables and pictures of `make eval-suci` (test/eval/suci).

usage: suci.py turns OUT.json DIR MODE "SIZE..." CONTENDER...
       suci.py report OUT_DIR RAW_DIR CONTENDER...

turns: ROUNDS (3) rounds; in each DIR/launch-CONTENDER MODE SIZE... runs once for everybody, in an order
that alternates, and says a line of JSON, or one object with `results`, with size, count and seconds.

report: medians with least and most, and the ratio of Suci to each other in the same round: above 1
Suci is faster.  Exit status 1: something is missing, or a bar was missed.
"""
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(HERE))
import picture  # noqa: E402
ROUNDS = int(os.environ.get("ROUNDS", 3))
LIMIT_S = float(os.environ.get("LIMIT_S", 120))
TITLES = {"pingpong": "ping-pong (paper: figure 6)", "burst": "one way (paper: figure 7)",
          "gather": "gather to one (paper: figure 8)", "tree": "broadcast over a tree (paper: figure 9)"}
NAMES = {"suci": "Suci", "mpich": "MPICH", "openmpi": "Open MPI"}


def results(text, blocks):
    """Size to MB/s; blocks: that are moved for each that is counted."""
    try:
        whole = json.loads(text)
        rows = whole.get("results", [whole])
    except ValueError:
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {str(r["size"]): blocks * r["size"] * r["count"] / r["seconds"] / 1e6 for r in rows}


def run(command, blocks):
    """Size to MB/s of one run; None: it failed, or took too long."""
    job = subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, start_new_session=True)
    try:
        text, wrong = job.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGTERM)
        try:
            job.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
        print(f"{command[0]}: no end in {LIMIT_S:g} s", file=sys.stderr)
        return None
    if job.returncode:
        print(f"{command[0]}: status {job.returncode}: {wrong[-600:]}", file=sys.stderr)
        return None
    return results(text, blocks)


def turns(path, directory, mode, sizes, contenders):
    out, gone = [], set()
    blocks = {"pingpong": 2, "gather": int(path.rsplit("-", 1)[1]) - 1}.get(mode, 1)
    for r in range(ROUNDS):
        for c in contenders if r % 2 == 0 else contenders[::-1]:
            if c in gone:
                continue
            got = run([f"{directory}/launch-{c}", mode, *sizes], blocks)
            if got is None:
                gone.add(c)
            else:
                out.append({"round": r, "contender": c, "mb_per_s": got})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"sizes": sizes, "load": os.getloadavg()[0], "turns": out}, f)
    return not all(any(t["contender"] == c for t in out) for c in contenders)


def spread(values):
    return statistics.median(values), min(values), max(values)


def digits(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def table(head, rows):
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def figure(path, contenders):
    """Its rows, as (size, {contender: (median, least, most)}, {contender: ratio})."""
    with open(path, encoding="utf-8") as f:
        raw = json.load(f)
    rows = []
    for size in raw["sizes"]:
        of = {c: {t["round"]: t["mb_per_s"][size] for t in raw["turns"] if t["contender"] == c}
              for c in contenders}
        ratio = {c: statistics.median([of["suci"][r] / of[c][r] for r in of[c] if r in of["suci"]])
                 for c in contenders if c != "suci" and set(of[c]) & set(of["suci"])}
        rows.append((size, {c: spread(v.values()) for c, v in of.items() if v}, ratio))
    return rows, raw["load"]


def figures(out, raw, contenders, all_):
    for mode in TITLES:
        found = {int(p.rsplit("-", 1)[1]): p for p in glob.glob(f"{raw}/{mode}-*")}
        lines = []
        for n, path in sorted(found.items()):
            rows, load = figure(path, contenders)
            all_[f"{mode} {n}"] = [{"bytes": int(s), "mb_per_s": v, "ratio": q} for s, v, q in rows]
            print(f"\n### Measured: {TITLES[mode]}, {n} processes, MB/s; load {load:.1f}")
            table(["bytes", *(NAMES[c] for c in contenders), *(f"to {NAMES[c]}" for c in contenders[1:])],
                  [[s, *(f"{digits(v[c][0])} ({digits(v[c][1])}..{digits(v[c][2])})" if c in v else "-"
                         for c in contenders),
                    *(f"{q[c]:.2f}" if c in q else "-" for c in contenders[1:])] for s, v, q in rows])
            lines += [(f"{NAMES[c]}{'' if len(found) == 1 else f', {n}'}",
                       [(int(s), *v[c]) for s, v, _ in rows if c in v])
                      for c in contenders if n in (min(found), max(found))]
        lines = [line for line in lines if line[1]]
        if lines:
            picture.curves(f"{out}/suci-{mode}.svg", "Measured", f"{TITLES[mode]}, one machine", "bytes",
                           "MB/s", lines, "set logscale xy\nset format x '10^{%L}'")


def memory(raw, all_):
    path = f"{raw}/memory"
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        m = all_["memory"] = json.load(f)
    kb = 1024
    print(f"\n### Measured: memory for {m['peers']} peers, KB")
    table(["", "Suci", "TCP"],
          [["file descriptors", str(m["suci_fds"]), str(m["tcp_fds"])],
           ["of the process, all have been written to",
            *(f"{m[k] / kb:.0f}" for k in ("suci_process", "tcp_process"))],
           ["of the kernel, idle sockets", *(f"{m[k] / kb:.0f}" for k in ("suci_kernel", "tcp_kernel"))],
           ["buffers that the kernel may fill", *(f"{m[k] / kb:.0f}" for k in ("suci_buffers", "tcp_buffers"))]])
    yield ("peers: process, kernel and socket buffers with Suci are less than the paper's 128 MB of TCP",
           m["suci_process"] + m["suci_kernel"] + m["suci_buffers"] < 128 << 20)


def streams(raw, all_):
    shown = {how: [] for how in ("know", "blind")}
    for how, rows in shown.items():
        for path in sorted(glob.glob(f"{raw}/stream-{how}-*")):
            with open(path, encoding="utf-8") as f:
                rows.append(json.load(f))
    all_["stream"] = shown
    if not all(shown.values()):
        return

    def share(r, what):
        return 100 * r[what] / r["pictures"]

    print("\n### Measured: pictures within their deadline, per cent, median (least..most)")
    names = {"know": "knows the flow", "blind": "does not"}
    table(["", "base: can be shown", "with detail", "worst delay, ms"],
          [[names[how], *(("{:.0f} ({:.0f}..{:.0f})").format(*spread([v(r) for r in rows])) for v in
                          (lambda r: share(r, "base"), lambda r: share(r, "detail"), lambda r: r["worst_ms"]))]
           for how, rows in shown.items()])
    know, blind = (statistics.median(share(r, "base") for r in shown[how]) for how in ("know", "blind"))
    yield "the stream that knows shows more pictures in time", know > blind


def report(out, raw, contenders):
    all_ = {"load": os.getloadavg(), "rounds": ROUNDS}
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        all_["cpu"] = re.search(r"model name\s*: (.*)", f.read()).group(1)
    figures(out, raw, contenders, all_)
    verdicts = [*memory(raw, all_), *streams(raw, all_)]
    print()
    for what, met in verdicts:
        print(f"{'met   ' if met else 'MISSED'} {what}")
    with open(f"{out}/suci.json", "w", encoding="utf-8") as f:
        json.dump(all_, f, indent=1)
    return not all(met for _, met in verdicts)


if __name__ == "__main__":
    if sys.argv[1] == "turns":
        sys.exit(turns(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5].split(), sys.argv[6:]))
    sys.exit(report(sys.argv[2], sys.argv[3], sys.argv[4:]))
