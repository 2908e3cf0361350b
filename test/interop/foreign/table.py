# SPDX-License-Identifier: BSD-2-Clause
"""Hosts and procs of the job, and the negotiated values, from the label replies."""
import struct

from . import wire
from .wire import ProtocolError


class Host:
    def __init__(self, index, client, addr, port, nprocs, first_rank):
        self.index, self.client, self.addr, self.port = index, client, addr, port
        self.nprocs, self.first_rank = nprocs, first_rank
        self.ranks = range(first_rank, first_rank + nprocs)


def own_values(behaviour, hosts):
    """hosts: [(ipv4, port, [pid, ...])]; what this client submits, in order."""
    b = behaviour
    addr = [wire.address16(ip, b.mapped) for ip, _, _ in hosts]
    nprocs = [len(pids) for _, _, pids in hosts]

    def u32(*numbers):
        return b"".join(struct.pack(">I", n & 0xffffffff) for n in numbers)

    values = {
        "C_VERSION": b"".join(struct.pack(">II", 0, i) for i in range(b.versions)),
        "C_NHOSTS": u32(len(hosts)), "C_NPROCS": u32(sum(nprocs)), "C_DATALEN": u32(b.datalen),
        "C_TAGUB": u32(b.tagub), "C_COLL_XSIZE": u32(b.xsize),
        "C_COLL_MAXLINEAR": u32(b.maxlinear), "H_IPV6": b"".join(addr),
        "H_PORT": u32(*(port for _, port, _ in hosts)), "H_NPROCS": u32(*nprocs),
        "H_ACKMARK": u32(*[b.ackmark] * len(hosts)), "H_HIWATER": u32(*[b.hiwater] * len(hosts)),
        "P_IPV6": b"".join(a * n for a, n in zip(addr, nprocs)),
        "P_PID": b"".join(struct.pack(">Q", pid) for _, _, pids in hosts for pid in pids),
    }
    assert list(values) == list(wire.LABELS)
    return values


def _split_versions(entries, nclients):
    lists = []
    for e in entries:
        version = struct.unpack(">II", e)
        if version == (0, 0):
            lists.append([])
        if not lists:
            raise ProtocolError("C_VERSION does not begin with 0.0")
        lists[-1].append(version)
    if len(lists) != nclients:
        raise ProtocolError(f"C_VERSION has {len(lists)} lists for {nclients} clients")
    return lists


def _equal(name, numbers, default):
    values = {default if n == -1 else n for n in numbers}
    if len(values) != 1:
        raise ProtocolError(f"{name} differs between clients: {sorted(values)}")
    return values.pop()


class Table:
    def __init__(self, nclients, replies):
        def numbers(name, code=">I"):
            return [struct.unpack(code, e)[0] for e in replies[name]]

        self.nclients = nclients
        self.versions = _split_versions(replies["C_VERSION"], nclients)
        nhosts, nprocs = numbers("C_NHOSTS"), numbers("C_NPROCS")
        for name, n in (("C_NHOSTS", nclients), ("C_NPROCS", nclients), ("C_DATALEN", nclients),
                        ("C_TAGUB", nclients), ("H_IPV6", sum(nhosts)), ("H_PORT", sum(nhosts)),
                        ("H_NPROCS", sum(nhosts)), ("H_ACKMARK", sum(nhosts)),
                        ("H_HIWATER", sum(nhosts)), ("P_IPV6", sum(nprocs)),
                        ("P_PID", sum(nprocs))):
            if len(replies[name]) != n:
                raise ProtocolError(f"{name} has {len(replies[name])} values instead of {n}")
        self.datalen = min(numbers("C_DATALEN"))
        self.tagub = min(numbers("C_TAGUB", ">i"))
        self.xsize = _equal("C_COLL_XSIZE", numbers("C_COLL_XSIZE", ">i"), 1024)
        self.maxlinear = _equal("C_COLL_MAXLINEAR", numbers("C_COLL_MAXLINEAR", ">i"), 4)
        self.ackmark, self.hiwater = min(numbers("H_ACKMARK")), min(numbers("H_HIWATER"))
        if not 1 <= self.ackmark <= self.hiwater or self.datalen < 1:
            raise ProtocolError(f"ackmark {self.ackmark}, hiwater {self.hiwater}, "
                                f"DATALEN {self.datalen}")
        self._hosts(nhosts, nprocs, replies["H_IPV6"], numbers("H_PORT"), numbers("H_NPROCS"))
        self.proc = [a + p for a, p in zip(replies["P_IPV6"], replies["P_PID"])]
        self.rank_of = {p: r for r, p in enumerate(self.proc)}
        if len(self.rank_of) != len(self.proc):
            raise ProtocolError("two procs have the same id and pid")

    def _hosts(self, nhosts, nprocs, addr, port, host_nprocs):
        self.hosts, first_rank = [], 0
        for client, n in enumerate(nhosts):
            mine = 0
            for _ in range(n):
                i = len(self.hosts)
                self.hosts.append(Host(i, client, addr[i], port[i], host_nprocs[i], first_rank))
                first_rank += host_nprocs[i]
                mine += host_nprocs[i]
            if mine != nprocs[client]:
                raise ProtocolError(f"client {client} has {nprocs[client]} procs, "
                                    f"its hosts have {mine}")
        self.host_of = [h for h in self.hosts for _ in h.ranks]

    def client_of(self, rank):
        return self.host_of[rank].client

    def first_rank(self, rank):
        """Of the client that has this rank."""
        return next(h.first_rank for h in self.hosts if h.client == self.client_of(rank))
