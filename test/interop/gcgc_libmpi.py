# SPDX-License-Identifier: BSD-2-Clause
"""libmpi and foreign clients in one job without relays (GC-GC): libmpi speaks TCP to the
foreign hosts.  The MPI side of a script is its namesake in peer*.c.

SCENARIOS: (name, function of the build directory)."""
import tempfile

from gcgc import EVIL, small
from jobs import C, L, run
from netns import Namespaces, possible

SCENARIOS = []
X8 = "strict,data=x32l8"  # a strict peer whose MPI_LONG has 8 bytes
WORLD = {"world_only": 1}


def job(name, script, clients, **more):
    """One libmpi client at most: they would all have the address 127.0.0.1."""
    assert sum(c.libmpi for c in clients) < 2, name
    SCENARIOS.append((name, lambda build: run(build, script, clients, **more)))


def job_ns(name, script, clients, **more):
    def scenario(build):
        if not possible():
            return "needs root"
        net = Namespaces(len(clients), {i: len(c.procs) for i, c in enumerate(clients)
                                        if c.libmpi and len(c.procs) > 1})
        try:
            run(build, script, clients, net=net, **more)
        finally:
            net.close()
        return None
    SCENARIOS.append((name, scenario))


def both(name, script, other, procs="1", peers=None, **more):
    """libmpi below and above the other: accepting and connecting, rank 0 and last."""
    def of(rank):
        return peers.replace("N", str(rank)) if peers else None

    job(f"{name}, libmpi first", script, [L(procs, peers=of(1)), other], **more)
    job(f"{name}, libmpi last", script, [other, L(procs, peers=of(0))], **more)


# --- start-up ------------------------------------------------------------------------

both("start-up with strict", "empty", C("2"), "2")
both("start-up with LAM", "empty", C("2", "lam"), "2")
both("several hosts", "all_pairs", C("1+2+1"), "3")
both("attributes", "attributes", C("1+2"), "2")
both("minima of DATALEN and the marks", "all_pairs", C("2", small(100, 1, 3)), "2")
job("key", "all_pairs", [L("2"), C("1", "lam,auth=both,key=5678")], key=5678)
both("strangers knock", "all_pairs", C("1", chaos="strangers:1"))

# --- point to point, reference 13.5 and 13.7 -----------------------------------------

for d in (1, 7, 1024):
    both(f"sizes around DATALEN {d} with strict", "sizes", C("1", small(d)))
    both(f"sizes around DATALEN {d} with LAM", "sizes", C("1", small(d, kind="lam")))
both("sizes around DATALEN 65536 with LAM", "sizes", C("1", "lam"))
both("ping-pong with LAM", "pingpong", C("2", "lam"), "2")
both("overtaking with strict", "overtaking", C("1", small(100)))
both("overtaking with LAM", "overtaking", C("1", small(100, kind="lam")))
both("long messages answered in reverse with strict", "reverse_answers",
     C("1", small(64, more=",interleave=1")))
both("long messages answered in reverse with LAM", "reverse_answers",
     C("1", small(64, kind="lam")))
both("probe", "probe", C("1", small(10)))
both("cancel", "cancel", C("1", small(16)))
job("cancel: two messages with one request id", "cancel_same_id", [C("1"), L("1")])
both("cancel: a receive", "cancel_receive", C("1"))
job("cancel: LAM says no to everything", "cancel", [L("1"), C("1", "lam,datalen=16")],
    args={"always_no": 1})

# --- payload, reference 2.2 and 9.1.8 ------------------------------------------------

both("external32 of every basic type", "all_types", C("1", small(64)), args={"times": 9})
both("native payload of every basic type, LAM known by its offer", "all_types", C("1", "lam"),
     args={"times": 9})
both("native payload of every basic type, told", "all_types",
     C("1", small(64, kind="lam")), peers="N=native-payload,reduce-on-pt2pt-context",
     args={"times": 9})
both("long8 of every basic type", "all_types", C("1", X8 + ",datalen=64"), peers="N=long8",
     args={"times": 9})
job("switches from the environment", "all_types",
    [L("1", env={"IMPI_PEERS": "1:long8"}), C("1", X8)])
both("external32 told against LAM's offer", "types", C("1", "lam,data=x32"),
     peers="N=external32")
job_ns("payload of three kinds of clients at a time", "all_pairs",
       [L("2", peers="3=long8"), C("1", "lam"), C("2"), C("1", X8)])

# --- flow control, reference 13.6 ----------------------------------------------------

for marks in ((1, 1), (7, 7), (1, 7)):
    both(f"flow control {marks[0]}/{marks[1]}: saturated with strict", "saturate",
         C("2", small(16, *marks)), "2")
both("flow control 7/7: saturated with LAM", "saturate",
     C("2", small(16, 7, 7, kind="lam"), chaos=None), "2", peers="N=native-payload")
for marks in ((1, 1), (7, 7)):
    job(f"flow control {marks[0]}/{marks[1]}: a stalled receiver stops only its own pair",
        "stalled_receiver", [L("2"), C("2", small(64, *marks))])

