# SPDX-License-Identifier: BSD-2-Clause
"""Is the foreign peer's LAM really like LAM?  It runs the programs whose packets were
captured, and every host has to send the same packets as in the capture: all header fields
but the sequence number (LAM counts a packet before it is sent), and what identifies the
machine.  Order is compared per pair of procs, PROTOACKs by their number."""
import collections
import os
import re
import tempfile

from jobs import HERE, C, Failure, run

DATA = os.path.join(HERE, "..", "data", "interop")
LINE = re.compile(r"(\w+) len=(\d+) src=(\S+) dest=(\S+) srqid=(\d+) drqid=(\d+) msglen=(\d+) "
                  r"lsrank=(-?\d+) tag=(-?\d+) cid=(\d+) seq=\d+ count=(-?\d+) dtype=(\d+) "
                  r"resv=(\d+)(?: body=(\w+))?")


def parse(lines):
    """[(from, to, text)] -> {(from, to): [match, ...]}"""
    out = collections.defaultdict(list)
    for src, dst, text in lines:
        m = LINE.search(text)
        if not m:
            raise Failure(f"not a packet: {text}")
        out[src, dst].append(m)
    return out


def captured(name):
    lines, here = [], None
    with open(f"{DATA}/{name}.list") as f:
        for line in f:
            if line.startswith("stream"):
                here = tuple(map(int, line.split()[1:3]))
            elif not line.startswith("ident"):
                lines.append((*here, line))
    return parse(lines)


def ours(folder, nclients):
    lines = []
    for i in range(nclients):
        with open(f"{folder}/{i}.txt") as f:
            for line in f:
                _, me, direction, peer, text = line.split(" ", 4)
                if direction == "->":
                    lines.append((int(me), int(peer), text))
    return parse(lines)


def normal(streams, bodies):
    """Procs become world ranks, which data packets tell."""
    rank = {"0.0.0.0/-1": "nobody"}
    for packets in streams.values():
        for m in packets:
            if m[1].startswith("DATA"):
                rank[m[3]] = m[8]
    out = {}
    for key, packets in streams.items():
        pairs, acks = collections.defaultdict(list), collections.Counter()
        for m in packets:
            src, dest = rank.get(m[3], "silent"), rank.get(m[4], "silent")
            if m[1] == "PROTOACK":
                acks[src, dest, m.group(2, 5, 6, 7, 8, 9, 10, 11)] += 1
            else:
                # How soon the rest of a long message follows depends on the receiver.
                kind = "rest" if m[1] == "DATA" and m[6] != "0" else "first"
                pairs[src, dest, kind].append(m.group(1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13) +
                                        ((m[14],) if bodies else ()))
        out[key] = dict(pairs), acks
    return out


SCENARIOS = []


def like(name, script, procs, kind="lam", key=None, bodies=False, **args):
    def scenario(build):
        with tempfile.TemporaryDirectory() as folder:
            run(build, script, [C(n, kind) for n in procs], args=args, key=key, traces=folder)
            want, got = normal(captured(name), bodies), normal(ours(folder, len(procs)), bodies)
        for stream in want:
            if want[stream] != got.get(stream):
                raise Failure(f"{name}: host {stream[0]} to {stream[1]} sent\n{got.get(stream)}\n"
                              f"and LAM sent\n{want[stream]}")
        if set(got) != set(want):
            raise Failure(f"{name}: streams {sorted(got)} instead of {sorted(want)}")
    SCENARIOS.append((name, scenario))


TWO, ONE = ["2", "2"], ["1", "1"]
like("01-p2p-barrier-bcast-2x2", "captured_p2p", TWO)
like("03-keyauth-1x1", "pingpong", ONE, "lam,auth=both,key=5678", 5678, sizes="0,1,8")
like("04-long-1x1", "captured_long", ONE)
like("05a-ssend0-1x1", "captured_ssend", ONE, bytes=0)
like("05b-ssend100-1x1", "captured_ssend", ONE, bytes=100)
like("05c-ssend70000-1x1", "captured_ssend", ONE, bytes=70000)
like("06-flood45x100-2x2", "captured_flood", TWO)
like("07a-reduce-2x2", "captured_reduce", TWO)
like("07b-allreduce-2x2", "captured_allreduce", TWO)
like("08-asym-3x1-allpairs", "all_pairs", ["3", "1"])
like("09-types-1x1", "captured_types", ONE, bodies=True)
like("10-three-clients-2x1x2", "captured_p2p", ["2", "1", "2"], sizes="0,1,8,100")
like("11-five-clients-barrier", "captured_barriers", ["1"] * 5)
like("12-five-clients-reduce", "captured_reduce", ["1"] * 5)
like("14-datalen1024-ack2-hi4-1x1", "captured_datalen", ONE,
     "lam,datalen=1024,ackmark=2,hiwater=4")
like("15-types-hetero-1x1", "captured_types", ONE, "lam-be", bodies=True)
like("16-unexpected-long-1x1", "captured_unexpected", ONE)
