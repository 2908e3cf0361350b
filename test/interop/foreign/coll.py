# SPDX-License-Identifier: BSD-2-Clause
"""The collectives that have evidence: Barrier, Bcast, Reduce, Allreduce, and context ids.

Between clients: linear up to MAXLINEAR masters, binomial trees above.  Inside a client
(the local phase, which is private) messages go straight to the master or root."""
import operator

from .wire import TAG_BARRIER, TAG_BCAST, TAG_REDUCE

OPS = {"sum": operator.add, "prod": operator.mul, "max": max, "min": min,
       "band": operator.and_, "bor": operator.or_}


def cubedim(n):
    return (n - 1).bit_length()


def hibit(v, d):
    return (v & ((1 << d) - 1)).bit_length() - 1 if v >= 1 and d >= 1 else -1


class Masters:
    """Of one communicator; all ranks are ranks in it."""

    def __init__(self, table, comm):
        self.client = [table.client_of(r) for r in comm.ranks]
        self.rank, number = [], {}
        for r, c in enumerate(self.client):
            if c not in number:
                number[c] = len(self.rank)
                self.rank.append(r)
        self.lnum = [number[c] for c in self.client]
        self.n = len(self.rank)

    def locals_of(self, r):
        return [s for s in range(len(self.client)) if self.client[s] == self.client[r] and s != r]


