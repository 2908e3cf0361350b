# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the control socket that do not behave, and one that does meanwhile.  Says what
is wrong, or nothing."""
import json
import os
import socket
import sys
import time

PATH = sys.argv[1]


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(PATH)  # waits for a place in the queue of connections
    s.settimeout(5)
    return s


def line(s):
    d = b""
    while not d.endswith(b"\n"):
        try:
            n = s.recv(65536)
        except ConnectionResetError:  # closed with bytes of ours unread
            break
        if not n:
            break
        d += n
    return d


def call(s, method, **params):
    s.sendall(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode() + b"\n")
    return json.loads(line(s))


def good(what):
    s = connect()
    t = time.time()
    r = call(s, "status")
    if "result" not in r or time.time() - t > 2:
        print(what, "is in the way of others:", r)
    s.close()


def code(r):
    return r.get("error", {}).get("code")


# Nonsense of several kinds, each answered, the connection still good.
s = connect()
for text, want in ((b"nonsense\n", -32700), (b"\x00\xff\n", -32700), (b"[]\n", -32600), (b"{}\n", -32600),
                   (b'{"jsonrpc":"2.0","method":"rm","id":1}\n', -32601),
                   (b'{"jsonrpc":"2.0","method":"paths","params":{"first":-1},"id":1}\n', -32602),
                   (b'{"jsonrpc":"2.0","method":"paths","params":{"max":5000},"id":1}\n', -32602),
                   (b'{"jsonrpc":"2.0","method":"capture_start","id":1}\n', -32001)):
    s.sendall(text)
    r = json.loads(line(s))
    if code(r) != want:
        print(text, "gave", r)
if "result" not in call(s, "jobs"):
    print("nonsense has spoilt the connection")
# A batch, with a notification in it.
s.sendall(b'[{"jsonrpc":"2.0","method":"jobs","id":7},{"jsonrpc":"2.0","method":"set","params":{"drain_ms":5000}},1]\n')
r = json.loads(line(s))
if [a.get("id") for a in r] != [7, None] or code(r[1]) != -32600:
    print("batch gave", r)
s.close()

# A line without end.
s = connect()
try:
    for i in range(3):
        s.sendall(b"x" * 65536)
except OSError:
    pass
r = line(s)
if code(json.loads(r)) != -32600 or line(s):
    print("an endless line gave", r[:100])
s.close()
good("an endless line")

# Half a line, and silence; one who never reads; one who asks and goes; all at once.
lazy = [connect() for i in range(10)]
for s in lazy:
    s.sendall(b'{"jsonrpc":"2.0",')
deaf = []
for i in range(5):
    s = connect()
    s.setblocking(False)
    try:
        for k in range(100000):
            s.send(b'{"jsonrpc":"2.0","method":"drops","params":{"all":true},"id":1}\n')
    except BlockingIOError:
        pass
    deaf.append(s)
good("a client that does not read")
for i in range(50):
    s = connect()
    s.sendall(b'{"jsonrpc":"2.0","method":"lanes","params":{"ms":60000},"id":1}\n')
    s.close()
good("clients that ask and go")
# The measurement of one who has gone does not go on.
s = connect()
t = time.time()
while True:
    r = call(s, "lanes", ms=100)
    if "result" in r or time.time() - t > 5:
        break
    time.sleep(0.05)
if "result" not in r:
    print("a measurement nobody waits for goes on:", r)
# One at a time.
a = connect()
a.sendall(b'{"jsonrpc":"2.0","method":"advise","params":{"ms":1000},"id":1}\n')
time.sleep(0.2)
if code(call(s, "lanes", ms=100)) != -32000:
    print("two measure at a time")
if "result" not in json.loads(line(a)):
    print("the first one was disturbed")
a.close()
s.close()

# More than there are places; then they go.
many = []
full = None
for i in range(40):
    c = connect()
    many.append(c)
    c.settimeout(0.2)
    try:
        r = c.recv(4096)
    except socket.timeout:
        continue
    full = json.loads(r)
    break
if not full or code(full) != -32000:
    print("no limit of clients:", full)
for c in many + lazy + deaf:
    c.close()
time.sleep(0.2)
good("clients that were there")

# A pipe, a read-only file and no file at all are not captured to; many descriptors are no leak.
r, w = os.pipe()
s = connect()
req = b'{"jsonrpc":"2.0","method":"capture_start","id":1}\n'
ro = os.open("/etc/hostname", os.O_RDONLY)
for fds in ([w], [ro], [w] * 4, [w] * 100):
    try:
        socket.send_fds(s, [req], fds)
    except OSError as e:
        print("send_fds", e)
        continue
    if code(json.loads(line(s))) != -32001:
        print("a capture to descriptors", fds)
s.close()
