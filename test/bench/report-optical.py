# SPDX-License-Identifier: BSD-2-Clause
"""report-optical.py OUT BAR EXTRA_MS RATE SIZES OBSIM: what optical.sh has measured, beside what obsim says
for the gamma and c of this machine (S = p - 1 messages, k = 2 ports; the first three are closed formulas, too):

    naive      S (gamma + c)
    batched    ceil(S / k) gamma + S c
    pipelined  gamma + S c + (ceil(S / k) - 1) max(0, gamma - (k - 1) c)
    cached     S c from the second call on, if S is odd and c >= gamma: two circuits are lit when it begins

gamma is the time from the order of a circuit until both relays have found each other, by the
controller's log; c is what is left of the batched time.  So batched agrees by itself; the others
need not.  The bar is about the better of the two modes that re-aim a port as soon as it is free,
pipelined and cached: the median of the rounds' ratios to batched."""
import json
import os
import statistics
import subprocess
import sys

out, bar, extra_ms, rate, sizes, obsim = (sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4],
                                          [int(n) for n in sys.argv[5].split()], sys.argv[6])
K = 2
REAIM = ("pipelined", "cached")


def rows(name):
    """Median milliseconds of every job, by mode and bytes."""
    found = {}
    path = os.path.join(out, f"optical-{name}.txt")
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                mode, size, _, median, _ = line.split()
                found.setdefault((mode, int(size)), []).append(float(median))
    return found


def gamma_ms(n):
    """Median time from order to lit to found."""
    with open(os.path.join(out, f"optical-{n}-log.json")) as f:
        log = json.load(f)
    ordered, took = {}, []
    for e in log:
        if e["kind"] == "lit":
            ordered[frozenset((e["x"], e["y"]))] = e["from_us"]
        elif e["kind"] == "up":
            begin = ordered.pop(frozenset((e["x"], e["y"])), None)
            if begin is not None:
                took.append((e["t_us"] - begin) / 1e3)
    return statistics.median(took), len(took)


def predicted(n, bytes_, gamma, c, modes):
    """Milliseconds of the last of nine calls in each mode, by obsim."""
    path = os.path.join(out, f"optical-{n}.trace")
    with open(path, "w") as f:
        f.write(f"ranks {n}\nrepeat 9\nbcast {bytes_} algorithm=linear\nend\n")
    said = subprocess.run([obsim, "-k", str(K), "-a", "0", "-b", repr(c / 1e3 / bytes_), "-g", repr(gamma / 1e3), "--calls",
                           "--json", path], check=True, capture_output=True, text=True).stdout
    return {m["mode"]: m["each"][-1]["took_s"] * 1e3 for m in json.loads(said)["modes"] if m["mode"] in modes}


def linear(n):
    data = rows(n)
    bytes_ = next(iter(data))[1]
    ms = {mode: statistics.median(v) for (mode, _), v in data.items()}
    gamma, circuits = gamma_ms(n)
    s = n - 1
    c = max(0.0, (ms["batched"] - -(-s // K) * gamma) / s)
    told = predicted(n, bytes_, gamma, c, ms)
    by_round = {mode: [v / b for v, b in zip(data[(mode, bytes_)], data[("batched", bytes_)])] for mode in ms}
    ratio = {mode: statistics.median(v) for mode, v in by_round.items()}
    print(f"\nLinear broadcast of {bytes_} bytes among {n} clusters, k = {K}, line {rate}, extra {extra_ms:g} ms")
    print(f"gamma {gamma:.1f} ms (median of {circuits} links), c {c:.1f} ms; to batched: of two jobs of one round")
    print(f"{'':>10} {'ms':>9} {'obsim':>9} {'to batched':>11} {'obsim':>7}   rounds")
    for mode in ms:
        print(f"{mode:>10} {ms[mode]:>9.1f} {told[mode]:>9.1f} {ratio[mode]:>11.3f} {told[mode] / told['batched']:>7.3f}   "
              + " ".join(f"{r:.3f}" for r in by_round[mode]))
    return {"clusters": n, "bytes": bytes_, "gamma_ms": gamma, "c_ms": c, "ms": ms, "predicted_ms": told,
            "to_batched": ratio, "by_round": by_round}


def point():
    data = rows("point")
    if not data:
        return None
    sizes_ = sorted({b for _, b in data})
    table = {b: {m: statistics.median(data[(m, b)]) for m in ("off", "naive", "hybrid")} for b in sizes_}
    measured = next((b for b in sizes_ if table[b]["naive"] < table[b]["off"]), None)
    with open(os.path.join(out, "optical-point-log.json")) as f:
        planned = sorted({e["bytes"] for e in json.load(f) if e["kind"] == "call" and e["mode"] == "hybrid"
                          and e["setups"] > 0})
    print("\nOne message, packets of 200 Mbit/s and 2 ms against light that has to be set up: ms")
    print(f"{'bytes':>10} {'packets':>9} {'light':>9} {'hybrid':>9}")
    for b in sizes_:
        print(f"{b:>10} {table[b]['off']:>9.2f} {table[b]['naive']:>9.2f} {table[b]['hybrid']:>9.2f}")
    print(f"light is faster from {measured} bytes on; hybrid takes light from {planned[0] if planned else None} on")
    return {"ms": table, "measured_from": measured, "hybrid_from": planned[0] if planned else None}


def main():
    result = {"linear": [linear(n) for n in sizes], "switch_point": point()}
    with open(os.path.join(out, "optical.json"), "w") as f:
        json.dump(result, f, indent=1)
    print()
    missed = False
    for at in result["linear"]:
        ratio, told = at["to_batched"], at["predicted_ms"]
        best = min((m for m in REAIM if m in ratio), key=ratio.get)
        missed = ratio[best] > bar
        print(f"{'MISS' if missed else 'ok  '}  {at['clusters']} clusters: {best} / batched {ratio[best]:.3f} (obsim "
              f"{told[best] / told['batched']:.3f}), bar {bar}; "
              + ", ".join(f"{m} {ratio[m]:.3f}" for m in REAIM if m in ratio))
    sys.exit(missed)


main()
