# SPDX-License-Identifier: BSD-2-Clause
"""The hosts of one client: one thread that moves packets between sockets and procs."""
import os
import selectors
import socket
import struct
import sys
import threading
import time
from itertools import count

from . import flow, wire
from .match import Inbox, Message, SendRequest, is_first
from .wire import (PK_CANCEL, PK_CANCELNO, PK_CANCELYES, PK_DATA, PK_DATASYNC, PK_FINI,
                   PK_PROTOACK, PK_SYNCACK, Packet, ProtocolError)

OUT_BYTES = 65536  # filled from the queues only up to here


TCPI_UNACKED = struct.Struct("@24xI")  # of struct tcp_info


def acknowledged(sock):
    """Is all acknowledged that was sent, within half of the kernel's delay?"""
    for _ in range(20):
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCPI_UNACKED.size)
        if TCPI_UNACKED.unpack(info)[0] == 0:
            return True
        time.sleep(0.001)
    return False


class Aborted(Exception):
    """Another thread has failed; the reason is the agent's."""


class Channel:
    def __init__(self, agent, me, peer, sock):
        self.agent, self.me, self.peer, self.sock = agent, me, peer, sock
        sock.setblocking(False)
        b = agent.b
        self.queues = (flow.OneFifo(agent.credit, b.protoack_queues) if b.one_fifo else
                       flow.PairQueues(agent.credit, b.interleave))
        self.splitter = wire.Splitter(agent.table.datalen)
        self.out = bytearray()
        self.fini_queued = self.fini_seen = self.closed = False
        self.broken = False  # takes nothing any more; why is still to be read
        self.held_until = 0.0  # chaos

    def fill(self):
        while len(self.out) < OUT_BYTES:
            pk = self.queues.next()
            if pk is None:
                return
            pk.seqnum = pk.seqnum or next(self.agent.seqnum[self.me.index])
            self.agent.tell("->", self, pk)
            data = pk.encode()
            if self.agent.chaos:
                data = self.agent.chaos.packet(self, pk, data)
            self.out += data

    def write(self):
        if self.broken:
            return
        self.fill()
        chaos = self.agent.chaos
        if chaos and chaos.holds(self):
            return
        while self.out:
            limit = chaos.piece(self) if chaos else len(self.out)
            try:
                n = self.send(self.out[:limit])
            except BlockingIOError:
                return
            except ConnectionError:
                # What came before the end has not been read yet, and tells more.
                self.broken = True
                self.out.clear()
                return
            del self.out[:n]
            if chaos and chaos.rng.random() < 0.2:
                return  # the rest in the next turn
            self.fill()

    def send(self, data):
        if self.agent.b.header_apart and len(data) > wire.HEADER_BYTES:
            n = self.sock.send(data[:wire.HEADER_BYTES])
            self.agent.headers += 1
            self.agent.quick += acknowledged(self.sock)
            return n
        if not self.agent.b.blocking_writes:
            return self.sock.send(data)
        self.sock.setblocking(True)
        try:
            self.sock.sendall(data)
        finally:
            self.sock.setblocking(False)
        return len(data)

    def read(self):
        """What is there, up to a limit; False: nothing was, or it is over."""
        try:
            data = self.sock.recv(self.agent.chaos.read_bytes() if self.agent.chaos else 262144)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        if not data:
            if not self.fini_seen:
                raise ProtocolError(f"host {self.peer.index} closed without FINI" +
                                    (" inside a packet" if self.splitter.midway else ""))
            self.close()
            return False
        for pk in self.splitter.feed(data):
            self.agent.tell("<-", self, pk)
            if self.fini_seen:
                raise ProtocolError(f"host {self.peer.index} sent {pk.name} after FINI")
            self.agent.take(self, pk)
        return True

    def close(self):
        if not self.closed:
            self.closed = True
            self.agent.sel.unregister(self.sock)
            self.sock.close()