class Collectives:
    # --- messages of collectives ----------------------------------------------

    def _out(self, comm, fmt, values, to, tag, cid):
        self.wait(self.isend(fmt, values, to, tag, comm, cid=cid))

    def _in(self, comm, fmt, src, tag, cid):
        # LAM's rank field is the world rank in every communicator.
        client = self.table.client_of(comm.ranks[src])
        world = client != self.client and self.agent.b.of(client).world_lsrank
        return self.wait(self.irecv(fmt, comm.ranks[src] if world else src, tag, comm, cid)).values

    def _local(self, comm, tag):
        return ("local", comm.cid, tag)

    def _reduce_cid(self, comm, peer):
        client = self.table.client_of(comm.ranks[peer])
        return comm.cid if self.agent.b.wire_reduce_cid0(client) else comm.cid + 1

    # --- Barrier ----------------------------------------------------------------

    def barrier(self, comm=None):
        comm = comm or self.world
        ms, me = Masters(self.table, comm), comm.rank_of(self.rank)
        master = ms.rank[ms.lnum[me]]
        local = self._local(comm, TAG_BARRIER)
        if me != master:
            self._out(comm, "s", b"", master, TAG_BARRIER, local)
            self._in(comm, "s", master, TAG_BARRIER, local)
            return
        for r in ms.locals_of(me):
            self._in(comm, "s", r, TAG_BARRIER, local)
        self._barrier_masters(comm, ms, ms.lnum[me])
        for r in ms.locals_of(me):
            self._out(comm, "s", b"", r, TAG_BARRIER, local)

    def _barrier_masters(self, comm, ms, m):
        cid = comm.cid + 1

        def out(n):
            self._out(comm, "s", b"", ms.rank[n], TAG_BARRIER, cid)

        def come(n):
            self._in(comm, "s", ms.rank[n], TAG_BARRIER, cid)

        if ms.n <= self.table.maxlinear:
            if m == 0:
                for k in range(1, ms.n):
                    come(k)
                for k in range(1, ms.n):
                    out(k)
            else:
                out(0)
                come(0)
            return
        d = cubedim(ms.n)
        h = hibit(m, d)
        for i in range(d - 1, h, -1):
            if m | 1 << i < ms.n:
                come(m | 1 << i)
        if m > 0:
            parent = m & ~(1 << h)
            out(parent)
            come(parent)
        for i in range(h + 1, d):
            if m | 1 << i < ms.n:
                out(m | 1 << i)

    # --- Bcast --------------------------------------------------------------------

    def bcast(self, fmt, values, root, comm=None):
        """The root's values, at everybody."""
        comm = comm or self.world
        ms, me = Masters(self.table, comm), comm.rank_of(self.rank)
        local = self._local(comm, TAG_BCAST)
        # Who hands it out inside my client: the root itself, elsewhere the master.
        head = root if ms.lnum[me] == ms.lnum[root] else ms.rank[ms.lnum[me]]
        if me != head:
            return self._in(comm, fmt, head, TAG_BCAST, local)
        values = self._bcast_heads(comm, ms, fmt, values, root, me)
        for r in ms.locals_of(me):
            self._out(comm, fmt, values, r, TAG_BCAST, local)
        return values

    def _bcast_heads(self, comm, ms, fmt, values, root, me):
        cid, n, base = comm.cid + 1, ms.n, ms.lnum[root]

        def at(v):
            k = (v + base) % n
            return root if k == base else ms.rank[k]

        if n <= self.table.maxlinear:
            if me != root:
                return self._in(comm, fmt, root, TAG_BCAST, cid)
            for k in range(n):
                if k != base:
                    self._out(comm, fmt, values, ms.rank[k], TAG_BCAST, cid)
            return values
        v, d = (ms.lnum[me] - base) % n, cubedim(n)
        h = hibit(v, d)
        if v > 0:
            values = self._in(comm, fmt, at(v & ~(1 << h)), TAG_BCAST, cid)
        for i in range(h + 1, d):
            if v | 1 << i < n:
                self._out(comm, fmt, values, at(v | 1 << i), TAG_BCAST, cid)
        return values

    # --- Reduce -------------------------------------------------------------------

    def reduce(self, fmt, values, op, root, comm=None, commute=True):
        """op: a name in OPS, or op(in, inout) over whole lists.  The result at the root."""
        comm = comm or self.world
        if op in OPS:
            one = OPS[op]

            def op(a, b):
                return [one(x, y) for x, y in zip(a, b, strict=True)]
        me = comm.rank_of(self.rank)
        if not commute:
            return self._reduce_ordered(comm, fmt, values, op, root, me)
        ms = Masters(self.table, comm)
        local = self._local(comm, TAG_REDUCE)
        head = root if ms.lnum[me] == ms.lnum[root] else ms.rank[ms.lnum[me]]
        if me != head:
            self._out(comm, fmt, values, head, TAG_REDUCE, local)
            return None
        acc = values
        for r in ms.locals_of(me):
            acc = op(self._in(comm, fmt, r, TAG_REDUCE, local), acc)
        acc = self._reduce_heads(comm, ms, fmt, acc, op, root, me)
        return acc if me == root else None

    def _reduce_heads(self, comm, ms, fmt, acc, op, root, me):
        n, base = ms.n, ms.lnum[root]

        def at(v):
            k = (v + base) % n
            return root if k == base else ms.rank[k]

        def come(peer):
            return self._in(comm, fmt, peer, TAG_REDUCE, self._reduce_cid(comm, peer))

        def out(peer):
            self._out(comm, fmt, acc, peer, TAG_REDUCE, self._reduce_cid(comm, peer))

        if n <= self.table.maxlinear:
            if me != root:
                out(root)
                return acc
            for k in range(n):
                if k != base:
                    acc = op(come(ms.rank[k]), acc)
            return acc
        v = (ms.lnum[me] - base) % n
        for i in range(cubedim(n)):
            if v & 1 << i:
                out(at(v & ~(1 << i)))
                return acc
            if v | 1 << i < n:
                acc = op(come(at(v | 1 << i)), acc)
        return acc

    def _reduce_ordered(self, comm, fmt, values, op, root, me):
        def cid(peer):
            if self.table.client_of(comm.ranks[peer]) == self.client:
                return self._local(comm, TAG_REDUCE)
            return self._reduce_cid(comm, peer)

        if me != root:
            self._out(comm, fmt, values, root, TAG_REDUCE, cid(root))
            return None
        each = [values if r == me else self._in(comm, fmt, r, TAG_REDUCE, cid(r))
                for r in range(comm.size)]
        acc = each[-1]
        for one in reversed(each[:-1]):
            acc = op(one, acc)
        return acc

    def allreduce(self, fmt, values, op, comm=None, commute=True):
        return self.bcast(fmt, self.reduce(fmt, values, op, 0, comm, commute), 0, comm)

    # --- communicators --------------------------------------------------------------

    def comm_create(self, ranks, comm=None):
        """ranks: ranks in the parent.  None at those who are not among them."""
        comm = comm or self.world
        cid = self.new_cid(comm)
        if comm.rank_of(self.rank) not in ranks:
            return None
        return self.new_comm(cid, [comm.ranks[r] for r in ranks])

    def new_cid(self, comm):
        newest = self.allreduce("Q", [self.max_cid], "max", comm)[0]
        self.max_cid = newest + 2
        return newest + 1

    def new_comm(self, cid, world_ranks):
        from .proc import Comm
        new = Comm(cid, world_ranks)
        with self.agent.lock:
            for c in (cid, cid + 1):
                self.agent.comm_ranks[self.rank, c] = new.ranks
        return new

    def comm_dup(self, comm=None):
        return self.comm_create(range((comm or self.world).size), comm)
