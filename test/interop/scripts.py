# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of MPI procs: each function is called once per rank with its Proc."""
import itertools
import os
import struct
import time
from fractions import Fraction

from foreign.proc import ANY_SOURCE, ANY_TAG


def pattern(n, seed):
    return bytes((i * 7 + seed * 31 + (i >> 8)) & 255 for i in range(n))


def ends(p):
    """Two ranks of different clients, and which of them this is (None: a bystander)."""
    a, b = 0, p.size - 1
    assert p.table.client_of(a) != p.table.client_of(b)
    return a, b, {a: b, b: a}.get(p.rank)


def empty(p):
    """Start-up, the barrier of Finalize, FINI."""


def pingpong(p):
    a, b, other = ends(p)
    for n in map(int, p.args.get("sizes", "0,1,8,100,1024").split(",")):
        if p.rank == a:
            p.send("s", pattern(n, 1), b, 11)
        if other is not None:
            got = p.recv("s", other, 11 if p.rank == b else 12)
            assert got.values == pattern(n, 1) and got.source == other, got
        if p.rank == b:
            p.send("s", got.values, a, 12)


def exchange(p, tag, n, seed=0):
    """One message 0 -> last rank, then one back."""
    a, b, other = ends(p)
    for sender in (a, b):
        if p.rank == sender:
            p.send("s", pattern(n, seed), other, tag)
        elif other is not None:
            assert p.recv("s", sender, tag).values == pattern(n, seed)


# The programs whose packets were captured from LAM/MPI (test/data/interop).

def captured_p2p(p):
    pingpong(p)
    p.barrier()
    for root in range(p.size):
        assert p.bcast("i", [1000 + root] if p.rank == root else None, root) == [1000 + root]


def captured_long(p):
    for k, n in enumerate((65535, 65536, 65537, 200000)):
        exchange(p, 21 + k, n)


def captured_datalen(p):
    for k, n in enumerate((1024, 1025, 9000)):
        exchange(p, 21 + k, n)


def captured_ssend(p):
    n = int(p.args["bytes"])
    if p.rank == 0:
        p.ssend("s", pattern(n, 0), 1, 5)
    else:
        assert p.recv("s", 0, 5).values == pattern(n, 0)


def captured_flood(p):
    for k in range(45):
        if p.rank == 0:
            p.send("s", pattern(100, k), 3, 9)
        elif p.rank == 3:
            assert p.recv("s", 0, 9).values == pattern(100, k)


def captured_reduce(p):
    for root in range(p.size):
        p.reduce("i", [p.rank, p.rank + 2], "sum", root)


