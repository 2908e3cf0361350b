# SPDX-License-Identifier: BSD-2-Clause
"""Frames a relay must drop for a named reason, or answer; sent by a packet socket.

usage: _frames.py INTERFACE RELAY_IP RELAY_MAC OWN_IP UDP_PORT
Prints one line per kind: the drop counter that must rise by one.
"""
import socket
import struct
import sys
import time

ifname, relay_ip, relay_mac, own_ip, port = sys.argv[1:6]
port = int(port)
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind((ifname, 0))
own_mac = sock.getsockname()[4]
mac = bytes.fromhex(relay_mac.replace(":", ""))
dst, src = socket.inet_aton(relay_ip), socket.inet_aton(own_ip)


def cksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def ip(payload, proto=17, frag=0, version=0x45, cut=0, spoil=0, to=dst, frm=src, length=None):
    total = 20 + len(payload) if length is None else length
    h = struct.pack("!BBHHHBBH4s4s", version, 0, total, 1, frag, 64, proto, 0, frm, to)
    h = h[:10] + struct.pack("!H", cksum(h) ^ spoil) + h[12:]
    return h + payload


def udp(data, length=None, spoil=0, sport=4000, to_port=port):
    n = 8 + len(data) if length is None else length
    h = struct.pack("!HHHH", sport, to_port, n, 0)
    pseudo = src + dst + struct.pack("!BBH", 0, 17, n)
    c = cksum(pseudo + h + data) or 0xFFFF
    return h[:6] + struct.pack("!H", c ^ spoil) + data


def icmp(kind, rest):
    body = struct.pack("!BBHI", kind, 1, 0, 0) + rest
    return body[:2] + struct.pack("!H", cksum(body)) + body[4:]


def syn(dport):
    return struct.pack("!HHIIBBHHH", 4000, dport, 1, 0, 0x50, 2, 1000, 0, 0)


def eth(payload, kind=0x0800, to=mac):
    return to + own_mac + struct.pack("!H", kind) + payload


def arp(op, sha, spa, tha, tpa):
    return struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, op, sha, spa, tha, tpa)


other = bytes(6)
cases = [
    ("short", eth(ip(b"")[:10])),
    ("mac", eth(ip(udp(b"x")), to=bytes.fromhex("020000000001"))),
    ("vlan", eth(struct.pack("!HH", 5, 0x0800) + ip(udp(b"x")), 0x8100)),
    ("ethertype", eth(b"\x60" + bytes(60), 0x86DD, to=mac)),
    ("arp_format", eth(arp(7, own_mac, src, other, dst), 0x0806)),
    ("arp_other", eth(arp(1, own_mac, src, other, socket.inet_aton("10.0.0.77")), 0x0806)),
    ("arp_conflict", eth(arp(1, own_mac, dst, other, dst), 0x0806)),
    ("ip_version", eth(ip(udp(b"x"), version=0x55))),
    ("ip_header", eth(ip(udp(b"x"), version=0x42))),
    ("ip_checksum", eth(ip(udp(b"x"), spoil=1))),
    ("ip_length", eth(ip(udp(b"x"), length=1400))),
    ("ip_fragment", eth(ip(udp(b"x"), frag=0x2000))),
    ("ip_fragment", eth(ip(udp(b"x"), frag=0x0010))),
    ("ip_destination", eth(ip(udp(b"x"), to=socket.inet_aton("10.0.0.99")))),
    ("ip_source", eth(ip(udp(b"x"), frm=socket.inet_aton("127.0.0.1")))),
    ("ip_protocol", eth(ip(b"x" * 20, proto=47))),
    ("udp_length", eth(ip(udp(b"x" * 30, length=200)))),
    ("udp_length", eth(ip(b"x" * 5))),
    ("udp_checksum", eth(ip(udp(b"hello", spoil=0x100)))),
    ("udp_source", eth(ip(udp(b"x", sport=0)))),
    ("icmp_length", eth(ip(b"x" * 4, proto=1))),
    ("icmp_checksum", eth(ip(b"\x08\0\0\0\0\1\0\1", proto=1))),
]
cases += [
    ("icmp_kind", eth(ip(icmp(5, ip(udp(b"x"), frm=dst, to=src)), proto=1))),
    ("tap_port", eth(ip(syn(9), proto=6))),
    ("tap_port", eth(ip(udp(b"x", to_port=53)))),
    ("tap_source", eth(ip(syn(7811), proto=6, frm=socket.inet_aton("198.51.100.9")))),
]
for name, frame in cases:
    sock.send(frame)
    print(name)
    time.sleep(0.002)
