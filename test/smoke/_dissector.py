# SPDX-License-Identifier: BSD-2-Clause
"""Captures for the dissectors, and what they must make of them.

usage: _dissector.py fields               names of the fields that the checks want, in their order
       _dissector.py write NAME PCAP      the streams of test/data/interop as Ethernet, IPv4, TCP
       _dissector.py listing NAME ROWS    each packet of the listing is there, and no other
       _dissector.py inside|outside ROWS  of a job over relays, on a private leg or between sites

ROWS is what tshark says of these fields, a frame a line.  Prints what is wrong, or nothing.
"""
import re
import struct
import sys

DATA = "test/data/interop/"
CUT = 700  # bytes of a segment: headers and payloads are split over frames
PACKET = ["impipk.type", "impipk.len", "impipk.msglen", "impipk.lsrank", "impipk.tag"]
FIELDS = PACKET + [
    "impi.cmd", "impi.label", "impi.rank", "suci.type", "suci.hello.kind", "suci.hello.token",
    "suci.hello.survives", "suci.door.op", "suci.door.token", "suci.lane.seq", "suci.ack.largest",
    "suci.note.type", "suci.flags.sealed", "suci.hs.public",
    "suci.seal_tag", "relaypeer.type", "sealedstream.record", "suci.bad", "relaypeer.bad",
    "impi.too_long", "_ws.lua.error", "_ws.malformed"]
WRONG = FIELDS[-5:]


def streams(name):
    raw = open(DATA + name + ".streams", "rb").read()
    at = 0

    def u32():
        nonlocal at
        at += 4
        return struct.unpack(">I", raw[at - 4:at])[0]

    while at < len(raw):
        source, to, length, tokens = u32(), u32(), u32(), u32()
        out = bytearray()
        for _ in range(tokens):
            literal, copy, distance = u32(), u32(), u32()
            out += raw[at:at + literal]
            at += literal
            for _ in range(copy):
                out.append(out[-distance])
        assert len(out) == length, (name, source, to)
        yield source, to, bytes(out)


def frame(source, to, seq, flags, payload):
    """Who has the higher rank connects: port 40000 + rank to port 50000 + rank."""
    port = {r: (40000 if r == max(source, to) else 50000) + r for r in (source, to)}
    tcp = struct.pack(">HHIIBBHHH", port[source], port[to], seq, 0, 5 << 4, flags, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 40 + len(payload), 0, 0, 64, 6, 0,
                     10, 99, 0, 2 + source, 10, 99, 0, 2 + to)
    return b"\x02" * 12 + b"\x08\x00" + ip + tcp + payload


def write(name, path):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        clock = 0

        def put(f):
            nonlocal clock
            clock += 1
            out.write(struct.pack("<IIII", clock // 1000000, clock % 1000000, len(f), len(f)) + f)

        all_of = list(streams(name))
        for source, to, _ in sorted(all_of, reverse=True):  # who connects is first
            put(frame(source, to, 0, 2 if source > to else 0x12, b""))
        for source, to, data in all_of:
            for at in range(0, len(data), CUT):
                put(frame(source, to, 1 + at, 0x18, data[at:at + CUT]))


class Rows:
    def __init__(self, path):
        self.rows = []
        for line in open(path):
            self.rows.append(dict(zip(FIELDS, line.rstrip("\n").split("\t"))))
        self.why = []
        for name in WRONG:
            n = sum(1 for r in self.rows if r[name])
            self.wanted(n == 0, f"{n} frames with {name}")

    def wanted(self, what, why):
        if not what:
            self.why.append(why)

    def values(self, name):
        return [v for r in self.rows for v in r[name].split(",") if v]

    def has(self, name, value, least=1):
        n = sum(1 for v in self.values(name) if value is None or int(v, 0) == value)
        self.wanted(n >= least, f"{n} times {name} {value if value is not None else ''}, "
                                f"{least} or more wanted")

    def end(self):
        if self.why:
            sys.exit("; ".join(self.why) + f" (of {len(self.rows)} frames). ")


def listing(name, path):
    names = {"DATA": 0, "DATASYNC": 1, "PROTOACK": 2, "SYNCACK": 3, "CANCEL": 4, "CANCELYES": 5,
             "CANCELNO": 6, "FINI": 7}
    wanted = []
    for line in open(DATA + name + ".list"):
        m = re.match(r"([A-Z]+) len=(\d+) .*msglen=(\d+) lsrank=(-?\d+) tag=(-?\d+) ", line)
        if m:
            wanted.append((names[m[1]], int(m[2]), int(m[3]), int(m[4]), int(m[5])))
    rows = Rows(path)
    seen = []
    for r in rows.rows:
        columns = [r[f].split(",") if r[f] else [] for f in PACKET]
        seen += [tuple(int(v, 0) for v in packet) for packet in zip(*columns)]
    rows.wanted(len(wanted) > 2, "a listing without packets")
    rows.wanted(sorted(seen) == sorted(wanted),
                f"{name}: {len(seen)} packets shown, {len(wanted)} in the listing; first that "
                f"differs: {next((p for p in wanted if p not in seen), seen[:1])}")
    rows.end()


def inside(path):
    rows = Rows(path)
    for command in (0x41555448, 0x494D5049, 0x434F4C4C, 0x444F4E45, 0x46494E49):
        rows.has("impi.cmd", command)
    for label in (0x1000, 0x1100, 0x1200, 0x1300, 0x2000, 0x3000, 0x3100):
        rows.has("impi.label", label, 2)  # the client's and the answer
    rows.has("impi.rank", 0)
    for kind in (1, 2, 3, 4):
        rows.has("suci.type", kind)
    rows.has("suci.hello.kind", 1)
    rows.has("suci.hello.kind", 2)
    rows.has("impipk.type", 0, 10)
    rows.has("suci.lane.seq", None, 20)
    rows.has("suci.ack.largest", None, 10)
    rows.has("suci.note.type", 4)  # RELAYS
    rows.has("suci.note.type", 2)  # LEAVE
    rows.has("suci.hello.survives", 0)
    rows.has("suci.hello.kind", 5)
    for op in (1, 2, 4, 5, 13):  # REGISTER, ADDRESS, IMPORT, IMPORTED, NAMED
        rows.has("suci.door.op", op)
    rows.has("suci.door.token", None, 3)  # of a REGISTER, and in addresses
    rows.has("sealedstream.record", None, 2)  # what relays of a cluster say to each other
    rows.end()


def outside(path):
    rows = Rows(path)
    for kind in (1, 2, 3, 4):
        rows.has("suci.type", kind)
    rows.has("suci.hs.public", None, 2)
    rows.has("suci.flags.sealed", 1, 10)
    rows.has("suci.seal_tag", None, 10)
    rows.wanted(not rows.values("suci.lane.seq") and not rows.values("suci.hello.token"),
                "sealed frames are shown as if they were in clear")
    rows.end()


if sys.argv[1] == "fields":
    print("\n".join(FIELDS))
else:
    {"write": write, "listing": listing, "inside": inside, "outside": outside}[sys.argv[1]](
        *sys.argv[2:])
