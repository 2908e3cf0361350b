# SPDX-License-Identifier: BSD-2-Clause
"""Rounds in which contenders take short turns, for benches that compare.

In a round each has a turn, in an order that alternates, so those that are compared are a hundredth
of a second apart: a virtual machine's cores change their speed, and what lies between them, from one
second to the next.  Whoever takes more than SLOW (2) times the time of the fastest in each of the
first three rounds has a turn in every fifth only.

A contender has a name and take(what, size), which lets it run for a turn and returns what is to be
kept of it, or None if it has given up and is not to be asked again for this.
"""
import os
import statistics

ROUNDS = int(os.environ.get("ROUNDS", 20))
SLOW = 2


def of(session, contenders, what, size, slowness, out):
    """All rounds of one measure; slowness() of what a turn returned.  out gets the turns."""
    slow = {c: 0 for c in contenders}
    for r in range(ROUNDS):
        got = {}
        for c in contenders if r % 2 == 0 else contenders[::-1]:
            if c not in slow or (slow[c] == 3 and r % 5):
                continue
            row = c.take(what, size)
            if row is None:
                del slow[c]
                continue
            got[c] = row
            out.append({"session": session, "round": r, "contender": c.name, **row})
        best = min((slowness(g) for g in got.values()), default=0)
        for c in got:
            if r < 3 and slowness(got[c]) > SLOW * best:
                slow[c] += 1


def quartiles(ratios):
    return statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3


def ticks():
    """Time the hypervisor did not give us so far, and all time, of all cores."""
    with open("/proc/stat", encoding="ascii") as f:
        t = [int(t) for t in f.readline().split()[1:9]]
    return t[7], sum(t)


def stolen(before):
    """The hypervisor's share since ticks() returned before."""
    steal, everything = (b - a for a, b in zip(before, ticks()))
    return steal / max(1, everything)
