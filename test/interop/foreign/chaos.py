# SPDX-License-Identifier: BSD-2-Clause
"""Misbehaviour.  "KIND:SEED" or "KIND:SEED:N" (at the N-th packet of a connection).

Allowed, however unkind; the other side has to cope:
    split       writes of a few bytes, reads of a few bytes
    coalesce    packets are held back and go out together
    stall       does not read or write for a while, now and then
    strangers   unknown connections come before the right ones
    weather     split, coalesce and stall
Forbidden; the other side has to notice, say so, and end:
    everything in EVIL, once
    fuzz        one packet of eight is damaged at random; gone after N packets, or when
                nothing has been sent for a while, for then both sides may wait for ever
"""
import random
import socket
import time

from . import wire

KIND = ("split", "coalesce", "stall", "weather", "strangers")
FUZZ_IDLE_S = 2
STRANGER_S = 30  # for a connection to a host that listens
PIECES = (1, 2, 3, 7, 8, 31, 127, 128, 129, 1000, 5000, 65536)


def _patch(data, at, value, size=4):
    return data[:at] + (value & (1 << 8 * size) - 1).to_bytes(size, "big") + data[at + size:]


def _unknown_type(c, ch, pk, data):
    return _patch(data, 0, c.rng.choice((8, 9, 127, 0x80000000, 0xffffffff)))


def _wrong_src(c, ch, pk, data):
    return data[:8] + c.rng.randbytes(24) + data[32:]


def _borrowed_src(c, ch, pk, data):
    """A proc of the job, but not ours."""
    return data[:8] + pk.dest + data[32:]


def _wrong_dest(c, ch, pk, data):
    return data[:32] + c.rng.randbytes(24) + data[56:]


def _overlong(c, ch, pk, data):
    n = c.rng.choice((c.agent.table.datalen + 1, 0x7fffffff, 0xffffffff))
    return _patch(_patch(_patch(data, 0, wire.PK_DATA), 4, n), 72, n, 8)


def _small_msglen(c, ch, pk, data):
    head = _patch(_patch(_patch(data, 0, wire.PK_DATA), 4, 1), 72, 0, 8)
    return head[:wire.HEADER_BYTES] + b"x"


def _lost_rest(c, ch, pk, data):
    """The rest of a message that never began."""
    head = _patch(_patch(_patch(data, 0, wire.PK_DATA), 4, 1), 72, 2, 8)
    return _patch(head, 64, c.rng.getrandbits(64), 8)[:wire.HEADER_BYTES] + b"x"


def _ghost(kind):
    def make(c, ch, pk, data):
        ids = {} if kind == wire.PK_PROTOACK else {"srqid": c.rng.getrandbits(64)}
        return data + wire.Packet(kind, pk.src, pk.dest, **ids).encode() * c.agent.table.hiwater
    return make


def _after_fini(c, ch, pk, data):
    return c.agent.fini().encode() + data


def _cut(c, ch, pk, data):
    c.close_after[ch] = c.rng.randrange(1, wire.HEADER_BYTES)
    return data


def _leave(c, ch, pk, data):
    c.close_after[ch] = 0
    return data


def _garbage(c, ch, pk, data):
    return b"\xff" + c.rng.randbytes(4095)


EVIL = {
    "unknown-type": _unknown_type, "wrong-src": _wrong_src, "borrowed-src": _borrowed_src,
    "wrong-dest": _wrong_dest, "overlong": _overlong, "small-msglen": _small_msglen,
    "lost-rest": _lost_rest, "ghost-protoack": _ghost(wire.PK_PROTOACK),
    "ghost-syncack": _ghost(wire.PK_SYNCACK), "ghost-cancelyes": _ghost(wire.PK_CANCELYES),
    "after-fini": _after_fini, "cut": _cut, "leave": _leave, "garbage": _garbage,
    "no-flow-control": None,
}


EXTREMES = (0, 1, 127, 128, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff,
            0x8000000000000000, 0xffffffffffffffff)
FIELDS = ((0, 4), (4, 4), (8, 24), (32, 24), (56, 8), (64, 8), (72, 8), (80, 4), (84, 4), (88, 8))


