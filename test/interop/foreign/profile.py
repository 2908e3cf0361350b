# SPDX-License-Identifier: BSD-2-Clause
"""The collectives of reference 7.7 and MPI_Comm_split, as the project's profile has them.

None of these is proved against another implementation; here they are written down a
second time, from the text alone, so that the two can be compared.  A peer like LAM has
none of them.

Blocks are lists of elements.  `size` of a block, which chooses the short or long form, is
in strict external32, whatever representation two clients use.  The local phase (inside a
client) is direct."""
from . import data
from .coll import Collectives, Masters, cubedim
from .wire import (TAG_ALLTOALL, TAG_ALLTOALLV, TAG_GATHER, TAG_GATHERV, TAG_SCAN, TAG_SCATTER,
                   TAG_SCATTERV)


class Profile(Collectives):
    def _cid(self, comm, peer, tag):
        if self.table.client_of(comm.ranks[peer]) == self.client:
            return self._local(comm, tag)
        return comm.cid + 1

    def _to(self, comm, fmt, values, peer, tag):
        self._out(comm, fmt, values, peer, tag, self._cid(comm, peer, tag))

    def _from(self, comm, fmt, peer, tag):
        return self._in(comm, fmt, peer, tag, self._cid(comm, peer, tag))

    def _is_long(self, fmt, count):
        return count * data.size(fmt, "x32") >= self.table.xsize

    # --- Gather ----------------------------------------------------------------

    def gather(self, fmt, block, root, comm=None):
        """The blocks, by rank, at the root; None elsewhere."""
        comm = comm or self.world
        me, ms = comm.rank_of(self.rank), Masters(self.table, comm)
        if self._is_long(fmt, len(block)):
            return self._gather_direct(fmt, block, root, comm, me, TAG_GATHER)
        head = root if ms.lnum[me] == ms.lnum[root] else ms.rank[ms.lnum[me]]
        if me != head:
            self._to(comm, fmt, block, head, TAG_GATHER)
            return None
        mine = {me: block}
        for r in ms.locals_of(me):
            mine[r] = self._from(comm, fmt, r, TAG_GATHER)
        held = [v for r in sorted(mine) for v in mine[r]]
        if ms.n <= self.table.maxlinear:
            if me != root:
                self._to(comm, fmt, held, root, TAG_GATHER)
                return None
            return self._place(ms, root, mine, len(block), {
                ms.lnum[k]: self._from(comm, fmt, k, TAG_GATHER)
                for k in ms.rank if ms.lnum[k] != ms.lnum[root]})
        return self._gather_tree(comm, fmt, ms, me, root, mine, held, len(block))

    def _gather_tree(self, comm, fmt, ms, me, root, mine, held, count):
        n, base = ms.n, ms.lnum[root]

        def at(v):
            return root if v == 0 else ms.rank[(v + base) % n]

        v = (ms.lnum[me] - base) % n
        for i in range(cubedim(n)):
            if v & 1 << i:
                self._to(comm, fmt, held, at(v & ~(1 << i)), TAG_GATHER)
                return None
            if v | 1 << i < n:
                held = held + self._from(comm, fmt, at(v | 1 << i), TAG_GATHER)
        of_client, start = {}, 0
        for v in range(n):  # held: virtual master numbers 0, 1, ...
            k = (v + base) % n
            size = count * ms.lnum.count(k)
            of_client[k] = held[start:start + size]
            start += size
        del of_client[base]
        return self._place(ms, root, mine, count, of_client)

    @staticmethod
    def _place(ms, root, mine, count, of_client):
        out = dict(mine)
        for k, values in of_client.items():
            ranks = [r for r in range(len(ms.lnum)) if ms.lnum[r] == k]
            assert len(values) == count * len(ranks), (root, k, len(values), count, ranks)
            for i, r in enumerate(ranks):
                out[r] = values[i * count:(i + 1) * count]
        return [out[r] for r in range(len(ms.lnum))]

    def _gather_direct(self, fmt, block, root, comm, me, tag):
        if me != root:
            self._to(comm, fmt, block, root, tag)
            return None
        return [block if r == me else self._from(comm, fmt, r, tag) for r in range(comm.size)]

    def gatherv(self, fmt, block, root, comm=None):
        comm = comm or self.world
        return self._gather_direct(fmt, block, root, comm, comm.rank_of(self.rank), TAG_GATHERV)

    # --- Scatter ---------------------------------------------------------------

    def scatter(self, fmt, blocks, count, root, comm=None):
        """blocks: by rank, at the root; count: elements of each, at everybody."""
        comm = comm or self.world
        me, ms = comm.rank_of(self.rank), Masters(self.table, comm)
        if self._is_long(fmt, count):
            return self._scatter_direct(fmt, blocks, root, comm, me, TAG_SCATTER)
        same = ms.lnum[me] == ms.lnum[root]
        head = root if same else ms.rank[ms.lnum[me]]
        if me == root:
            for k in ms.rank:
                if ms.lnum[k] != ms.lnum[root]:
                    self._to(comm, fmt, [v for r in range(comm.size) if ms.lnum[r] == ms.lnum[k]
                                         for v in blocks[r]], k, TAG_SCATTER)
            mine = dict(enumerate(blocks))
        elif me == head:
            values = self._from(comm, fmt, root, TAG_SCATTER)
            ranks = [r for r in range(comm.size) if ms.lnum[r] == ms.lnum[me]]
            assert len(values) == count * len(ranks), (root, len(values), count, ranks)
            mine = {r: values[i * count:(i + 1) * count] for i, r in enumerate(ranks)}
        else:
            return self._from(comm, fmt, head, TAG_SCATTER)
        for r in ms.locals_of(me):
            self._to(comm, fmt, mine[r], r, TAG_SCATTER)
        return mine[me]

    def _scatter_direct(self, fmt, blocks, root, comm, me, tag):
        if me != root:
            return self._from(comm, fmt, root, tag)
        for r in range(comm.size):
            if r != me:
                self._to(comm, fmt, blocks[r], r, tag)
        return blocks[me]

    def scatterv(self, fmt, blocks, root, comm=None):
        comm = comm or self.world
        return self._scatter_direct(fmt, blocks, root, comm, comm.rank_of(self.rank),
                                    TAG_SCATTERV)

    # --- made of others --------------------------------------------------------

    def allgather(self, fmt, block, comm=None):
        blocks = self.gather(fmt, block, 0, comm)
        flat = self.bcast(fmt, blocks and [v for b in blocks for v in b], 0, comm)
        n = len(block)
        return [flat[i * n:(i + 1) * n] for i in range((comm or self.world).size)]

    def allgatherv(self, fmt, block, counts, comm=None):
        blocks = self.gatherv(fmt, block, 0, comm)
        flat = self.bcast(fmt, blocks and [v for b in blocks for v in b], 0, comm)
        out, start = [], 0
        for n in counts:
            out.append(flat[start:start + n])
            start += n
        return out

    def reduce_scatter(self, fmt, values, counts, op, comm=None):
        total = self.reduce(fmt, values, op, 0, comm)
        blocks, start = [], 0
        for n in counts:
            blocks.append(total[start:start + n] if total is not None else None)
            start += n
        return self.scatterv(fmt, blocks, 0, comm)

    # --- everybody to everybody ------------------------------------------------

    def alltoall(self, fmt, blocks, comm=None, tag=TAG_ALLTOALL):
        comm = comm or self.world
        me = comm.rank_of(self.rank)
        turns = [(me + k) % comm.size for k in range(1, comm.size)]
        come = {r: self.irecv(fmt, r, tag, comm, self._cid(comm, r, tag)) for r in turns}
        go = [self.isend(fmt, blocks[r], r, tag, comm, cid=self._cid(comm, r, tag))
              for r in turns]
        for req in go:
            self.wait(req)
        return [blocks[me] if r == me else self.wait(come[r]).values for r in range(comm.size)]

    def alltoallv(self, fmt, blocks, comm=None):
        return self.alltoall(fmt, blocks, comm, TAG_ALLTOALLV)

    def scan(self, fmt, values, op, comm=None):
        """op(in, inout) over whole lists."""
        comm = comm or self.world
        me = comm.rank_of(self.rank)
        if me > 0:
            values = op(self._from(comm, fmt, me - 1, TAG_SCAN), values)
        if me < comm.size - 1:
            self._to(comm, fmt, values, me + 1, TAG_SCAN)
        return values

    # --- MPI_Comm_split --------------------------------------------------------

    def comm_split(self, color, key, comm=None):
        """color < 0: in none of the new ones."""
        comm = comm or self.world
        cid = self.new_cid(comm)
        choices = self.allgather("i", [color, key], comm)
        if color < 0:
            return None
        ranks = sorted((k, r) for r, (c, k) in enumerate(choices) if c == color)
        return self.new_comm(cid, [comm.ranks[r] for _, r in ranks])
