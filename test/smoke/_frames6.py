# SPDX-License-Identifier: BSD-2-Clause
"""Forged IPv6 frames: _frames6.py INTERFACE OUR-MAC OUR-IPV6 PEER-IPV6 COUNT.

The station at INTERFACE says to the one with that MAC and address that the peer's address is here, by
answers nobody asked for, announcements and questions in its name, and that the peer's port is closed.
"""
import socket
import struct
import sys
import time

ifname, mac, dst, peer, count = sys.argv[1:]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86dd))
s.bind((ifname, 0))
own_mac = s.getsockname()[4]
mac = bytes.fromhex(mac.replace(":", ""))
dst, peer = (socket.inet_pton(socket.AF_INET6, a) for a in (dst, peer))
GROUP = bytes.fromhex("ff0200000000000000000001ff") + dst[13:]
GROUP_MAC = b"\x33\x33\xff" + dst[13:]


def cksum(data):
    n = int.from_bytes(data + b"\0" * (len(data) % 2), "big")
    return ~(n % 65535 or (65535 if n else 0)) & 0xFFFF


def packet(src, to, body, hops):
    c = cksum(src + to + struct.pack("!II", len(body), 58) + body)
    return (struct.pack("!IHBB", 6 << 28, len(body), 58, hops) + src + to +
            body[:2] + struct.pack("!H", c) + body[4:])


def send(to_mac, data):
    s.send(to_mac + own_mac + b"\x86\xdd" + data)


def discovery(kind, flags, target, option):
    return struct.pack("!BBHI", kind, 0, 0, flags << 29) + target + bytes([option, 1]) + own_mac


answer = packet(peer, dst, discovery(136, 3, peer, 2), 255)
announce = packet(peer, dst, discovery(136, 1, peer, 2), 255)
ask = packet(peer, GROUP, discovery(135, 0, dst, 1), 255)
far = packet(peer, dst, discovery(136, 3, peer, 2), 64)
claim = packet(dst, dst, discovery(136, 1, dst, 2), 255)
quote = (struct.pack("!IHBB", 6 << 28, 8 + 48, 17, 64) + dst + peer +
         struct.pack("!HHHH", 7812, 7812, 56, 0) + bytes(48))
closed = packet(peer, dst, struct.pack("!BBHI", 1, 4, 0, 0) + quote, 64)
for i in range(int(count)):
    send(mac, answer)
    send(mac, announce)
    send(GROUP_MAC, ask)
    send(mac, far)
    send(mac, claim)
    send(mac, closed)
    time.sleep(0.005)
