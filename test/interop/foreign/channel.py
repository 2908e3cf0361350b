# SPDX-License-Identifier: BSD-2-Clause
"""The client's side of the server channel."""
import errno
import socket
import struct
import time

from . import wire
from .wire import ProtocolError


class ServerChannel:
    def __init__(self, at, behaviour, rank, deadline_s, source=None, chaos=None):
        self.b = behaviour
        self.rank = rank
        self.chaos = chaos
        self.deadline_s = deadline_s
        self.sock = self.connect(at, source)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = {}  # label -> (mask, data)

    def connect(self, at, source):
        """The server listens; a network that has just been set up may not carry yet."""
        deadline = time.monotonic() + self.deadline_s
        while True:
            try:
                return socket.create_connection(at, self.deadline_s,
                                                source_address=(source, 0) if source else None)
            except OSError as e:
                if e.errno not in (errno.EHOSTUNREACH, errno.ENETUNREACH) or \
                        time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def send(self, data):
        pieces = self.chaos.server_pieces(data) if self.chaos else [data]
        for piece in pieces:
            self.sock.sendall(piece)

    def take(self, n):
        data = bytearray()
        while len(data) < n:
            got = self.sock.recv(n - len(data))
            if not got:
                raise ProtocolError("the server closed the connection")
            data += got
        return bytes(data)

    def command(self, cmd, payload=b""):
        self.send(struct.pack(">II", cmd, len(payload)) + payload)

    def expect(self, cmd):
        got, n = struct.unpack(">II", self.take(8))
        if got != cmd:
            raise ProtocolError(f"the server sent command {got:#x} instead of {cmd:#x}")
        return self.take(n)

    def join(self):
        """Authenticate, tell the rank; the number of clients."""
        mask = {"none": 1, "key": 2, "both": 3}[self.b.auth]
        self.command(wire.AUTH, struct.pack(">I", mask))
        which, n = struct.unpack(">iI", self.take(8))
        if n != 0:
            raise ProtocolError(f"the server's choice of authentication has length {n}")
        if which not in (0, 1) or not mask & 1 << which:
            raise ProtocolError(f"the server chose method {which}, offered were {mask:#x}")
        if which == wire.AUTH_KEY:
            self.send(struct.pack(">Q", self.b.key))
        self.command(wire.IMPI, struct.pack(">i", self.rank))
        size = self.expect(wire.IMPI)
        if len(size) != 4:
            raise ProtocolError(f"the server's IMPI has {len(size)} bytes")
        self.size = struct.unpack(">i", size)[0]
        if not 0 <= self.rank < self.size <= 32:
            raise ProtocolError(f"{self.size} clients, own rank is {self.rank}")
        return self.size

    def labels(self, values):
        """values: {name: bytes} in sending order.  {name: (mask, data)}."""
        if self.b.lockstep:
            for name, value in values.items():
                self.submit(name, value)
                label, mask, data = self.reply()
                if label != wire.LABELS[name][0]:
                    raise ProtocolError(f"label {label:#x} came, {name} was sent")
                self.answers[label] = mask, data
        else:
            for name, value in values.items():
                self.submit(name, value)
            while len(self.answers) < len(values):
                label, mask, data = self.reply()
                if label in self.answers:
                    raise ProtocolError(f"label {label:#x} answered twice")
                self.answers[label] = mask, data
        if self.b.extra_label:
            self.extra(self.b.extra_label)
        out = {}
        for name in values:
            value, element, _ = wire.LABELS[name]
            if value not in self.answers:
                raise ProtocolError(f"the server never answered {name}")
            mask, data = self.answers[value]
            if mask != (1 << self.size) - 1:
                raise ProtocolError(f"{name}: mask {mask:#x} of {self.size} clients")
            if len(data) % element:
                raise ProtocolError(f"{name}: {len(data)} bytes")
            out[name] = [data[i:i + element] for i in range(0, len(data), element)]
        return out

    def extra(self, label):
        """Answered when the others have submitted it as well, or have said DONE."""
        mine = b"extra" + bytes([self.rank])
        self.command(wire.COLL, struct.pack(">I", label) + mine)
        got, mask, data = self.reply()
        want = b"".join(b"extra" + bytes([c]) for c in range(self.size) if mask >> c & 1)
        if got != label or not mask >> self.rank & 1 or data != want:
            raise ProtocolError(f"label {got:#x}, mask {mask:#x}: {data!r}, wanted {want!r}")

    def submit(self, name, value):
        self.command(wire.COLL, struct.pack(">I", wire.LABELS[name][0]) + value)

    def reply(self):
        data = self.expect(wire.COLL)
        if len(data) < 8:
            raise ProtocolError(f"a label reply of {len(data)} bytes")
        label, mask = struct.unpack(">II", data[:8])
        return label, mask, data[8:]

    def done(self):
        self.command(wire.DONE)
        if self.expect(wire.DONE):
            raise ProtocolError("the server's DONE has a payload")

    def fini(self):
        self.sock.settimeout(self.deadline_s)
        self.command(wire.FINI)
        self.sock.shutdown(socket.SHUT_WR)
        try:
            if self.sock.recv(1):
                raise ProtocolError("the server sent something after FINI")
        except ConnectionResetError:
            pass
        self.close()

    def close(self):
        self.sock.close()
