#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns of relay.sh -> table, relay.json, relay.svg.

    report-relay.py ROWS OUT-DIRECTORY

Ratios are of neighbouring turns of a session (relay-turns.py): each of ours with the mean of the
peer's nearest, before and after it.  Median and quartiles of all are told; the bar judges the median."""
import collections
import json
import os
import shutil
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import picture  # noqa: E402

rows = collections.defaultdict(list)
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row.get('busy_s'):
        row['busy_mpps'] = row['busy_segments'] / row['busy_s'] / 1e6
    rows[row['name']].append(row)
out = sys.argv[2]
result = {}


def us(row):
    """One way, or half a round trip."""
    return row['half_us_median'] if 'half_us_median' in row else row['p50_us']


def near(row, peer, value):
    """The peer's value then."""
    beside = [p for p in rows[peer] if p['session'] == row['session']]
    least = min(abs(p['number'] - row['number']) for p in beside)
    return statistics.mean(value(p) for p in beside if abs(p['number'] - row['number']) == least)


def median(what, value):
    return statistics.median(map(value, rows[what]))


def line(name, ours, peer, ratios, bar=None):
    """bar: (text, function), or None: it is told and not judged."""
    low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    met = bar[1](ratio) if bar else None
    result[name] = {'ours': ours, 'peer': peer, 'ratio': ratio, 'quartiles': [low, high], 'turns': len(ratios),
                    'bar': bar[0] if bar else None, 'met': met}
    print(f'| {name} | {ours:.3f} | {peer:.3f} | {ratio:.3f} | {low:.3f} to {high:.3f} | {len(ratios)} '
          f'| {bar[0] if bar else "-"} | {"" if met is None else "met" if met else "MISSED"} |')


def rate(name, a, b, key, bar=None, peer_key=None):
    if not rows.get(a) or not rows.get(b):
        return
    peer_key = peer_key or key
    line(name, median(a, lambda r: r[key]), median(b, lambda r: r[peer_key]),
         [r[key] / near(r, b, lambda p: p[peer_key]) for r in rows[a]], bar)


def by_speed(name, a, b, key):
    """The ratio when the peer was slowest and when it was fastest, a quarter of the turns each: what the
    machine lacks at times, ours and the peer need unequally."""
    pairs = sorted((near(r, b, lambda p: p[key]), r[key]) for r in rows[a])
    quarter = len(pairs) // 4
    for text, part in (('slowest', pairs[:quarter]), ('fastest', pairs[-quarter:])):
        if quarter > 1:
            line(f'{name}, while macswap was {text}', statistics.median(o for _, o in part),
                 statistics.median(p for p, _ in part), [o / p for p, o in part])


def added(row):
    """One hop more than the wire between the same ends, one way."""
    return us(row) - near(row, 'hop-tcp' if row['name'] == 'hop-haproxy' else 'hop-wire', us)


def hops():
    wire = sorted(map(us, rows['hop-wire']))
    line('one-way us over the wire, a turn / the quickest', statistics.median(wire), wire[0],
         [w / wire[0] for w in wire])
    for peer, bar in (('hop-haproxy', 1.0), ('hop-macswap', 1.5), ('hop-kernel', None)):
        # The kernel's is next to nothing: no ratio of single turns.
        ratios = [added(r) / near(r, peer, added) for r in rows['hop-relay']] if bar else [
            median('hop-relay', added) / median(peer, added)]
        line(f'added one-way us, relay / {peer[4:]}', median('hop-relay', added), median(peer, added),
             ratios, bar and (f'<= {bar}', lambda r, bar=bar: r <= bar))
    # The whole way, ends and wires included: no difference of two small figures.
    line('one-way us with ends, relay / macswap', median('hop-relay', us), median('hop-macswap', us),
         [us(r) / near(r, 'hop-macswap', us) for r in rows['hop-relay']])