def damaged(rng, data, earlier):
    """data, one packet, not as it should be; earlier: one that was sent before."""
    how = rng.randrange(8)
    if how <= 2:  # a field of the header with a number from the edge, or any
        at, size = rng.choice(FIELDS)
        value = rng.choice(EXTREMES) if rng.random() < 0.7 else rng.getrandbits(8 * size)
        return _patch(data, at, value, size)
    if how == 3:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
    if how == 4:
        return data + earlier
    if how == 5:  # another type, the rest as it was
        return _patch(data, 0, rng.randrange(9))
    at = rng.randrange(len(data))
    if how == 6:
        return data[:at]
    return data[:at] + rng.randbytes(rng.randrange(1, 300)) + data[at:]


class Chaos:
    def __init__(self, text):
        parts = text.split(":") + ["1", "3"]
        self.kind, self.at = parts[0], int(parts[2]) if len(text.split(":")) > 2 else 3
        if self.kind not in KIND and self.kind not in EVIL and self.kind != "fuzz":
            raise ValueError(f"{self.kind}: not one of {', '.join((*KIND, *EVIL, 'fuzz'))}")
        self.rng = random.Random(f"{self.kind} {parts[1]}")
        self.count, self.close_after, self.idle_until = {}, {}, {}
        self.left, self.kept, self.sent, self.earlier = False, [], 0, b""

    def has(self, kind):
        return self.kind == kind or self.kind == "weather"

    def strangers(self, at, me):
        """Connections to a listening host from somebody who is none of the job."""
        if self.kind != "strangers":
            return
        for data in (b"", b"\xff\xff\xff\xff", bytes(4), b"GET / HTTP/1.0\r\n\r\n", b"\0\0"):
            s = socket.create_connection(at, STRANGER_S)
            s.sendall(data)
            self.kept.append(s)  # the silent ones stay
            if len(data) == 2:
                s.close()

    def twice(self, at, me):
        """Once more, if it still listens."""
        if self.kind == "strangers":
            try:
                s = socket.create_connection(at, STRANGER_S)
                s.sendall(me.index.to_bytes(4, "big"))
                self.kept.append(s)
            except OSError:
                pass

    def prepare(self, agent):
        self.agent = agent
        if self.kind == "no-flow-control":
            agent.credit.may_send = lambda pair: True

    def server_pieces(self, data):
        if not self.has("split"):
            return [data]
        return [data[i:i + 1] for i in range(len(data))]

    def packet(self, ch, pk, data):
        n = self.count[ch] = self.count.get(ch, 0) + 1
        if self.kind == "fuzz":
            return self.fuzz(ch, data)
        make = EVIL.get(self.kind)
        if not make or self.left or n < self.at or pk.type == wire.PK_FINI:
            return data
        if pk.type == wire.PK_PROTOACK:
            return data
        self.left = True
        return make(self, ch, pk, data)

    def fuzz(self, ch, data):
        self.sent += 1
        self.idle_until["fuzz"] = time.monotonic() + FUZZ_IDLE_S
        if self.sent == self.at:
            self.close_after[ch] = self.rng.randrange(wire.HEADER_BYTES)
        whole, data = data, data if self.rng.randrange(8) else \
            damaged(self.rng, data, self.earlier)
        self.earlier = whole
        return data

    def piece(self, ch):
        if self.close_after.get(ch) is not None:
            n = self.close_after[ch]
            if n:
                ch.sock.setblocking(True)
                ch.sock.sendall(ch.out[:n])
            raise wire.ProtocolError("chaos: gone")
        return self.rng.choice(PIECES) if self.has("split") else len(ch.out)

    def holds(self, ch):
        now = time.monotonic()
        if self.kind == "fuzz" and now > self.idle_until.setdefault("fuzz", now + FUZZ_IDLE_S):
            raise wire.ProtocolError("chaos: gone")
        if self.has("coalesce") and ch.out:
            if not ch.held_until:
                ch.held_until = now + self.rng.choice((0, 0.002, 0.008))
            if now < ch.held_until:
                return True
            ch.held_until = 0.0
        return self.deaf(ch)

    def deaf(self, ch):
        if not self.has("stall"):
            return False
        now = time.monotonic()
        if now < self.idle_until.get(ch, 0):
            return True
        if self.rng.random() < 0.05:
            self.idle_until[ch] = now + self.rng.choice((0.005, 0.02, 0.06))
        return False

    def read_bytes(self):
        return self.rng.choice(PIECES) if self.has("split") else 262144
