# SPDX-License-Identifier: BSD-2-Clause
"""report.py OUT WAN_DELAY_MS RELAY...: the demo's tables from its JSON files, and the
data file of the plot."""
import json
import os
import sys

out, delay_ms, relays = sys.argv[1], float(sys.argv[2]), sys.argv[3:]


def load(name):
    path = os.path.join(out, name)
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def size(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or unit == "MiB":
            return f"{n} {unit}"
        n //= 1024


def pingpong():
    inside, across = load("pingpong-in.json"), load("pingpong-across.json")
    near = {r["bytes"]: r for r in inside["rows"]} if inside else {}
    print("\nMPI half round trip (median) and bandwidth; every byte checked")
    if inside:
        print(f"  direct  {inside['from']} <-> {inside['to']}, no relay")
    print(f"  across  {across['from']} <-> {across['to']}, over relays and {delay_ms:g} ms of WAN")
    print(f"{'message':>10}  {'direct us':>10} {'across us':>10}  {'direct MB/s':>11} {'across MB/s':>11}")
    with open(os.path.join(out, "pingpong.dat"), "w") as f:
        for far in across["rows"]:
            n = far["bytes"]
            r = near.get(n)
            if n == 0 or n == 1 or n.bit_length() % 2 == 0:
                us = f"{r['half_us_median']:.1f}" if r else "-"
                mb = f"{r['mb_per_s']:.1f}" if r else "-"
                print(f"{size(n):>10}  {us:>10} {far['half_us_median']:>10.1f}  "
                      f"{mb:>11} {far['mb_per_s']:>11.1f}")
            if n:
                f.write(f"{n} {r['half_us_median'] if r else '-'} {far['half_us_median']} "
                        f"{r['mb_per_s'] if r else '-'} {far['mb_per_s']}\n")


def watched(fe):
    """Every path a relay had at some time of the job: one JSON array a line."""
    path = os.path.join(out, f"paths-{fe}.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [p for line in f for p in json.loads(line)]


def who_is_who():
    rows = set()
    for fe in relays:
        for p in watched(fe):
            if p.get("kind") == "process" and "rank" in p:
                rows.add((int(p["rank"]), fe[0], p["peer"], fe))
    if not rows:
        return
    print("\nworld rank   cluster   host and Suci port    relay")
    for rank, cluster, peer, fe in sorted(rows):
        print(f"{rank:>10}   {cluster.upper():<7}   {peer:<20}  {fe}")


def counters():
    print("\nrelay    segments   retransmitted   trunk rtt ms   drops and refusals")
    for fe in relays:
        s, drops = load(f"relay-{fe}.json"), load(f"drops-{fe}.json") or {}
        trunks = [p for p in s["paths"] if p["kind"] == "trunk"]
        rtt = min((p["rtt_us"] for p in trunks if p["rtt_us"] > 0), default=0) / 1e3
        sent = sum(p["tx_segments"] for p in s["paths"])
        again = sum(p["tx_retransmits"] for p in s["paths"])
        named = ", ".join(f"{k} {v}" for k, v in sorted(drops.items()) if v) or "none"
        print(f"{fe:<6} {sent:>10}   {again:>13}   {rtt:>12.2f}   {named}")
    w = load("wanem.json")
    for d in ("a_to_b", "b_to_a"):
        r = w[d]
        print(f"wanem {d}: rx {r['rx']} = tx {r['tx']} - dup {r['dup']} + held {r['held']} "
              f"+ drops: queue {r['drop_queue']}, loss {r['drop_loss']}, hold {r['drop_hold']}, "
              f"tx {r['drop_tx']}; late p99 {r['late_ns']['p99'] / 1e3:.0f} us")


pingpong()
who_is_who()
counters()