def workers():
    """Two workers with work at the same time (relay-workers.py): ns a segment of each beside what it is on that CPU with
    the other one idle, and beside two relayds that share nothing; and what both forward, while they have work."""
    both = rows['workers-both']

    def ns(row, cpu):
        return row['workers'][cpu if len(row['workers']) > 1 else 0]['ns']

    def against(what, peers, bar):
        ratios = [ns(r, c) / near(r, peers[c], lambda p, c=c: ns(p, c)) for r in both for c in (0, 1)]
        line(what, statistics.mean(median('workers-both', lambda r, c=c: ns(r, c)) for c in (0, 1)),
             statistics.mean(median(peers[c], lambda p, c=c: ns(p, c)) for c in (0, 1)), ratios, bar)

    bar = ('<= 1.05', lambda r: r <= 1.05)
    against('ns a segment of a worker, the other has work / is idle', ('workers-one0', 'workers-one1'), bar)
    against('ns a segment of two workers, in one relayd / in one each', ('workers-apart', 'workers-apart'), bar)
    rates = [(sum(1e3 / ns(r, c) for c in (0, 1)),
              statistics.mean(1e3 / near(r, f'workers-one{c}', lambda p: ns(p, 0)) for c in (0, 1))) for r in both]
    line('Mpps in the time they had work, two workers / one', statistics.median(r[0] for r in rates),
         statistics.median(r[1] for r in rates), [a / b for a, b in rates], ('>= 1.9', lambda r: r >= 1.9))


print('| measure | ours | peer | ratio | quartiles | turns | bar | |')
print('|---|---|---|---|---|---|---|---|')
for size in (64, 1400):
    for gen in ('template', 'endpoint'):
        sealed, ours, peer = f'sealed-{size}-{gen}', f'relay-{size}-{gen}', f'macswap-{size}'
        rate(f'Mpps, {size} B from {gen}s, sealed / unsealed', sealed, ours, 'mpps',
             ('>= 0.8', lambda r: r >= 0.8) if gen == 'template' else None)
        rate(f'Mpps, {size} B from {gen}s, sealed / unsealed, in the time they had work', sealed, ours, 'busy_mpps')
        rate(f'Mpps, {size} B from {gen}s, sealed / macswap', sealed, peer, 'mpps')
for size, least in ((64, 0.5), (1400, 0.8)):
    for gen in ('template', 'endpoint'):
        ours, peer = f'relay-{size}-{gen}', f'macswap-{size}'
        rate(f'Mpps, {size} B from {gen}s, relay / macswap', ours, peer, 'mpps',
             (f'>= {least}', lambda r, least=least: r >= least) if gen == 'template' else None)
        rate(f'Mpps, {size} B from {gen}s, relay in the time it had work / macswap', ours, peer, 'busy_mpps',
             peer_key='mpps')
        if gen == 'template' and rows.get(ours):
            by_speed(f'Mpps, {size} B from {gen}s, relay / macswap', ours, peer, 'mpps')
for other in [n for n in rows if n.startswith('other-')]:
    ours = other.removeprefix('other-')
    rate(f'Mpps, {ours}, these / the other', ours, other, 'mpps')
    rate(f'Mpps in the time it had work, {ours}, these / the other', ours, other, 'busy_mpps')
for gen in ('template', 'endpoint'):
    rate(f'Mpps, 64 B from {gen}s, 100 000 lanes / 1', f'lanes-{gen}', f'relay-64-{gen}', 'mpps',
         ('>= 0.8', lambda r: r >= 0.8))
if rows.get('workers-both'):
    workers()
if rows.get('hop-relay'):
    hops()
rate('Gb/s, 1 MB, two relays / one', 'series-2', 'series-1', 'gbps', ('>= 0.95', lambda r: r >= 0.95))
with open(os.path.join(out, 'relay.json'), 'w') as f:
    json.dump({'bars': result, 'rows': rows}, f, indent=1)
    f.write('\n')
if shutil.which('gnuplot') and result:
    picture.bars(f'{out}/relay.svg', 'Measured', 'a relay beside its peers, median and quartiles of turns',
                 'ours / peer', [(name, r['ratio'], *r['quartiles']) for name, r in result.items()], bound=1)
print(f'JSON, SVG: {out}/relay.*')