# --- collectives, reference 7 and 13.10 ----------------------------------------------

both("collectives with strict", "collectives", C("2"), "2")
both("collectives with LAM", "collectives", C("2", "lam"), "2", args=WORLD)
both("collectives of the profile", "profile", C("2"), "2")
both("collectives of the profile, small DATALEN, ackmark 1", "profile", C("2", small(16, 1, 1)),
     "2")
job("collectives: strict, libmpi, strict", "collectives", [C("2"), L("2"), C("1")])
job("collectives: LAM, libmpi, strict", "collectives", [C("2", "lam"), L("2"), C("1")],
    args=WORLD)
job("profile: strict, libmpi, strict", "profile", [C("1"), L("3"), C("2")])
job("profile: five clients", "profile", [C("1"), L("2"), C("2"), C("1"), C("1")])
for m in (0, 1):
    job(f"collectives of 3 clients, MAXLINEAR {m}", "collectives",
        [C("2", f"strict,maxlinear={m}"), L("1", env={"IMPI_COLL_MAXLINEAR": str(m)}),
         C("2", f"strict,maxlinear={m}")])
    job(f"profile of 3 clients, MAXLINEAR {m}", "profile",
        [C("2", f"strict,maxlinear={m}"), L("2", env={"IMPI_COLL_MAXLINEAR": str(m)}),
         C("2", f"strict,maxlinear={m}")])
job("profile, XSIZE 40", "profile", [C("2", "strict,xsize=40"),
                                     L("2", env={"IMPI_COLL_XSIZE": "40"})])
job("collectives of 7 clients", "collectives", [C("1")] * 3 + [L("2")] + [C("1")] * 3)
job("reduce on the pt2pt context by order", "collectives",
    [L("1", peers="1=reduce-on-pt2pt-context"), C("1", "strict,reduce_cid0=1")])


def barriers(build):
    with tempfile.TemporaryDirectory() as d:
        run(build, "barriers", [C("2"), L("2"), C("1")], args={"dir": d})


SCENARIOS.append(("barrier holds everybody", barriers))

# --- several libmpi clients and foreign ones -----------------------------------------

job_ns("libmpi, strict, libmpi", "mixture", [L("2"), C("2", small(100)), L("1")])
job_ns("LAM, libmpi, libmpi", "collectives", [C("1", "lam"), L("2"), L("2")], args=WORLD)
job_ns("libmpi, libmpi, strict: profile", "profile", [L("1"), L("2"), C("2")])
job_ns("five clients: strict, libmpi, LAM, libmpi, strict", "mixture",
       [C("1"), L("1"), C("1", "lam"), L("2"), C("1+1")])


both("LAM that writes before it reads", "mixture", C("2", "lam,blocking_writes=1"), "2")

# --- libmpi over several nodes: as many IMPI hosts -----------------------------------

job_ns("two nodes, strict", "all_pairs", [L("2+2"), C("1+2")])
job_ns("strict, two nodes", "mixture", [C("1+1", small(100)), L("1+2")])
job_ns("three nodes, LAM", "mixture", [L("1+1+1"), C("2", "lam")])
job_ns("two nodes, collectives of the profile", "profile", [C("1"), L("2+1"), C("1+1")])
job_ns("two nodes, finalize with traffic just before it", "last_minute",
       [C("2", "lam"), L("2+1")])

# --- end, reference 13.11 ------------------------------------------------------------

both("finalize with traffic just before it", "last_minute", C("1+1", small(16)), "2")
both("finalize with traffic just before it, LAM", "last_minute", C("2", "lam"), "2")
job("FINI comes while the other's ranks are at work", "late_rank", [C("2"), L("2"), C("1")])
job("FINI comes before our own", "late_rank", [C("2", "strict,fini_early=1"), L("2")])

# --- unkind, forbidden ---------------------------------------------------------------

for kind in ("split", "coalesce", "stall", "weather"):
    both(kind, "mixture", C("2", small(100, 3, 9), f"{kind}:1"), "2")
for seed in range(1, 9):
    job(f"fuzz no. {seed}", "endless",
        [L("2", exit=None), C("1", small(64), f"fuzz:{seed}:150", exit=None)], args={"long": 1},
        server_exit=1)
SAYS = {
    "unknown-type": "unknown packet type", "garbage": "unknown packet type",
    "wrong-src": "of a process that is not there", "borrowed-src": "of a process that is not there",
    "wrong-dest": "to a process that is not here", "overlong": "payload longer than DATALEN",
    "small-msglen": "payload longer than its message",
    "lost-rest": "data for a receive that is not there",
    "ghost-protoack": "for packets that were never sent",
    "ghost-syncack": "answers a send that is not there",
    "ghost-cancelyes": "answers a send that is not there", "after-fini": "after FINI",
    "cut": "before the job was over", "leave": "before the job was over",
}
for kind, _ in EVIL:
    job(f"broken protocol: {kind}", "endless",
        [L("2", exit=1, says=SAYS[kind]), C("1", small(64), f"{kind}:1:20", exit=1)],
        server_exit=1)