def captured_allreduce(p):
    n = p.size
    assert p.allreduce("i", [p.rank, p.rank + 2], "sum") == [n * (n - 1) // 2,
                                                              n * (n - 1) // 2 + 2 * n]


def captured_types(p):
    for tag, (fmt, values) in enumerate((("d", [1.5, -2.25, 1e300]), ("i", [0x01020304]),
                                         ("l", [-3]), ("h", [-2]), ("f", [0.5]),
                                         ("i", [1, 3, 5])), 1):
        if p.rank == 0:
            p.send(fmt, values, 1, tag)
        else:
            assert p.recv(fmt, 0, tag).values == values


def captured_barriers(p):
    for _ in range(3):
        p.barrier()


def captured_unexpected(p):
    if p.rank == 0:
        reqs = [p.isend("s", bytes(70000), 1, 1), p.isend("s", bytes(10), 1, 2)]
        for req in reqs:
            p.wait(req)
    else:
        p.probe(0, 1)
        assert p.recv("s", 0, 2).values == bytes(10)
        assert p.recv("s", 0, 1).values == bytes(70000)


def sizes(p):
    """Around DATALEN; standard and synchronous; posted first and unexpected."""
    a, b, other = ends(p)
    if other is None:
        return
    d = p.table.datalen
    for n in sorted({0, 1, d - 1, d, d + 1, 2 * d, 2 * d + 1, 10 * d + 1}):
        for sync in (False, True):
            for posted in (False, True):
                for sender in (a, b):
                    one_size(p, n, sync, posted, sender, other)


def one_size(p, n, sync, posted, sender, other):
    if p.rank == sender:
        if posted:
            p.recv("s", other, 90)
        req = p.isend("s", pattern(n, n), other, 21, sync=sync)
        p.wait(req)
        return
    if posted:
        req = p.irecv("s", other, 21)
        p.send("s", b"", other, 90)
    else:
        assert p.probe(other, ANY_TAG) == (other, 21, n)
        req = p.irecv("s", ANY_SOURCE, ANY_TAG)
    got = p.wait(req)
    assert got.values == pattern(n, n) and (got.source, got.tag) == (other, 21), (n, got)


def all_pairs(p):
    """One int between every ordered pair of ranks."""
    for r in range(p.size):
        if r != p.rank:
            p.send("i", [p.rank * 1000 + r], r, 30)
    for r in range(p.size):
        if r != p.rank:
            assert p.recv("i", r, 30).values == [r * 1000 + p.rank]


def saturate(p):
    """Everybody floods everybody of the other clients; order holds per pair."""
    n = int(p.args.get("messages", 60))
    others = [r for r in range(p.size) if p.table.client_of(r) != p.client]
    reqs = [p.isend("i", [k] * (1 + k % 5), r, 9) for k in range(n) for r in others]
    for k in range(n):
        for r in others:
            assert p.recv("i", r, 9).values == [k] * (1 + k % 5)
    for req in reqs:
        p.wait(req)
    p.barrier()
    if not p.agent.b.one_fifo:
        assert p.agent.credit.sent_max <= p.table.hiwater, p.agent.credit.sent_max


def stalled_receiver(p):
    """Rank 2 gives no credit: 0 -> 2 stands still, 0 -> 3 and 1 -> 3 on the same
    connection go on."""
    hi, extra, rounds = p.table.hiwater, 5, 40
    if p.rank == 2:
        p.stall(True)
        p.send("s", b"", 0, 1)
        p.send("s", b"", 1, 1)
        p.recv("s", 3, 4)  # the others are through
        arrived = len([m for m in p.inbox.unexpected if m.tag == 5])
        assert arrived <= hi, arrived
        p.stall(False)
        for k in range(hi + extra):
            assert p.recv("i", 0, 5).values == [k]
    elif p.rank in (0, 1):
        p.recv("s", 2, 1)
        if p.rank == 0:
            for k in range(hi + extra):
                p.isend("i", [k], 2, 5)
        for k in range(rounds):
            p.send("i", [k], 3, 6)
            assert p.recv("i", 3, 7).values == [k + p.rank]
    elif p.rank == 3:
        for k in range(rounds):
            for r in (0, 1):
                assert p.recv("i", r, 6).values == [k]
                p.send("i", [k + r], r, 7)
        p.send("s", b"", 2, 4)


def reverse_answers(p):
    """Long messages of one pair, taken in reverse order; a short one overtakes them."""
    a, b, other = ends(p)
    if other is None:
        return
    n = [p.table.datalen * k + 3 for k in (3, 2, 4)]
    if p.rank == a:
        reqs = [p.isend("s", pattern(size, t), b, t) for t, size in enumerate(n)]
        p.send("s", b"short", b, 50)
        for req in reqs:
            p.wait(req)
    else:
        assert p.recv("s", a, 50).values == b"short"
        reqs = []
        for t in reversed(range(len(n))):
            reqs.append((t, p.irecv("s", a, t)))
        for t, req in reqs:
            assert p.wait(req).values == pattern(n[t], t), t


def cancel(p):
    """Rank 0 cancels what the last rank has not taken, and what it has."""
    a, b, other = ends(p)
    if other is None:
        return
    d = p.table.datalen
    always_no = p.args.get("always_no") == "1"
    cases = [("short sync", 10, True), ("long", 2 * d + 1, False), ("long sync", 3 * d, True)]
    for tag, (what, n, sync) in enumerate(cases):
        if p.rank == a:
            req = p.isend("s", pattern(n, tag), b, tag, sync=sync)
            p.recv("s", b, 60)  # it is there, and nobody has taken it
            assert p.cancel(req) != always_no, what
            p.send("s", b"", b, 61)
            p.wait(req)
            assert req.cancelled != always_no, what
            req = p.isend("s", pattern(n, tag), b, tag + 10, sync=sync)
            p.recv("s", b, 62)  # it has been taken, or is being taken
            assert not p.cancel(req), what
            p.wait(req)
        else:
            p.probe(a, tag)
            p.send("s", b"", a, 60)
            p.recv("s", a, 61)
            if always_no:
                assert p.recv("s", a, tag).values == pattern(n, tag)
            assert p.iprobe(a, tag) is None, what
            got = p.wait(take_then_tell(p, a, tag + 10))
            assert got.values == pattern(n, tag), what


def take_then_tell(p, a, tag):
    p.probe(a, tag)
    req = p.irecv("s", a, tag)
    p.send("s", b"", a, 62)
    return req


def cancel_same_id(p):
    """Two buffered messages with one request id: the newest one goes."""
    a, b, other = ends(p)
    if p.rank == a:
        first = p.isend("i", [1], b, 1, srqid=77)
        second = p.isend("i", [2], b, 1, srqid=77)
        p.send("s", b"", b, 4)
        p.recv("s", b, 2)
        assert p.cancel(second)
        p.send("s", b"", b, 3)
        p.wait(first)
    elif p.rank == b:
        p.recv("s", a, 4)  # so both are there
        p.send("s", b"", a, 2)
        p.recv("s", a, 3)
        assert p.recv("i", a, 1).values == [1]
        assert p.iprobe(a, 1) is None


def cancel_receive(p):
    a, b, other = ends(p)
    if p.rank == b:
        req = p.irecv("i", a, 1)
        assert p.cancel(req) and req.cancelled
        p.send("s", b"", a, 2)
        assert p.recv("i", a, 1).values == [5]
    elif p.rank == a:
        p.recv("s", b, 2)
        p.send("i", [5], b, 1)


def probe(p):
    a, b, other = ends(p)
    n = 3 * p.table.datalen + 1
    if p.rank == a:
        assert p.iprobe(b, 5) is None
        p.send("s", b"ab", b, 4)
        req = p.isend("s", pattern(n, 0), b, 5)
        p.recv("s", b, 6)
        p.wait(req)
    elif p.rank == b:
        assert p.probe(a, 5) == (a, 5, n)      # the whole length, from the first packet
        assert p.iprobe(ANY_SOURCE, ANY_TAG) == (a, 4, 2)
        p.send("s", b"", a, 6)
        assert p.recv("s", a, 4).values == b"ab"
        assert p.recv("s", a, 5).values == pattern(n, 0)


def overtaking(p):
    """First packets are matched in the order of the send calls, short or long."""
    a, b, other = ends(p)
    n = [5, 4 * p.table.datalen, 1, 2 * p.table.datalen + 1, 0]
    if p.rank == a:
        for req in [p.isend("s", pattern(size, k), b, 3) for k, size in enumerate(n)]:
            p.wait(req)
    elif p.rank == b:
        for k, size in enumerate(n):
            assert p.recv("s", ANY_SOURCE, 3).values == pattern(size, k), k


VALUES = {"b": [-128, -1, 127], "h": [-2, 0x1234], "i": [0x01020304, -1], "l": [-3, 2 ** 31 - 1],
          "q": [-(2 ** 63), 2 ** 40 + 1], "f": [0.5, -1.5], "d": [1.5, -2.25, 1e300]}


def types(p):
    a, b, other = ends(p)
    for tag, (fmt, values) in enumerate(VALUES.items()):
        if other is not None:
            p.send(fmt, values, other, tag)
            assert p.recv(fmt, other, tag).values == values, fmt


# The basic types of external32, one line for each row of the same table in peer.c.
ALL_TYPES = (
    ("b", [-128, -1, 127]), ("b", [-2, 65]), ("B", [0, 1, 255]), ("s", b"\0\1\xff"),
    ("h", [-32768, 0x1234]), ("H", [65535, 1]), ("i", [0x01020304, -1]), ("I", [2 ** 32 - 2, 1]),
    ("l", [-3, 2 ** 31 - 1, -2 ** 31]), ("L", [2 ** 32 - 1, 0]),
    ("q", [-2 ** 63, 2 ** 40 + 1]), ("Q", [2 ** 64 - 1, 1]),
    ("f", [0.5, -1.5]), ("d", [1.5, -2.25, 1e300, 5e-324]),
    ("g", [Fraction(3, 2), Fraction(-1, 1024), 1 + Fraction(1, 2 ** 63), Fraction(0)]),
    ("w", [0x41, 0x20ac]), ("?", [True, False, True]),
    ("b", [-128, 127]), ("h", [-2, 3]), ("i", [-4, 5]), ("q", [-6, 7]),
    ("B", [255, 1]), ("H", [65535, 2]), ("I", [2 ** 32 - 1, 3]), ("Q", [2 ** 64 - 1, 4]),
    ("q", [-1, 2 ** 40]), ("q", [-2, 2 ** 41]), ("q", [-3, 2 ** 42]),
    ("F", [(0.5, -1.5), (2.0, 0.0)]), ("D", [(1.5, -2.25)]),
    ("G", [(Fraction(3, 2), Fraction(-1, 4))]),
    ("fi", [(0.5, -1), (1.5, 2)]), ("di", [(0.5, -1), (1.5, 2)]), ("li", [(-3, -1), (4, 2)]),
    ("ii", [(-3, -1), (4, 2)]), ("hi", [(-3, -1), (4, 2)]), ("gi", [(Fraction(1, 2), -1)]),
    ("b", [65, 66, 67]), ("i", [1, 0]), ("i", [7, -7]), ("f", [0.25]), ("d", [0.125]),
    ("F", [(0.5, -1.5)]), ("D", [(1.5, -2.25)]),
    ("b", [-1]), ("h", [-1]), ("i", [-1]), ("q", [-1]), ("f", [1.25]), ("d", [1.25]),
    ("F", [(1.0, 2.0)]), ("D", [(1.0, 2.0)]),
    ("di", [(0.5, -1), (1.5, 2), (2.5, 3)]),  # a structure with a gap, described by MPI
)


def all_types(p):
    """Every row, alone and many times (so that some are long messages), then MPI_Pack."""
    a, b, other = ends(p)
    if other is None:
        return
    for times in (1, int(p.args.get("times", 1))):
        for tag, (fmt, values) in enumerate(ALL_TYPES):
            values = values * times
            req = p.isend(fmt, values, other, tag)
            got = p.recv(fmt, other, tag)
            assert got.values == values, (tag, fmt, got.values[:8], values[:8])
            p.wait(req)
    order = "<" if p.how(other) == "le8" else ">"
    packed = struct.pack(order + "idh", -5, 1.5, 77)
    p.send("s", packed, other, 99)
    got = p.recv("s", other, 99)
    assert got.values == packed, got.values.hex()


def other_comms(p):
    """Communicators with ranks in other orders; None: this rank is not in it."""
    # first ranks of all clients, then second ranks, ...
    turns = sorted(range(p.size), key=lambda r: (r - p.table.first_rank(r), -r))
    half = [r for r in range(p.size) if r % 2 == 0]
    return [p.comm_dup(), p.comm_create(list(reversed(range(p.size)))), p.comm_create(turns),
            p.comm_create(half + [p.size - 1] if (p.size - 1) not in half else half)]


def collectives(p):
    """World and, unless it is LAM's world only, communicators with ranks in other orders."""
    comms = [p.world]
    if p.args.get("world_only") != "1":
        comms += other_comms(p)
    for comm in comms:
        if comm is None:
            continue
        me = comm.rank_of(p.rank)
        p.barrier(comm)
        for root in range(comm.size):
            roots(p, comm, me, root)
        total = p.allreduce("i", [me, 1], "sum", comm)
        assert total == [comm.size * (comm.size - 1) // 2, comm.size], total
        assert p.allreduce("d", [me + 0.5], "max", comm) == [comm.size - 0.5]
        p.barrier(comm)


def roots(p, comm, me, root):
    n = [1, 0, p.table.datalen // 4 + 3 if p.args.get("world_only") != "1" else 5]
    for count in n:
        values = [root * 100 + k for k in range(count)]
        got = p.bcast("i", values if me == root else None, root, comm)
        assert got == values, (root, count)
        got = p.reduce("i", [me + k for k in range(count)], "sum", root, comm)
        if me == root:
            assert got == [comm.size * (comm.size - 1) // 2 + k * comm.size
                           for k in range(count)], (root, got)
    got = p.reduce("q", [me + 1, 1, 0, 1], matrices, root, comm, commute=False)
    if me == root:
        want = [1, 0, 0, 1]
        for r in range(comm.size):
            want = matrices(want, [r + 1, 1, 0, 1])
        assert got == want, (root, got, want)


def matrices(a, b):
    return [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
            a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]]


def value(src, dest, k):
    return src * 1000 + dest * 37 + k


def profile(p):
    """The collectives of reference 7.7, short and long, and MPI_Comm_split."""
    comms = [p.world] + other_comms(p)
    comms.append(p.comm_split(p.rank % 2, -p.rank))
    comms.append(p.comm_split(-1 if p.rank == p.size - 1 else 0, p.rank))
    for comm in comms:
        if comm is None:
            continue
        me = comm.rank_of(p.rank)
        x = p.table.xsize // 4
        for root in range(comm.size):
            for count in (0, 3, x + 1):
                rooted(p, comm, me, root, "i", count)
            rooted(p, comm, me, root, "l", x - x // 4)  # long ones count 4 bytes
            rooted_v(p, comm, me, root)
        for count in (0, 3, x + 1):
            everywhere(p, comm, me, count)
        everywhere_v(p, comm, me)
        got = p.scan("i", [me, 1], plus, comm)
        assert got == [me * (me + 1) // 2, me + 1], got
        got = p.scan("q", [me + 1, 1, 0, 1], matrices, comm)
        want = [1, 0, 0, 1]
        for r in range(me + 1):
            want = matrices(want, [r + 1, 1, 0, 1])
        assert got == want, (got, want)
        p.barrier(comm)


def plus(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def rooted(p, comm, me, root, fmt, count):
    block = [value(me, root, k) for k in range(count)]
    got = p.gather(fmt, block, root, comm)
    assert got == ([[value(r, root, k) for k in range(count)] for r in range(comm.size)]
                   if me == root else None), (root, count)
    blocks = [[value(root, r, k) for k in range(count)] for r in range(comm.size)]
    got = p.scatter(fmt, blocks if me == root else None, count, root, comm)
    assert got == blocks[me], (root, count, got)


def rooted_v(p, comm, me, root):
    blocks = [[value(r, root, k) for k in range(r % 3)] for r in range(comm.size)]
    got = p.gatherv("i", blocks[me], root, comm)
    assert got == (blocks if me == root else None), (root, got)
    got = p.scatterv("i", blocks if me == root else None, root, comm)
    assert got == blocks[me], (root, got)


def everywhere(p, comm, me, count):
    got = p.allgather("i", [value(me, 0, k) for k in range(count)], comm)
    assert got == [[value(r, 0, k) for k in range(count)] for r in range(comm.size)], count
    got = p.alltoall("i", [[value(me, r, k) for k in range(count)] for r in range(comm.size)],
                     comm)
    assert got == [[value(r, me, k) for k in range(count)] for r in range(comm.size)], count


def everywhere_v(p, comm, me):
    counts = [r % 3 for r in range(comm.size)]
    got = p.allgatherv("i", [value(me, 0, k) for k in range(counts[me])], counts, comm)
    assert got == [[value(r, 0, k) for k in range(counts[r])] for r in range(comm.size)], got
    got = p.alltoallv("i", [[value(me, r, k) for k in range((me + r) % 3)]
                            for r in range(comm.size)], comm)
    assert got == [[value(r, me, k) for k in range((me + r) % 3)]
                   for r in range(comm.size)], got
    total = sum(counts)
    got = p.reduce_scatter("i", [me + k for k in range(total)], counts, "sum", comm)
    first, s = sum(counts[:me]), comm.size * (comm.size - 1) // 2
    assert got == [s + (first + k) * comm.size for k in range(counts[me])], got


def barriers(p):
    """Nobody leaves a barrier before everybody has come; told by files in `dir`."""
    for k in range(6):
        if p.rank == k % p.size:
            time.sleep(0.03)
        open(os.path.join(p.args["dir"], f"{k}.{p.rank}"), "x").close()
        p.barrier()
        for r in range(p.size):
            assert os.path.exists(os.path.join(p.args["dir"], f"{k}.{r}")), (k, r)


def attributes(p):
    a = p.attributes()
    assert a["IMPI_CLIENT_SIZE"] == p.table.nclients and a["IMPI_CLIENT_COLOR"] == p.client
    assert a["IMPI_HOST_SIZE"] == len(p.table.hosts)
    assert a["IMPI_HOST_COLOR"] == p.table.host_of[p.rank].index
    assert p.table.maxlinear == int(p.args.get("maxlinear", 4))
    assert p.table.xsize == int(p.args.get("xsize", 1024))
    assert p.table.datalen == int(p.args.get("datalen", 16384))
    assert p.table.tagub == int(p.args.get("tagub", 0x3fffffff))


def last_minute(p):
    """Traffic just before Finalize: nobody waits for it, all of it arrives."""
    others = [r for r in range(p.size) if r != p.rank]
    for k in range(20):
        for r in others:
            p.isend("i", [k], r, 8)
    for r in others:
        for k in range(20):
            assert p.recv("i", r, 8).values == [k]


def late_rank(p):
    """The others' hosts may say FINI while ranks of this client are still at work."""
    if p.rank == 0:
        p.send("i", [1], p.size - 1, 1)
    if p.rank == p.size - 1:
        p.recv("i", 0, 1)
    finalize = p.finalize

    def later():
        p.barrier()
        if p.client == 0 and p.rank != 0:
            time.sleep(0.2)
        p.agent.end(p.rank)
    assert finalize
    p.finalize = later


def mixture(p):
    """A bit of everything, for jobs with bad weather or bad neighbours."""
    pingpong(p)
    all_pairs(p)
    if p.args.get("long", "1") == "1":
        reverse_answers(p)
        overtaking(p)
    saturate(p)
    p.barrier()


def endless(p):
    """Goes on until somebody breaks something."""
    for k in itertools.count():
        # long=1: long and synchronous ones among them
        long, sync = (p.args.get("long") == "1" and k % n == 0 for n in (4, 5))
        values = [1, 2, 3] * (p.table.datalen if long else 1)
        for r in range(p.size):
            if r != p.rank:
                p.isend("i", values, r, 1, sync=sync)
        for r in range(p.size):
            if r != p.rank:
                assert p.recv("i", r, 1).values == values
