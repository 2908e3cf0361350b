# SPDX-License-Identifier: BSD-2-Clause
"""What a script function sees: one MPI process."""
from . import data, profile
from .match import ANY, RecvRequest


class Comm:
    """ranks: world ranks in the order of their ranks here."""

    def __init__(self, cid, ranks):
        self.cid, self.ranks = cid, list(ranks)
        self.size = len(self.ranks)

    def rank_of(self, world_rank):
        return self.ranks.index(world_rank)


class Received:
    def __init__(self, source, tag, values, count_bytes):
        self.source, self.tag, self.values, self.bytes = source, tag, values, count_bytes

    def __repr__(self):
        return f"from {self.source} tag {self.tag}: {self.bytes} bytes"


class Proc(profile.Profile):
    def __init__(self, agent, rank, args=None):
        self.agent, self.rank, self.args = agent, rank, args or {}
        self.table = agent.table
        self.world = Comm(0, range(len(self.table.proc)))
        self.size = self.world.size
        self.client = agent.client
        self.max_cid = 1
        self.inbox = agent.inbox[rank]

    # --- attributes ----------------------------------------------------------

    def attributes(self, comm=None):
        ranks = (comm or self.world).ranks
        clients = sorted({self.table.client_of(r) for r in ranks})
        hosts = sorted({self.table.host_of[r].index for r in ranks})
        return {"IMPI_CLIENT_SIZE": len(clients), "IMPI_CLIENT_COLOR": clients.index(self.client),
                "IMPI_HOST_SIZE": len(hosts),
                "IMPI_HOST_COLOR": hosts.index(self.table.host_of[self.rank].index)}

    # --- point to point ------------------------------------------------------

    def how(self, world_rank):
        client = self.table.client_of(world_rank)
        return "le8" if client == self.client else self.agent.b.wire_data(client)

    def isend(self, fmt, values, dest, tag, comm=None, sync=False, cid=None, srqid=None):
        comm = comm or self.world
        to = comm.ranks[dest]
        raw = data.encode(fmt, values, self.how(to))
        lsrank = self.rank if self.agent.b.world_lsrank else comm.rank_of(self.rank)
        if self.table.client_of(to) == self.client:
            lsrank = comm.rank_of(self.rank)
        req = self.agent.send(self.rank, to, raw, tag, comm.cid if cid is None else cid, lsrank,
                              sync, len(values), srqid)
        req.to = to
        return req

    def issend(self, fmt, values, dest, tag, comm=None):
        return self.isend(fmt, values, dest, tag, comm, sync=True)

    def send(self, fmt, values, dest, tag, comm=None):
        self.wait(self.isend(fmt, values, dest, tag, comm))

    def ssend(self, fmt, values, dest, tag, comm=None):
        self.wait(self.issend(fmt, values, dest, tag, comm))

    def irecv(self, fmt, src, tag, comm=None, cid=None):
        comm = comm or self.world
        req = RecvRequest(src, tag, comm.cid if cid is None else cid)
        req.fmt, req.comm = fmt, comm
        with self.agent.lock:
            self.inbox.post(req)
        self.agent.wake()
        return req

    def recv(self, fmt, src, tag, comm=None):
        return self.wait(self.irecv(fmt, src, tag, comm))

    def wait(self, req):
        with self.agent.lock:
            self.agent.wait_for(lambda: req.done)
        if req.kind == "send" or req.cancelled:
            return None
        m = req.msg
        how = "le8" if m.client == self.client else self.agent.b.wire_data(m.client)
        return Received(m.lsrank, m.tag, data.decode(req.fmt, m.data, how), m.msglen)

    def is_done(self, req):
        with self.agent.lock:
            return req.done

    def iprobe(self, src, tag, comm=None):
        """(source, tag, bytes) of the first message that fits, or None."""
        with self.agent.lock:
            return self._peek(src, tag, comm)

    def _peek(self, src, tag, comm):
        m = self.inbox.peek(RecvRequest(src, tag, (comm or self.world).cid))
        return (m.lsrank, m.tag, m.msglen) if m else None

    def probe(self, src, tag, comm=None):
        with self.agent.lock:
            self.agent.wait_for(lambda: self._peek(src, tag, comm))
            return self._peek(src, tag, comm)

    def cancel(self, req):
        """True if it took effect."""
        if req.kind == "send":
            return self.agent.cancel_send(self.rank, req.to, req)
        with self.agent.lock:
            if req not in self.inbox.posted:
                return False
            self.inbox.posted.remove(req)
            req.cancelled = req.done = True
            return True

    # --- test aids -----------------------------------------------------------

    def stall(self, on):
        """Give no credit to senders of this proc, as an agent with full buffers."""
        self.agent.withhold(self.rank, on)

    def finalize(self):
        self.barrier()
        with self.agent.lock:
            posted, left = len(self.inbox.posted), self.inbox.leftovers
        assert not posted and not left, \
            f"rank {self.rank} ends with {posted} receives and {left} messages nobody took"
        self.agent.end(self.rank)


ANY_SOURCE = ANY_TAG = ANY
