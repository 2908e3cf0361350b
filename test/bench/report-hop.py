#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a hop adds, beside haproxy: table and JSON out of the rounds of test/bench/gateway.sh.

usage: report-hop.py OUT.json RAW_PREFIX ROUNDS SIZE...

Per size: median half round trip of each arm, what it adds to `direct` of the same round,
and the ratio ours / haproxy of that (latency) or of packets per second (throughput)."""
import json
import statistics
import sys

ARMS = ("direct", "haproxy", "host", "leg")


def load(prefix, arm, i, kind):
    with open(f"{prefix}-{arm}-{i}") as f:
        return {r["bytes"]: r["half_us_median"] for r in json.load(f)[kind]}


def med(values):
    return statistics.median(values)


def main():
    out, prefix, rounds, *sizes = sys.argv[1:]
    turns = range(1, int(rounds) + 1)
    result = {"rounds": int(rounds), "latency": [], "throughput": []}
    print("\none gateway hop / haproxy in TCP mode, ping-pong: microseconds added to half a round trip")
    print(f"  {'size':>8} {'direct us':>10} {'haproxy +us':>12} {'host +us':>10} {'leg +us':>10}"
          f" {'host/haproxy':>13} {'leg/haproxy':>12}")
    for size in map(int, sizes):
        t = {a: [load(prefix, a, i, "rows")[size] for i in turns] for a in ARMS}
        add = {a: [x - d for x, d in zip(t[a], t["direct"])] for a in ARMS}
        row = {"bytes": size, "direct_us": med(t["direct"])}
        for a in ARMS[1:]:
            row[a + "_added_us"] = med(add[a])
        for a in ("host", "leg"):
            row[a + "_over_haproxy"] = med([x / max(h, 0.01) for x, h in zip(add[a], add["haproxy"])])
        result["latency"].append(row)
        print(f"  {size:>8} {row['direct_us']:>10.1f} {row['haproxy_added_us']:>12.1f} "
              f"{row['host_added_us']:>10.1f} {row['leg_added_us']:>10.1f} "
              f"{row['host_over_haproxy']:>13.2f} {row['leg_over_haproxy']:>12.2f}")
    print("\nthe same, one-way stream: MB/s, and throughput ours / haproxy")
    print(f"  {'size':>8} {'direct':>10} {'haproxy':>10} {'host':>10} {'leg':>10}"
          f" {'host/haproxy':>13} {'leg/haproxy':>12}")
    for size in map(int, sizes):
        us = {a: [load(prefix, a, i, "stream")[size] for i in turns] for a in ARMS}
        row = {"bytes": size}
        for a in ARMS:
            row[a + "_mb_s"] = med([(size + 128) / x for x in us[a]])
        for a in ("host", "leg"):
            row[a + "_over_haproxy"] = med([h / x for x, h in zip(us[a], us["haproxy"])])
        result["throughput"].append(row)
        print(f"  {size:>8} " + " ".join(f"{row[a + '_mb_s']:>10.1f}" for a in ARMS) +
              f" {row['host_over_haproxy']:>13.2f} {row['leg_over_haproxy']:>12.2f}")
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
