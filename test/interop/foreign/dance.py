# SPDX-License-Identifier: BSD-2-Clause
"""Connections between the hosts of different clients: the higher one connects."""
import selectors
import socket
import struct
import time

from . import wire
from .wire import ProtocolError

IDENT_LIMIT_S = 20  # for the 4 bytes of a host that has connected


def listen(ipv4):
    s = socket.create_server((ipv4, 0), backlog=64)
    return s, s.getsockname()[1]


def tune(s, datalen):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        s.setsockopt(socket.SOL_SOCKET, option, max(4096, 2 * (datalen + wire.HEADER_BYTES)))


def _connect(table, me, peer, deadline):
    while True:
        s = socket.socket()
        # The other side may check that we come from where we said we are.
        s.bind((wire.ipv4_of(me.addr), 0))
        s.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            s.connect((wire.ipv4_of(peer.addr), peer.port))
            break
        except OSError as e:
            s.close()
            if time.monotonic() > deadline:
                raise ProtocolError(f"host {peer.index} cannot be reached: {e}") from e
            time.sleep(0.05)
    tune(s, table.datalen)
    s.sendall(struct.pack(">I", me.index))
    return s


def _source_is_right(table, index, ipv4):
    """As LAM does: the first host in the table with that address must be that index."""
    first = next((h.index for h in table.hosts if h.addr[12:] == socket.inet_aton(ipv4)), None)
    return first == index


class _Accepting:
    """Connections that have come in and have not said who they are."""

    def __init__(self, table, behaviour, me, listener, want):
        self.table, self.b, self.me, self.want = table, behaviour, me, want
        self.listener, self.got, self.strangers = listener, {}, 0
        self.sel = selectors.DefaultSelector()
        self.waiting = {}  # socket -> [bytes, address, limit]
        listener.setblocking(False)
        self.sel.register(listener, selectors.EVENT_READ)

    def stranger(self, s, why):
        if self.b.blocking_dance:
            raise ProtocolError(f"a connection is not a host of the job: {why}")
        self.strangers += 1
        self.drop(s)
        s.close()

    def drop(self, s):
        self.sel.unregister(s)
        del self.waiting[s]

    def identify(self, s):
        data, addr, _ = self.waiting[s]
        try:
            more = s.recv(4 - len(data))
        except ConnectionError:
            more = b""
        if not more:
            return self.stranger(s, "closed before its rank")
        data += more
        if len(data) < 4:
            return None
        index = struct.unpack(">I", data)[0]
        if index not in self.want or index in self.got:
            return self.stranger(s, f"host rank {index}")
        if self.b.check_source and not _source_is_right(self.table, index, addr):
            raise ProtocolError(f"host {index} connects from {addr}, which is not its address")
        self.drop(s)
        s.settimeout(None)
        tune(s, self.table.datalen)
        self.got[index] = s
        return None

    def turn(self):
        for key, _ in self.sel.select(0.1):
            if key.fileobj is self.listener:
                s, addr = self.listener.accept()
                s.setblocking(False)
                self.waiting[s] = [bytearray(), addr[0], time.monotonic() + IDENT_LIMIT_S]
                self.sel.register(s, selectors.EVENT_READ)
            else:
                self.identify(key.fileobj)
        for s in [s for s, w in self.waiting.items() if time.monotonic() > w[2]]:
            self.stranger(s, "said nothing")

    def close(self):
        for s in self.waiting:
            s.close()
        self.listener.close()
        self.sel.close()


def run(table, behaviour, mine, listeners, deadline_s, chaos=None):
    """mine: own Hosts.  {(own host, peer host): socket}, and how many strangers came.

    Connects never wait for anybody, for all listeners exist, so all of them go first."""
    deadline = time.monotonic() + deadline_s
    out, strangers = {}, 0
    for me in mine:
        for peer in table.hosts:
            if peer.index < me.index and peer.client != me.client:
                if chaos:
                    chaos.strangers((wire.ipv4_of(peer.addr), peer.port), me)
                out[me.index, peer.index] = _connect(table, me, peer, deadline)
                if chaos:
                    chaos.twice((wire.ipv4_of(peer.addr), peer.port), me)
    for me, listener in zip(mine, listeners):
        want = {h.index for h in table.hosts if h.index > me.index and h.client != me.client}
        a = _Accepting(table, behaviour, me, listener, want)
        while len(a.got) < len(want):
            a.turn()
            if time.monotonic() > deadline:
                raise ProtocolError(f"hosts {sorted(want - set(a.got))} never connected")
        out.update({(me.index, i): s for i, s in a.got.items()})
        strangers += a.strangers
        a.close()
    return out, strangers
