# SPDX-License-Identifier: BSD-2-Clause
"""A visitor of a relay's peer port who has the address of another relay of the cluster.

usage: _relayd_peer.py FROM TO plain|garbage|silent|replay|claim SECONDS

Succeeds if it is sent away within SECONDS and has heard nothing that a relay tells relays.
"""
import os, socket, struct, sys, time

source, to, way, limit = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
PING, PONG, GIVE, END = 5, 6, 7, 4


def frame(kind, body=b""):
    return struct.pack("!IB", 1 + len(body), kind) + body


def ended(s):
    """Everything that came until the end."""
    s.settimeout(limit)
    heard = b""
    try:
        while data := s.recv(4096):
            heard += data
    except ConnectionError:
        pass
    except socket.timeout:
        sys.exit(f"{way}: still connected after {limit} s")
    return heard


heard = b""
for _ in range(6 if way != "silent" else 1):
    s = socket.create_connection((to, 7813), 5, source_address=(source, 0))
    try:
        if way in ("plain", "claim"):
            why = b"forged"
            s.sendall(frame(PING) + frame(GIVE) +
                      frame(END, struct.pack("!IH", 1 << 24, len(why)) + why))
        elif way == "garbage":
            s.sendall(os.urandom(4096))
        elif way == "replay":  # a first greeting of the right form, of nobody's key
            s.sendall(b"SLK1" + struct.pack("!H", 68) + struct.pack("!I", 1) + os.urandom(64))
    except ConnectionError:
        pass
    heard += ended(s)
    s.close()
if frame(PONG) in heard or b"SLK1" in heard:
    sys.exit(f"{way}: it was answered: {heard[:80]!r}")
print(f"{way}: sent away")
