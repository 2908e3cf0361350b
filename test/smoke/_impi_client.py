# SPDX-License-Identifier: BSD-2-Clause
"""An IMPI client that gets as far as the relay lets it.

usage: _impi_client.py HOST PORT none|KEY SECONDS
Says AUTH and its rank, then waits for the connection to end; prints how long that
took.  Exit status 0 if it was ended within SECONDS.
"""
import socket
import struct
import sys
import time

host, port, key, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
began = time.time()
s = socket.create_connection((host, port), 5)
s.settimeout(limit)
try:
    s.sendall(b"AUTH" + struct.pack("!II", 4, 1 if key == "none" else 2))
    if len(s.recv(8)) == 8:
        if key != "none":
            s.sendall(struct.pack("!Q", int(key)))
        s.sendall(b"IMPI" + struct.pack("!II", 4, 0))
        print("said rank 0", flush=True)
        while s.recv(4096):
            pass
except (ConnectionResetError, BrokenPipeError):
    pass
except socket.timeout:
    print(f"still connected after {limit} s")
    sys.exit(1)
print(f"ended after {time.time() - began:.1f} s")
