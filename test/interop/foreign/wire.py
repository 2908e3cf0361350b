# SPDX-License-Identifier: BSD-2-Clause
"""Constants and packets."""
import struct

AUTH, IMPI, COLL, DONE, FINI = (int.from_bytes(w, "big") for w in
                                (b"AUTH", b"IMPI", b"COLL", b"DONE", b"FINI"))
AUTH_NONE, AUTH_KEY = 0, 1

# name -> (value, bytes of an element, who has one: client, host, proc); sending order.
LABELS = {
    "C_VERSION": (0x1000, 8, "c"), "C_NHOSTS": (0x1100, 4, "c"), "C_NPROCS": (0x1200, 4, "c"),
    "C_DATALEN": (0x1300, 4, "c"), "C_TAGUB": (0x1400, 4, "c"), "C_COLL_XSIZE": (0x1500, 4, "c"),
    "C_COLL_MAXLINEAR": (0x1600, 4, "c"), "H_IPV6": (0x2000, 16, "h"), "H_PORT": (0x2100, 4, "h"),
    "H_NPROCS": (0x2200, 4, "h"), "H_ACKMARK": (0x2300, 4, "h"), "H_HIWATER": (0x2400, 4, "h"),
    "P_IPV6": (0x3000, 16, "p"), "P_PID": (0x3100, 8, "p"),
}

PK_DATA, PK_DATASYNC, PK_PROTOACK, PK_SYNCACK, PK_CANCEL, PK_CANCELYES, PK_CANCELNO, PK_FINI = \
    range(8)
PK_NAMES = ("DATA", "DATASYNC", "PROTOACK", "SYNCACK", "CANCEL", "CANCELYES", "CANCELNO", "FINI")
HEADER_BYTES = 128
HEADER = struct.Struct(">II24s24sQQQiiQQqQQ")
assert HEADER.size == HEADER_BYTES

TAG_BARRIER, TAG_BCAST, TAG_GATHER, TAG_GATHERV, TAG_SCATTER, TAG_SCATTERV, TAG_ALLTOALL, \
    TAG_ALLTOALLV, TAG_REDUCE, TAG_SCAN = range(110, 201, 10)


class ProtocolError(Exception):
    """The other side broke the protocol; the text says how."""


class Packet:
    FIELDS = ("type", "len", "src", "dest", "srqid", "drqid", "msglen", "lsrank", "tag", "cid",
              "seqnum", "count", "dtype", "reserved")
    __slots__ = FIELDS + ("payload",)

    def __init__(self, type, src, dest, len=0, srqid=0, drqid=0, msglen=0, lsrank=0, tag=0, cid=0,
                 seqnum=0, count=0, dtype=0, reserved=0, payload=b""):
        self.type, self.len, self.src, self.dest = type, len, src, dest
        self.srqid, self.drqid, self.msglen = srqid, drqid, msglen
        self.lsrank, self.tag, self.cid, self.seqnum = lsrank, tag, cid, seqnum
        self.count, self.dtype, self.reserved, self.payload = count, dtype, reserved, payload

    def encode(self):
        return HEADER.pack(*(getattr(self, f) for f in self.FIELDS)) + self.payload

    @classmethod
    def decode(cls, header):
        return cls(**dict(zip(cls.FIELDS, HEADER.unpack(header))))

    @property
    def counted(self):
        return self.type not in (PK_PROTOACK, PK_FINI)

    @property
    def has_payload(self):
        return self.type in (PK_DATA, PK_DATASYNC)

    @property
    def name(self):
        return PK_NAMES[self.type] if self.type < len(PK_NAMES) else f"type {self.type}"

    def __repr__(self):
        return (f"{self.name} len={self.len} src={show_proc(self.src)} dest={show_proc(self.dest)}"
                f" srqid={self.srqid} drqid={self.drqid} msglen={self.msglen}"
                f" lsrank={self.lsrank} tag={self.tag} cid={self.cid} seq={self.seqnum}"
                f" count={self.count} dtype={self.dtype} resv={self.reserved}")


def proc_id(hostid, pid):
    return hostid + struct.pack(">Q", pid)


def show_proc(b):
    return ".".join(map(str, b[12:16])) + "/" + str(int.from_bytes(b[16:], "big", signed=True))


def address16(ipv4, mapped):
    return bytes(10) + (b"\xff\xff" if mapped else bytes(2)) + bytes(map(int, ipv4.split(".")))


def ipv4_of(addr16):
    if addr16[:10] != bytes(10) or addr16[10:12] not in (bytes(2), b"\xff\xff"):
        raise ProtocolError(f"H_IPV6 {addr16.hex()} holds no IPv4 address")
    return ".".join(map(str, addr16[12:]))


class Splitter:
    """Packets out of a byte stream that comes in any pieces."""

    def __init__(self, datalen):
        self.datalen = datalen
        self.buf = bytearray()
        self.head = None

    def feed(self, data):
        self.buf += data
        while True:
            if self.head is None:
                if len(self.buf) < HEADER_BYTES:
                    return
                self.head = Packet.decode(bytes(self.buf[:HEADER_BYTES]))
                del self.buf[:HEADER_BYTES]
                self.check(self.head)
            want = self.head.len if self.head.has_payload else 0
            if len(self.buf) < want:
                return
            pk, self.head = self.head, None
            pk.payload = bytes(self.buf[:want])
            del self.buf[:want]
            yield pk

    def check(self, pk):
        if pk.type >= len(PK_NAMES):
            raise ProtocolError(f"unknown packet type {pk.type}")
        if pk.has_payload and pk.len > self.datalen:
            raise ProtocolError(f"payload of {pk.len} bytes, DATALEN is {self.datalen}")
        if pk.has_payload and pk.len > pk.msglen:
            raise ProtocolError(f"payload of {pk.len} bytes in a message of {pk.msglen}")

    @property
    def midway(self):
        return bool(self.buf) or self.head is not None
