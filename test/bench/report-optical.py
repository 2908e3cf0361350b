"""report-optical.py OUT BAR EXTRA_MS RATE SIZES: what optical.sh has measured, beside the closed formulas
(S = p - 1 messages, k = 2 ports):

    naive      S (gamma + c)
    batched    ceil(S / k) gamma + S c
    pipelined  gamma + S c + (ceil(S / k) - 1) max(0, gamma - (k - 1) c)

gamma is the time from the order of a circuit until both relays have found each other, by the
conductor's log; c is what is left of the batched time.  So batched agrees by itself; the others
need not.  The ratio that the bar is about is the median of the rounds' ratios."""
import json
import os
import statistics
import sys

out, bar, extra_ms, rate, sizes = (sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4],
                                   [int(n) for n in sys.argv[5].split()])
K = 2


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
    """Mean time from order to lit to found."""
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


def formulas(s, gamma, c):
    turns = -(-s // K)
    return {"naive": s * (gamma + c), "batched": turns * gamma + s * c,
            "pipelined": gamma + s * c + (turns - 1) * max(0.0, gamma - (K - 1) * c)}


def paired(data, bytes_):
    """Pipelined to batched, round by round: the two of a round ran one after the other."""
    return [p / b for p, b in zip(data[("pipelined", bytes_)], data[("batched", bytes_)])]


def linear(n):
    data = rows(n)
    bytes_ = next(iter(data))[1]
    ms = {mode: statistics.median(v) for (mode, _), v in data.items()}
    gamma, circuits = gamma_ms(n)
    s = n - 1
    c = max(0.0, (ms["batched"] - -(-s // K) * gamma) / s)
    f = formulas(s, gamma, c)
    ratios = paired(data, bytes_)
    ratio = statistics.median(ratios)
    print(f"\nLinear broadcast of {bytes_} bytes among {n} clusters, k = {K}, line {rate}, extra {extra_ms:g} ms")
    print(f"gamma {gamma:.1f} ms (median of {circuits} links), c {c:.1f} ms")
    print(f"{'':>10} {'ms':>9} {'formula':>9} {'/ batched':>10} {'formula':>9}   rounds")
    for mode in ms:
        told = f"{f[mode]:>9.1f}" if mode in f else f"{'':>9}"
        by = f"{f[mode] / f['batched']:>9.3f}" if mode in f else f"{'':>9}"
        print(f"{mode:>10} {ms[mode]:>9.1f} {told} {ms[mode] / ms['batched']:>10.3f} {by}   "
              + " ".join(f"{v:.1f}" for v in data[(mode, bytes_)]))
    print("pipelined / batched by round: " + " ".join(f"{r:.3f}" for r in ratios) + f"; median {ratio:.3f}")
    return {"clusters": n, "bytes": bytes_, "gamma_ms": gamma, "c_ms": c, "ms": ms, "formula_ms": f,
            "pipelined_to_batched": ratio, "by_round": ratios}


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
    last = result["linear"][-1]
    ratio = last["pipelined_to_batched"]
    formula = last["formula_ms"]["pipelined"] / last["formula_ms"]["batched"]
    short = (ratio - bar) * last["ms"]["batched"]
    print(f"\npipelined / batched at {sizes[-1]} clusters: {ratio:.3f}, formula {formula:.3f}, bar {bar}: "
          + (f"missed, pipelined would have to take {short:.1f} ms less" if ratio > bar else
             f"met with {-short:.1f} ms to spare"))
    sys.exit(ratio > bar)


main()
