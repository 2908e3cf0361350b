# SPDX-License-Identifier: BSD-2-Clause
"""Foreign clients with global addresses (GC-GC) through our impi-server, without relays.

SCENARIOS: (name, function of the build directory).  The names say which point of the
protocol is looked at; a scenario raises, or it has passed."""
import socket
import struct
import tempfile

from jobs import LIMIT_S, C, Failure, run
from netns import OPEN, Namespaces, possible

SCENARIOS = []


def job(name, script, clients, **more):
    SCENARIOS.append((name, lambda build: run(build, script, clients, **more)))


def small(datalen, ack=10, hi=20, kind="strict", more=""):
    return f"{kind},datalen={datalen},ackmark={ack},hiwater={hi}{more}"


def close_all():
    for net in list(OPEN):
        net.close()


# --- start-up, tables, authentication ------------------------------------------------

for n in (1, 2, 3, 5):
    job(f"start-up of {n} strict clients", "empty", [C("2")] * n)
job("start-up of 32 clients", "empty", [C("1")] * 32)
job("start-up of 2 LAM clients", "empty", [C("2", "lam")] * 2)
job("start-up of LAM, strict and LAM", "empty", [C("2", "lam"), C("1"), C("2", "lam")])
job("start-up byte by byte", "empty", [C("2", chaos="split:1"), C("1", "lam", "split:2")])
job("labels: several hosts per client", "all_pairs", [C("1+2"), C("2"), C("1+1+1")])
job("labels: version lists of unequal length", "all_pairs",
    [C("1"), C("1", "strict,versions=2"), C("1", "strict,versions=3")])
job("labels: one that not everybody has", "all_pairs",
    [C("1"), C("1", "strict,extra_label=28672"), C("1", "lam"),
     C("1", "strict,extra_label=28672")])
job("labels: minima, and -1 is 1024 and 4", "attributes",
    [C("2", "strict,datalen=5000,tagub=40000,xsize=1024"), C("1", "strict,maxlinear=4")],
    args={"datalen": 5000, "tagub": 40000})
job("labels: MAXLINEAR and XSIZE of the user", "attributes",
    [C("2+1", "strict,xsize=77,maxlinear=1"), C("1", "strict,xsize=77,maxlinear=1")],
    args={"xsize": 77, "maxlinear": 1})
job("labels: unequal XSIZE ends every client", "empty",
    [C("1", "strict,xsize=10", exit=1, says="C_COLL_XSIZE differs"),
     C("1", exit=1, says="C_COLL_XSIZE differs")], server_exit=1)
job("auth: key", "all_pairs", [C("1", "strict,auth=key,key=5678"),
                               C("1", "lam,auth=both,key=5678")], key=5678)


def intruders(server):
    """Who cannot authenticate is closed, and the job waits on."""
    auth, impi = struct.pack(">4sI", b"AUTH", 4), struct.pack(">4sIi", b"IMPI", 4, 0)
    for what, sent, wanted in (
            ("a wrong key", auth + struct.pack(">IQ", 2, 5679) + impi, struct.pack(">iI", 1, 0)),
            ("no method in common", auth + struct.pack(">I", 1) + impi, b""),
            ("an unknown method", auth + struct.pack(">I", 4) + impi, b""),
            ("no AUTH first", impi, b""),
            ("a length without end", struct.pack(">4sI", b"AUTH", 0x7fffffff), b"")):
        with socket.create_connection(server.address, LIMIT_S) as s:
            s.sendall(sent)
            got = b""
            try:
                while data := s.recv(64):
                    got += data
            except ConnectionResetError:
                pass
            if got != wanted and got != b"":  # a reset may overtake the answer
                raise Failure(f"{what} was answered with {got.hex()}")
    if server.p.poll() is not None:
        raise Failure("impi-server ended: " + server.text())


job("auth: wrong ones are closed, the right ones served", "all_pairs",
    [C("1", "strict,auth=both,key=5678"), C("1", "lam,auth=key,key=5678")], key=5678,
    before=intruders)

# --- connections ------------------------------------------------------------------------

for seed in (1, 2, 3):
    job(f"dance: 5 clients start in order no. {seed}", "all_pairs", [C("1")] * 5, order=seed)
job("dance: strangers are dropped", "all_pairs", [C("1"), C("1+1"), C("1", chaos="strangers:1")])
job("dance: a stranger ends a LAM client", "empty",
    [C("1", "lam", exit=1, says="not a host of the job"), C("1", chaos="strangers:1", exit=1)],
    server_exit=1)

