# SPDX-License-Identifier: BSD-2-Clause
"""Visitors of a relay's IMPI port, in the node's namespace (relayd-door.sh).

    flood SOURCE N     silent connections from N addresses on, and clients beside them
    silent SOURCE S    is one closed within S seconds?
    rank SOURCE S      says rank 0 and half a command: is it closed within S seconds?
    twice SOURCE       a client of SOURCE and one of the next address say rank 0
    hold SOURCE N S    N silent connections for S seconds
    start SOURCE S     does a client get its answer to AUTH within S seconds?
"""
import ipaddress, select, socket, struct, sys, time

RELAY = ("10.0.0.1", 7811)
AUTH_NONE = b"AUTH" + struct.pack("!II", 4, 1)


def connect(source, limit=5):
    return socket.create_connection(RELAY, limit, source_address=(source, 0))


def says_auth(source, limit):
    """Seconds until the answer to AUTH."""
    began = time.monotonic()
    while True:
        s = connect(source, limit)
        s.sendall(AUTH_NONE)
        if len(s.recv(8)) == 8:
            return time.monotonic() - began, s
        if time.monotonic() - began > limit:
            sys.exit(f"closed without an answer for {limit} s")


def closed_within(s, limit):
    s.settimeout(limit)
    try:
        while s.recv(4096):
            pass
    except ConnectionError:
        pass
    except socket.timeout:
        sys.exit(f"still connected after {limit} s")


def flood(source, n):
    """The worst start beside 600 connections a second that say nothing."""
    first = ipaddress.ip_address(source)
    sources = [str(first + i) for i in range(n)]
    silent, worst, opened = [], 0, 0
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for i in range(30):
            s = socket.socket()
            s.setblocking(False)
            s.bind((sources[opened % n], 0))
            s.connect_ex(RELAY)
            silent.append(s)
            opened += 1
        while len(silent) > 400:
            silent.pop(0).close()
        took, s = says_auth("10.0.0.10", 10)
        s.close()
        worst = max(worst, took)
        time.sleep(0.03)
    print(f"{opened} silent ones, a client was delayed by {worst:.2f} s at most", flush=True)
    return worst < 2


what, source, rest = sys.argv[1], sys.argv[2], [float(a) for a in sys.argv[3:]]
if what == "flood":
    sys.exit(0 if flood(source, int(rest[0])) else 1)
elif what == "silent":
    closed_within(connect(source), rest[0])
elif what == "rank":
    _, s = says_auth(source, 5)
    s.sendall(b"IMPI" + struct.pack("!II", 4, 0) + b"COLL")
    closed_within(s, rest[0])
elif what == "twice":
    _, a = says_auth(source, 5)
    a.sendall(b"IMPI" + struct.pack("!II", 4, 0))
    time.sleep(0.5)
    _, b = says_auth(str(ipaddress.ip_address(source) + 1), 5)
    b.sendall(b"IMPI" + struct.pack("!II", 4, 0))
    closed_within(b, 5)
elif what == "hold":
    held = []
    for _ in range(int(rest[0])):
        s = socket.socket()
        s.setblocking(False)
        s.bind((source, 0))
        s.connect_ex(RELAY)
        held.append(s)
    time.sleep(rest[1])
elif what == "start":
    print(f"{says_auth(source, rest[0])[0]:.2f} s")
