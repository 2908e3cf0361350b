# SPDX-License-Identifier: BSD-2-Clause
"""Captured start-ups of LAM/MPI clients, replayed into our impi-server.

The bytes that come back have to be the captured server's (of 14, whose server altered
values on purpose, those that follow from what the clients sent).  A session is played
answer by answer as LAM does it, all at once, a byte at a time, and cut in two at every
byte."""
import os
import socket
import struct
import time

from jobs import HERE, Failure, Server

DATA = os.path.join(HERE, "..", "data", "impi")
SESSIONS = (("01-p2p-barrier-bcast-2x2", 2, None), ("02-same-own-server-2x2", 2, None),
            ("03-keyauth-1x1", 2, 5678), ("10-three-clients-2x1x2", 3, None),
            ("14-datalen1024-ack2-hi4-1x1", 2, None))
FINI = struct.pack(">II", 0x46494e49, 0)
LIMIT_S = 80  # for one answer


def load(name, client, side):
    with open(f"{DATA}/{name}.client{client}.{side}", "rb") as f:
        return f.read()


def commands(c2s, key):
    """(bytes, answer bytes due before the next) of one client, FINI left out."""
    out, at = [], 0
    while at < len(c2s):
        cmd, n = struct.unpack(">4sI", c2s[at:at + 8])
        end = at + 8 + n
        out.append((cmd, c2s[at:end]))
        if cmd == b"AUTH" and key is not None:
            out.append((b"key", c2s[end:end + 8]))
            end += 8
        at = end
    assert out.pop()[1] == FINI
    return out


def expected(name, nclients, key):
    """What each client gets.  Captured; for 14 composed from what all submitted."""
    if not name.startswith("14"):
        return [load(name, c, "s2c") for c in range(nclients)]
    sent = [commands(load(name, c, "c2s"), key) for c in range(nclients)]
    out = bytes(8) + b"IMPI" + struct.pack(">II", 4, nclients)
    for step in zip(*sent):
        if step[0][0] == b"COLL":
            data = b"".join(s[1][12:] for s in step)
            out += b"COLL" + struct.pack(">I", 8 + len(data)) + step[0][1][8:12] + \
                struct.pack(">I", (1 << nclients) - 1) + data
    return [out + b"DONE" + bytes(4)] * nclients


class Session:
    def __init__(self, server, name, nclients, key):
        self.name, self.n, self.key = name, nclients, key
        self.sent = [load(name, c, "c2s") for c in range(nclients)]
        self.want = expected(name, nclients, key)
        self.got = [bytearray() for _ in range(nclients)]
        self.server = server

    def open(self):
        self.sock = []
        for _ in range(self.n):
            s = socket.create_connection(self.server.address, LIMIT_S)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock.append(s)

    def take(self, c, upto):
        while len(self.got[c]) < upto:
            data = self.sock[c].recv(65536)
            if not data:
                raise Failure(f"{self.name}: client {c} was cut off after "
                              f"{len(self.got[c])} bytes: " + self.server.text())
            self.got[c] += data

    def check(self, how):
        for c in range(self.n):
            self.take(c, len(self.want[c]))
            if bytes(self.got[c]) != self.want[c]:
                at = next(i for i, (a, b) in enumerate(zip(self.got[c], self.want[c])) if a != b) \
                    if self.got[c][:len(self.want[c])] != self.want[c] else len(self.want[c])
                raise Failure(f"{self.name}, {how}: client {c} got other bytes from {at} on: "
                              f"{self.got[c][at:at + 16].hex()} instead of "
                              f"{self.want[c][at:at + 16].hex()}")

    def end(self):
        for c in range(self.n):
            self.sock[c].sendall(FINI)
        for c in range(self.n):
            self.sock[c].shutdown(socket.SHUT_WR)
            if self.sock[c].recv(1):
                raise Failure(f"{self.name}: the server sent something after FINI")
            self.sock[c].close()


def lock_step(session):
    """Each client sends a command and waits for its answer, like LAM."""
    steps = [commands(s, session.key) for s in session.sent]
    due = [0] * session.n
    for step in zip(*steps):
        for c, (cmd, data) in enumerate(step):
            session.sock[c].sendall(data)
        for c, (cmd, data) in enumerate(step):
            if cmd == b"AUTH" and session.key is None or cmd == b"key":
                due[c] += 8
            elif cmd in (b"IMPI", b"DONE"):
                due[c] += 12 if cmd == b"IMPI" else 8
            elif cmd == b"COLL":
                due[c] += 16 + sum(len(s[1]) - 12 for s in step)
            session.take(c, due[c])
            if len(session.got[c]) != due[c]:
                raise Failure(f"{session.name}: {cmd.decode()} was answered with "
                              f"{len(session.got[c])} bytes instead of {due[c]}")


def at_once(session):
    for c in range(session.n):
        session.sock[c].sendall(session.sent[c][:-len(FINI)])


def byte_by_byte(session):
    for c in range(session.n):
        for b in session.sent[c][:-len(FINI)]:
            session.sock[c].sendall(bytes([b]))


def cut(at):
    """All clients cut at the same place; a pause lets the server see the first part alone."""
    def play(session):
        for c in range(session.n):
            session.sock[c].sendall(session.sent[c][:-len(FINI)][:at])
        time.sleep(0.001)
        for c in range(session.n):
            session.sock[c].sendall(session.sent[c][:-len(FINI)][at:])
    return play


def replay(build, name, nclients, key, plays):
    """One server, one job after the other."""
    server = Server(build, nclients, "--persist", key=key)
    try:
        for how, play in plays:
            session = Session(server, name, nclients, key)
            session.open()
            play(session)
            session.check(how)
            session.end()
        end = time.monotonic() + LIMIT_S
        while server.text().count("the job is complete") < len(plays):
            if time.monotonic() > end or "failed" in server.text():
                raise Failure("the server's log: " + server.text()[-2000:])
            time.sleep(0.01)
        server.p.terminate()
        if server.wait() != 0:
            raise Failure(f"the server ended with {server.p.returncode}: {server.text()[-2000:]}")
    finally:
        server.stop()


SCENARIOS = []


def add(name, nclients, key):
    def whole(build):
        replay(build, name, nclients, key, [("lock-step", lock_step), ("at once", at_once),
                                            ("byte by byte", byte_by_byte),
                                            ("lock-step again", lock_step)])

    def cuts(build):
        longest = max(len(load(name, c, "c2s")) for c in range(nclients)) - len(FINI)
        replay(build, name, nclients, key,
               [(f"cut at {at}", cut(at)) for at in range(1, longest)])

    SCENARIOS.append((f"{name}: lock-step, at once, byte by byte", whole))
    SCENARIOS.append((f"{name}: cut at every byte", cuts))


for session in SESSIONS:
    add(*session)


def host_streams(build):
    """The unit suite of the captured host streams."""
    import subprocess
    r = subprocess.run([os.path.join(build, "test/unit/test_impi_streams")], text=True,
                       cwd=os.path.join(HERE, "..", ".."), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=300)
    if r.returncode:
        raise Failure(r.stdout[-3000:])


SCENARIOS.append(("host streams of all captures decode to the listing, cut at every byte",
                  lambda build: host_streams(os.path.abspath(build))))
