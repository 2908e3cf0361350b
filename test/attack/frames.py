# SPDX-License-Identifier: BSD-2-Clause
"""Frames and what is read out of them: Ethernet, ARP, IPv4, UDP, ICMP, Suci's path header."""
import random
import socket
import struct
import time

SUCI_PORT = 7812
HELLO, RESET = 1, 5
SEAL_TAG, RESET_LEN = 16, 68


def packets(ifname):
    """A packet socket of this interface, all frames both ways."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((ifname, 0))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    return s


def mac_of(s):
    return s.getsockname()[4]


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def cksum(data):
    """The sum of 16-bit words with carries folded in is the number they make, modulo 65535."""
    if len(data) % 2:
        data += b"\0"
    n = int.from_bytes(data, "big")
    return ~(n % 65535 or (65535 if n else 0)) & 0xFFFF


def eth(dst, src, payload, kind=0x0800):
    return dst + src + struct.pack("!H", kind) + payload


def ip(src, dst, payload, proto=17):
    h = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, proto, 0, src, dst)
    return h[:10] + struct.pack("!H", cksum(h)) + h[12:] + payload


def udp(src, dst, sport, dport, data):
    n = 8 + len(data)
    h = struct.pack("!HHHH", sport, dport, n, 0)
    c = cksum(src + dst + struct.pack("!BBH", 0, 17, n) + h + data) or 0xFFFF
    return ip(src, dst, h[:6] + struct.pack("!H", c) + data)


def arp(op, sha, spa, tha, tpa):
    return struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, op, sha, spa, tha, tpa)


def unreachable(frm, quoted, code=3):
    """ICMP destination unreachable about the IPv4 packet quoted."""
    body = struct.pack("!BBHI", 3, code, 0, 0) + quoted
    return ip(frm, quoted[12:16], body[:2] + struct.pack("!H", cksum(body)) + body[4:], 1)


class Datagram:
    """A UDP datagram in a frame, or none: then `ok` is false."""

    def __init__(self, frame):
        self.ok = len(frame) >= 42 and frame[12:14] == b"\x08\0" and frame[14] == 0x45 and frame[23] == 17
        if not self.ok:
            return
        self.eth_dst, self.eth_src = frame[:6], frame[6:12]
        self.ip = frame[14:14 + struct.unpack("!H", frame[16:18])[0]]
        self.src, self.dst = self.ip[12:16], self.ip[16:20]
        self.sport, self.dport = struct.unpack("!HH", self.ip[20:24])
        self.data = self.ip[28:]
        self.ok = len(self.data) >= 16

    def again(self, src=None, dst=None, data=None):
        """The same datagram with other ends or bytes, checksums right."""
        src, dst = src or self.src, dst or self.dst
        return udp(src, dst, self.sport, self.dport, self.data if data is None else data)


def until(seconds):
    """Turns of a loop until so many seconds have passed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def noise(n):
    return random.randbytes(n)