class Agent:
    """All of it is guarded by one lock; procs wait on `changed`."""

    def __init__(self, behaviour, client, table, sockets, server_sock, chaos=None, trace=None):
        self.b, self.client, self.table, self.chaos, self.trace = \
            behaviour, client, table, chaos, trace
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.error = None
        self.headers = self.quick = 0  # sent alone; of them acknowledged at once
        self.sel = selectors.DefaultSelector()
        self.wake_r, self.wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.sel.register(self.wake_r, selectors.EVENT_READ, "wake")
        self.server_sock = server_sock
        server_sock.setblocking(False)
        self.sel.register(server_sock, selectors.EVENT_READ, "server")
        self.credit = flow.Credit(table.ackmark, table.hiwater)
        self.hosts = [h for h in table.hosts if h.client == client]
        self.ranks = [r for h in self.hosts for r in h.ranks]
        handles = count(behaviour.first_handle)
        self.inbox = {r: Inbox(behaviour.drqid_short, handles) for r in self.ranks}
        self.seqnum = {h.index: count(1) for h in self.hosts}
        self.request_id = count(1 if not behaviour.short_srqid else 0x11)
        self.pending = {}  # (src id, srqid) -> SendRequest that waits for a packet
        self.finalized = set()
        world = range(len(table.proc))
        # (rank, context) -> world ranks; the parts of a split have one context
        self.comm_ranks = {(r, c): world for r in self.ranks for c in (0, 1)}
        self.channel = {}
        for (me, peer), s in sockets.items():
            ch = Channel(self, table.hosts[me], table.hosts[peer], s)
            self.channel[me, peer] = ch
            self.sel.register(s, selectors.EVENT_READ, ch)
        if chaos:
            chaos.prepare(self)
        self.thread = threading.Thread(target=self.run, name="agent", daemon=True)

    # --- the thread ---------------------------------------------------------

    def run(self):
        try:
            while True:
                with self.lock:
                    if self.error or self.turn_out():
                        break
                if self.chaos:
                    time.sleep(0.0005)  # a deaf channel would make this spin
                for key, events in self.sel.select(0.003 if self.chaos else 0.5):
                    with self.lock:
                        self.turn_in(key, events)
        except Exception as e:  # whatever it is, the procs have to hear of it
            self.fail(e)
        with self.lock:
            for ch in self.channel.values():
                ch.close()
            self.changed.notify_all()

    def turn_out(self):
        """Write what can be written; True when all channels are closed."""
        open_ones = [ch for ch in self.channel.values() if not ch.closed]
        for ch in open_ones:
            if not ch.fini_queued and self.may_end(ch):
                ch.fini_queued = True
                ch.queues.put(self.fini())
            ch.write()
            if not ch.closed:
                self.sel.modify(ch.sock, selectors.EVENT_READ |
                                (selectors.EVENT_WRITE if ch.out and not self.chaos else 0), ch)
                if ch.fini_queued and ch.fini_seen and not ch.out and ch.queues.empty:
                    ch.close()
        return (not any(not ch.closed for ch in open_ones) and
                len(self.finalized) == len(self.ranks))

    def turn_in(self, key, _events):
        if key.data == "wake":
            os.read(self.wake_r, 4096)
        elif key.data == "server":
            try:
                data = self.server_sock.recv(4096)
            except BlockingIOError:
                return
            except ConnectionError:
                data = b""
            self.read_all()
            raise ProtocolError("the server said something while the job ran" if data else
                                "the server closed the connection while the job ran")
        elif not key.data.closed and not (self.chaos and self.chaos.deaf(key.data)):
            key.data.read()

    def read_all(self):
        """The server ends the job because of somebody; that may be told by a connection that
        has not had its turn yet."""
        for ch in self.channel.values():
            while not ch.closed and ch.read():
                pass

    def may_end(self, ch):
        ranks = ch.me.ranks if self.b.fini_early else self.ranks
        return (self.finalized.issuperset(ranks) and ch.queues.empty and
                not any(req.wants_ack for req in self.pending.values()))

    def fail(self, e):
        with self.lock:
            self.error = self.error or e
            self.changed.notify_all()
        self.wake()

    def wake(self):
        try:
            os.write(self.wake_w, b"x")
        except BlockingIOError:
            pass

    def wait_for(self, condition):
        """With the lock held: until it holds, or something has failed."""
        while not condition():
            if self.error:
                raise Aborted()
            self.changed.wait(0.5)

    def tell(self, direction, ch, pk):
        if self.trace:
            body = f" body={pk.payload[:32].hex()}" if pk.payload else ""
            print(f"{time.monotonic():.6f} {ch.me.index} {direction} {ch.peer.index} {pk!r}{body}",
                  file=self.trace, flush=True)

    # --- packets in ---------------------------------------------------------

    def take(self, ch, pk):
        if pk.type == PK_FINI:
            ch.fini_seen = True
            self.changed.notify_all()
            return
        src, dest = self.table.rank_of.get(pk.src), self.table.rank_of.get(pk.dest)
        if src is None or self.table.host_of[src] is not ch.peer:
            raise ProtocolError(f"{pk.name} from {wire.show_proc(pk.src)}, which is not at "
                                f"host {ch.peer.index}")
        if dest is None or self.table.host_of[dest] is not ch.me:
            raise ProtocolError(f"{pk.name} for {wire.show_proc(pk.dest)}, which is not at "
                                f"host {ch.me.index}")
        if pk.type == PK_PROTOACK:
            self.credit.acked((pk.dest, pk.src))
            return
        for _ in range(self.credit.count_taken((pk.src, pk.dest))):
            self.protoack(ch, pk.src, pk.dest)
        if pk.type in (PK_DATA, PK_DATASYNC):
            self.take_data(ch, pk, src, dest)
        elif pk.type == PK_SYNCACK:
            self.take_syncack(ch, pk)
        elif pk.type == PK_CANCEL:
            gone = self.b.cancel == "right" and self.inbox[dest].destroy(pk.src, pk.srqid)
            self.control(ch, PK_CANCELYES if gone else PK_CANCELNO, pk, srqid=pk.srqid)
        else:
            self.take_cancel_reply(pk)
        self.changed.notify_all()

    def take_data(self, ch, pk, src, dest):
        inbox = self.inbox[dest]
        if not is_first(pk):
            inbox.more(pk)
            return
        if pk.drqid:
            raise ProtocolError("the first packet of a message has a drqid: " + repr(pk))
        ranks = self.comm_ranks.get((dest, pk.cid))
        by_world = self.b.of(self.table.client_of(src)).world_lsrank
        if ranks is not None and not by_world and (
                not 0 <= pk.lsrank < len(ranks) or ranks[pk.lsrank] != src):
            raise ProtocolError(f"lsrank {pk.lsrank} of context {pk.cid} is not world rank {src}")
        short = min(pk.msglen, self.table.datalen)
        if pk.len != short:
            raise ProtocolError(f"first packet with {pk.len} of {short} possible bytes")
        msg = Message(pk.cid, pk.lsrank, pk.tag, pk.payload, pk.msglen, pk.src, pk.srqid)
        msg.client = self.table.client_of(src)
        if pk.type == PK_DATASYNC:
            if pk.srqid == 0:
                raise ProtocolError("DATASYNC with srqid 0")
            msg.on_match = lambda drqid: self.control(ch, PK_SYNCACK, pk, srqid=pk.srqid,
                                                      drqid=drqid)
        inbox.arrive(msg)

    def take_syncack(self, ch, pk):
        req = self.pending.get((pk.dest, pk.srqid))
        if req is None or not req.wants_ack or req.first.dest != pk.src:
            raise ProtocolError(f"SYNCACK for request {pk.srqid:#x}, which waits for none")
        req.wants_ack = False
        if not req.cancel_asked:
            del self.pending[pk.dest, pk.srqid]
        ch.queues.put_rest(self.pieces(req, pk.drqid))
        req.rest = b""
        req.done = True

    def take_cancel_reply(self, pk):
        req = self.pending.get((pk.dest, pk.srqid))
        if req is None or not req.cancel_asked or req.cancel_reply is not None:
            raise ProtocolError(f"{pk.name} for request {pk.srqid:#x}, which asked for none")
        req.cancel_reply = pk.name
        if pk.type == PK_CANCELYES:
            if req.first.type == PK_DATASYNC and not req.wants_ack:
                raise ProtocolError("CANCELYES after SYNCACK")
            req.cancelled = req.done = True
            req.rest = b""
        if pk.type == PK_CANCELYES or not req.wants_ack:
            del self.pending[pk.dest, pk.srqid]

    # --- packets out --------------------------------------------------------

    def control_fields(self):
        """What nobody may look at in a control packet."""
        if not self.b.control_len:
            return {}
        junk = int.from_bytes((73).to_bytes(8, sys.byteorder), "big") if self.b.junk_cid else 0
        return {"len": self.b.control_len, "msglen": self.b.control_len, "lsrank": -1, "tag": -1,
                "count": -1, "cid": junk}

    def control(self, ch, kind, answered, **ids):
        ch.queues.put(Packet(kind, src=answered.dest, dest=answered.src,
                             **self.control_fields(), **ids))

    def protoack(self, ch, src, dest):
        if not ch.fini_queued:
            ch.queues.put(Packet(PK_PROTOACK, src=dest, dest=src, **self.control_fields()))

    def fini(self):
        fields = {**self.control_fields(), "cid": 0}
        nobody = wire.proc_id(bytes(16), 0xffffffffffffffff if self.b.control_len else 0)
        return Packet(PK_FINI, src=nobody, dest=nobody, **fields)

    def withhold(self, rank, on):
        """Stop giving credit to whoever sends to this proc; or give what is owed."""
        with self.lock:
            proc = self.table.proc[rank]
            (self.credit.withheld.add if on else self.credit.withheld.discard)(proc)
            if not on:
                for pair in [p for p in self.credit.taken if p[1] == proc]:
                    ch = self.route(rank, self.table.rank_of[pair[0]])
                    for _ in range(self.credit.owed(pair)):
                        self.protoack(ch, *pair)
        self.wake()

    def route(self, src, dest):
        return self.channel[self.table.host_of[src].index, self.table.host_of[dest].index]

    def pieces(self, req, drqid):
        f, size = req.first, self.table.datalen
        return [Packet(PK_DATA, f.src, f.dest, len=len(req.rest[i:i + size]), srqid=f.srqid,
                       drqid=drqid, msglen=f.msglen, lsrank=f.lsrank, tag=f.tag, cid=f.cid,
                       count=f.count, payload=req.rest[i:i + size])
                for i in range(0, len(req.rest), size)]

    def send(self, src, dest, data, tag, cid, lsrank, sync=False, count=0, srqid=None):
        """Start a message between two world ranks; the request."""
        with self.lock:
            if self.error:
                raise Aborted()
            if self.table.client_of(dest) == self.client:
                return self.send_local(dest, data, tag, cid, lsrank, sync)
            ch = self.route(src, dest)
            if ch.fini_seen:
                raise ProtocolError(f"rank {src} sends to {dest} after FINI of its host")
            head, rest = data[:self.table.datalen], data[self.table.datalen:]
            kind = PK_DATASYNC if sync or rest else PK_DATA
            if srqid is None:
                srqid = next(self.request_id) if self.b.short_srqid or kind == PK_DATASYNC else 0
            first = Packet(kind, self.table.proc[src], self.table.proc[dest], len=len(head),
                           srqid=srqid, msglen=len(data), lsrank=lsrank, tag=tag, cid=cid,
                           count=0 if self.b.control_len else count, payload=head)
            req = SendRequest(first, rest, kind == PK_DATASYNC)
            req.done = not req.wants_ack or (self.b.buffered_long and not sync)
            if req.wants_ack:
                self.pending[first.src, srqid] = req
            ch.queues.put(first)
        self.wake()
        return req

    def send_local(self, dest, data, tag, cid, lsrank, sync):
        req = SendRequest()
        req.done = not sync
        req.local_msg = Message(cid, lsrank, tag, data, len(data))
        req.local_msg.client = self.client
        req.local_msg.on_match = lambda _: setattr(req, "done", True)
        self.inbox[dest].arrive(req.local_msg)
        self.changed.notify_all()
        return req

    def cancel_send(self, src, dest, req):
        """True if the message was cancelled, False if it is or will be received."""
        with self.lock:
            if req.first is None:
                inbox = self.inbox[dest]
                if req.local_msg not in inbox.unexpected:
                    return False
                inbox.unexpected.remove(req.local_msg)
                req.cancelled = req.done = True
                return True
            ch, key = self.route(src, dest), (req.first.src, req.first.srqid)
            if ch.queues.withdraw(req.first):
                self.pending.pop(key, None)
                req.cancelled = req.done = True
                return True
            if req.done and req.first.type == PK_DATASYNC:
                return False
            req.cancel_asked = True
            self.pending[key] = req
            ch.queues.put(Packet(PK_CANCEL, req.first.src, req.first.dest, srqid=req.first.srqid))
            self.wake()
            self.wait_for(lambda: req.cancel_reply is not None)
            return req.cancelled

    def end(self, rank):
        with self.lock:
            self.finalized.add(rank)
        self.wake()
