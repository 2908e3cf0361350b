#!/usr/bin/env python3
"""Rows of relay.sh -> table, relay.json, relay.svg.

    report-relay.py ROWS OUT-DIRECTORY
"""
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys

rows = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    what, number, text = line.split(' ', 2)
    rows[what][int(number)] = json.loads(text)
out = sys.argv[2]
result = {}


def median(what, key):
    return statistics.median(r[key] for r in rows[what].values())


def ratios(a, b, key):
    """Round by round: what else the machine did is in both."""
    return [rows[a][i][key] / rows[b][i][key] for i in rows[a] if i in rows[b]]


def line(name, ours, peer, ratio, bar, unit):
    verdict = '' if bar[0] == '-' else 'met' if bar[1](ratio) else 'MISSED'
    result[name] = {'ours': ours, 'peer': peer, 'ratio': ratio, 'bar': bar[0], 'unit': unit,
                    'met': bar[1](ratio)}
    print(f'| {name} | {ours:.3f} | {peer:.3f} | {ratio:.2f} | {bar[0]} | {verdict} |')


def best(what):
    """Half a round trip or one way, us, of the quietest round: what else the machine does only
    adds to it."""
    return min(r['rows'][0]['half_us_median'] if 'rows' in r else r['p50_us'] for r in rows[what].values())


def added(what):
    """One hop more than the wire between the same ends, one way."""
    return best(what) - best('hop-tcp' if what == 'hop-haproxy' else 'hop-wire')


print('| measure | ours | peer | ratio | bar | |')
print('|---|---|---|---|---|---|')
for size, bar in ((64, 0.5), (1400, 0.8)):
    for gen in ('template', 'endpoint'):
        for part, text in (('', ''), ('-busy', ' in the time it had work')):
            ours, judged = f'relay-{size}-{gen}{part}', gen == 'template' and not part
            if rows.get(ours) and rows.get(f'macswap-{size}'):
                line(f'Mpps, {size} B from {gen}s, relay{text} / macswap', median(ours, 'mpps'),
                     median(f'macswap-{size}', 'mpps'),
                     statistics.median(ratios(ours, f'macswap-{size}', 'mpps')),
                     (f'>= {bar}', lambda r, bar=bar: r >= bar) if judged else ('-', lambda r: True), 'Mpps')
for gen in ('template', 'endpoint'):
    if rows.get(f'lanes-{gen}'):
        one = f'relay-64-{gen}'
        line(f'Mpps, 64 B from {gen}s, 100 000 lanes / 1', median(f'lanes-{gen}', 'mpps'), median(one, 'mpps'),
             statistics.median(ratios(f'lanes-{gen}', one, 'mpps')), ('>= 0.8', lambda r: r >= 0.8), 'Mpps')
if rows.get('hop-relay'):
    # The ends and a wire are in every row; what a hop adds is known as well as they are.
    wire = sorted(r['p50_us'] for r in rows['hop-wire'].values())
    if wire[-1] > 1.5 * wire[0] or wire[0] >= min(best('hop-relay'), best('hop-macswap')):
        print(f'The wire alone took {wire[0]:.1f} to {wire[-1]:.1f} us: something else ran, "added" says nothing',
              file=sys.stderr)
    line('one-way us over the wire, best / worst round', wire[0], wire[-1], wire[0] / wire[-1],
         ('-', lambda r: True), 'us')
    for peer, bar in (('hop-haproxy', 1.0), ('hop-macswap', 1.5), ('hop-kernel', None)):
        line(f'added one-way us, relay / {peer[4:]}', added('hop-relay'), added(peer),
             added('hop-relay') / added(peer),
             (f'<= {bar}', lambda r, bar=bar: r <= bar) if bar else ('-', lambda r: True), 'us')
    # The whole way, ends and wires included: no difference of two small figures.
    line('one-way us with ends, relay / macswap', best('hop-relay'), best('hop-macswap'),
         best('hop-relay') / best('hop-macswap'), ('-', lambda r: True), 'us')
if rows.get('series-1') and rows.get('series-2'):
    line('Gb/s, 1 MB, two relays / one', median('series-2', 'gbps'), median('series-1', 'gbps'),
         statistics.median(ratios('series-2', 'series-1', 'gbps')),
         ('>= 0.95', lambda r: r >= 0.95), 'Gb/s')
with open(os.path.join(out, 'relay.json'), 'w') as f:
    json.dump({'bars': result, 'rows': rows}, f, indent=1)
    f.write('\n')
if shutil.which('gnuplot') and result:
    with open(os.path.join(out, 'relay.dat'), 'w') as f:
        for name, r in result.items():
            f.write(f'"{name}" {r["ratio"]:.4f}\n')
    subprocess.run(['gnuplot', '-e', f"out='{out}'", 'test/bench/relay.gp'], check=False)
print(f'JSON, SVG: {out}/relay.*')