# --- point to point ---------------------------------------------------------------------

PAIRS = (("strict", "strict"), ("lam", "strict"), ("strict", "lam"), ("lam", "lam"))
for a, b in PAIRS:
    job(f"ping-pong {a} {b}", "pingpong", [C("2", a), C("2", b)])
    job(f"all pairs {a} {b} 3+1", "all_pairs", [C("3", a), C("1", b)])
    for d in (1, 7, 1024):
        job(f"sizes around DATALEN {d} {a} {b}", "sizes", [C("1", small(d, kind=a)), C("1", b)])
    job(f"types {a} {b}", "types", [C("1", a), C("1", b)])
    job(f"overtaking {a} {b}", "overtaking", [C("1", small(100, kind=a)), C("1", b)])
    job(f"long messages answered in reverse {a} {b}", "reverse_answers",
        [C("1", small(64, kind=a)), C("1", b)])
for a, b in (("strict", "strict"), ("lam", "lam"), ("strict,data=x32l8", "strict,data=x32l8")):
    job(f"all basic types {a} {b}", "all_types", [C("1", a + ",datalen=64"), C("1", b)],
        args={"times": 9})
job("types: LAM told that it is heterogeneous", "types", [C("1", "lam-be"), C("1")])
job("DATALEN 65536 and large messages", "sizes", [C("1", "lam"), C("1", "strict,datalen=65536")])
job("long messages interleaved", "reverse_answers",
    [C("1", small(50, more=",interleave=1")), C("1")])
job("probe", "probe", [C("1", small(10)), C("1")])
job("probe at a LAM client's message", "probe", [C("1", small(10, kind="lam")), C("1")])
job("cancel: unexpected, matched, long", "cancel", [C("1", small(16)), C("1")])
job("cancel: LAM says no to everything", "cancel", [C("1", small(16)), C("1", "lam")],
    args={"always_no": 1})
job("cancel: two messages with one request id", "cancel_same_id", [C("1"), C("1")])
job("cancel: a receive", "cancel_receive", [C("1"), C("1")])

# --- flow control -----------------------------------------------------------------------

for marks in ((1, 1), (7, 7), (1, 7), (2, 4)):
    job(f"flow control {marks[0]}/{marks[1]}: both directions saturated", "saturate",
        [C("2", small(16, *marks)), C("2")])
    job(f"flow control {marks[0]}/{marks[1]}: sizes", "sizes", [C("1", small(7, *marks)), C("1")])
for marks in ((1, 1), (7, 7)):
    job(f"flow control {marks[0]}/{marks[1]}: LAM against strict", "saturate",
        [C("2", small(16, *marks, kind="lam")), C("2")])
    job(f"flow control {marks[0]}/{marks[1]}: a stalled receiver stops only its own pair",
        "stalled_receiver", [C("2", small(64, *marks)), C("2")])
    job(f"flow control {marks[0]}/{marks[1]}: three clients, everybody to everybody", "saturate",
        [C("1", small(16, *marks)), C("2"), C("1", "lam")], args={"messages": 30})

# --- collectives ------------------------------------------------------------------------

for n in (2, 3, 4, 5):
    job(f"collectives of {n} clients", "collectives", [C("2" if i % 2 else "1")
                                                        for i in range(n)])
for m in (0, 1):
    job(f"collectives of 3 clients, MAXLINEAR {m}", "collectives",
        [C("2", f"strict,maxlinear={m}"), C("1", f"strict,maxlinear={m}"),
         C("2", f"strict,maxlinear={m}")])
job("collectives of 7 clients", "collectives", [C("1")] * 7)
job("collectives of 9 clients", "collectives", [C("1")] * 9)
job("collectives: small DATALEN, ackmark 1", "collectives", [C("2", small(8, 1, 1)), C("2")])
job("collectives: LAM and strict", "collectives", [C("2", "lam"), C("2")],
    args={"world_only": 1})
job("collectives: strict and LAM and strict", "collectives", [C("2"), C("1", "lam"), C("2")],
    args={"world_only": 1})
job("collectives: five clients, two of them LAM", "collectives",
    [C("1", "lam"), C("1"), C("1", "lam"), C("2"), C("1")], args={"world_only": 1})


for n in (2, 3, 4, 5):
    job(f"collectives of the profile, {n} clients", "profile", [C("2" if i % 2 else "1")
                                                                for i in range(n)])
