# SPDX-License-Identifier: BSD-2-Clause
"""What kind of peer a client is.

    strict            external32, IPv4-mapped addresses, labels sent without waiting,
                      zeros in unused fields, one queue per pair of procs
    lam               the habits of LAM/MPI 7.1.4 on little-endian machines
    lam,ackmark=2     any field below can be given after the name
"""
from dataclasses import dataclass, field, fields, replace


@dataclass(frozen=True)
class Behaviour:
    name: str = "strict"
    # server channel
    lockstep: bool = False        # a label only after the answer to the one before
    auth: str = "none"            # none, key, both
    key: int = 0
    mapped: bool = True           # ::ffff:a.b.c.d; else 12 zero bytes and IPv4
    versions: int = 1             # entries in C_VERSION, all the lower ones included
    extra_label: int = 0          # a label that others need not have, submitted last
    # what is offered
    datalen: int = 16384
    tagub: int = 0x3fffffff
    xsize: int = -1
    maxlinear: int = -1
    ackmark: int = 10
    hiwater: int = 20
    # connections
    check_source: bool = False    # an accepted connection comes from the host's own address
    blocking_dance: bool = False  # abort on a stranger instead of dropping it
    # packets
    data: str = "x32"             # of data.py: x32, x32l8, le8 (native), be8
    control_len: int = 0          # pk_len and pk_msglen of control packets
    junk_cid: bool = False        # 73, byte order of the sender, in control packets
    short_srqid: bool = True      # also plain short messages carry a request id
    drqid_short: bool = True      # SYNCACK of a short message has a handle
    first_handle: int = 0x8000000000005001  # odd-looking: others take it as it is
    world_lsrank: bool = False    # pk_lsrank is the rank in MPI_COMM_WORLD, whatever the cid
    # protocols
    cancel: str = "right"         # right, no (CANCELNO to everything)
    one_fifo: bool = False        # one queue per remote host
    protoack_queues: bool = False # PROTOACK goes to the back of that queue and needs credit
    header_apart: bool = False    # header and payload in two writes, as LAM; counts quick ACKs
    blocking_writes: bool = False # nothing is read until the kernel has taken what is written
    buffered_long: bool = False   # a long standard send is over once the agent has the bytes
    interleave: bool = False      # packets of several long messages in turns
    reduce_cid0: bool = False     # Reduce on the context of point-to-point
    fini_early: bool = False      # each host as soon as its own procs have finalized
    # other clients that are not strict: client rank -> name of a preset
    known: dict = field(default_factory=dict)

    def of(self, client):
        return PRESETS[self.known.get(client, "strict")]

    def wire_data(self, client):
        """Representation used with a client: whoever cannot convert decides."""
        mine, other = self.data, self.of(client).data
        return next((d for d in (mine, other) if d in ("le8", "be8")),
                    mine if mine != "x32" else other)

    def wire_reduce_cid0(self, client):
        return self.reduce_cid0 or self.of(client).reduce_cid0


STRICT = Behaviour()
LAM = Behaviour(name="lam", lockstep=True, mapped=False, datalen=65536, tagub=0x7fffffff,
                check_source=True, blocking_dance=True, data="le8", control_len=128,
                junk_cid=True, short_srqid=False, drqid_short=False, first_handle=1,
                buffered_long=True, world_lsrank=True, cancel="no", one_fifo=True,
                protoack_queues=True, reduce_cid0=True, fini_early=True)
PRESETS = {
    "strict": STRICT,
    "lam": LAM,
    "lam-be": replace(LAM, name="lam-be", data="be8"),  # told that its universe is heterogeneous
}


def parse(text, known=()):
    """"lam,ackmark=2" and ["1=lam"]."""
    name, *changes = text.split(",")
    b = PRESETS[name]
    types = {f.name: type(getattr(b, f.name)) for f in fields(b)}
    new = {}
    for change in changes:
        key, _, value = change.partition("=")
        kind = types[key]
        new[key] = value in ("1", "yes", "true") if kind is bool else kind(value)
    peers = {int(k): v for k, _, v in (p.partition("=") for p in known)}
    return replace(b, known=peers, **new)