for m in (0, 1):
    job(f"collectives of the profile, 3 clients, MAXLINEAR {m}", "profile",
        [C("2", f"strict,maxlinear={m}"), C("1", f"strict,maxlinear={m}"),
         C("3", f"strict,maxlinear={m}")])
job("collectives of the profile, 7 clients", "profile", [C("1")] * 7)
job("collectives of the profile, XSIZE 0", "profile", [C("2", "strict,xsize=0"),
                                                       C("2", "strict,xsize=0")])
job("collectives of the profile, small DATALEN, ackmark 1", "profile",
    [C("2", small(16, 1, 1)), C("2")])


def barriers(n, **more):
    def scenario(build):
        with tempfile.TemporaryDirectory() as d:
            run(build, "barriers", [C("2") if i == 1 else C("1") for i in range(n)],
                args={"dir": d}, **more)
    return scenario


for n in (2, 4, 5, 6):
    SCENARIOS.append((f"barrier of {n} clients holds everybody", barriers(n)))
job("attributes", "attributes", [C("2"), C("1+2"), C("1")])

# --- end ---------------------------------------------------------------------------------

job("finalize with traffic just before it", "last_minute", [C("2", small(16)), C("1+1"), C("2")])
job("FINI comes while own ranks are at work", "late_rank",
    [C("2"), C("2", "strict,fini_early=1"), C("1", "lam")])

# --- unkind but allowed -------------------------------------------------------------------

for kind in ("split", "coalesce", "stall", "weather"):
    for seed in (1, 2):
        job(f"{kind} no. {seed}", "mixture",
            [C("2", small(100, 3, 9), f"{kind}:{seed}"), C("2", chaos=f"{kind}:{seed + 100}"),
             C("1", "lam" if seed == 2 else "strict")])
# Two LAM hosts that queue their PROTOACKs behind data can deadlock at the high-water mark.
LAM_ACKS_FIRST = "lam,protoack_queues=0"
job("weather at LAM clients", "mixture",
    [C("2", LAM_ACKS_FIRST + ",datalen=100", "weather:3"), C("1", LAM_ACKS_FIRST, "weather:4")])

# --- forbidden -----------------------------------------------------------------------------

EVIL = (
    ("unknown-type", "unknown packet type"), ("wrong-src", "which is not at host"),
    ("borrowed-src", "which is not at host"), ("wrong-dest", "which is not at host"),
    ("overlong", "DATALEN is"), ("small-msglen", "in a message of 0"),
    ("lost-rest", "waits for none"), ("ghost-protoack", "that were never sent"),
    ("ghost-syncack", "waits for none"), ("ghost-cancelyes", "asked for none"),
    ("after-fini", "after FINI"), ("cut", "closed without FINI inside a packet"),
    ("leave", "closed without FINI"), ("garbage", "unknown packet type"),
)
for kind, says in EVIL:
    job(f"broken protocol: {kind}", "endless",
        [C("2", small(64), exit=1, says=says), C("1", chaos=f"{kind}:1:20", exit=1)],
        server_exit=1, server_says="was lost")
for seed in range(1, 5):
    job(f"fuzz no. {seed}", "endless",
        [C("2", small(64), exit=None), C("1", chaos=f"fuzz:{seed}:150", exit=None)],
        args={"long": 1},
        server_exit=1)
job("broken protocol: no-flow-control", "stalled_receiver",
    [C("2", small(64, 2, 4), chaos="no-flow-control:1", exit=1),
     C("2", exit=1, says="packets without a PROTOACK, HIWATER is 4")], server_exit=1)


# --- the same in network namespaces ---------------------------------------------------------

def in_namespaces(name, script, clients, **more):
    def scenario(build):
        if not possible():
            return "needs root"
        net = Namespaces(len(clients))
        try:
            run(build, script, clients, net=net, **more)
        finally:
            net.close()
        return None
    SCENARIOS.append(("namespaces: " + name, scenario))


in_namespaces("LAM, strict, LAM", "mixture",
              [C("2", LAM_ACKS_FIRST), C("1+1"), C("2", LAM_ACKS_FIRST)])
in_namespaces("5 clients, collectives", "collectives", [C("1"), C("2"), C("1"), C("1+1"), C("1")])
in_namespaces("sizes, DATALEN 1024", "sizes", [C("1", small(1024)), C("1", "lam")])
in_namespaces("flow control 1/1", "saturate", [C("2", small(16, 1, 1)), C("2"), C("1")])
in_namespaces("bad weather", "mixture", [C("2", small(100), "weather:7"), C("1+1")])
