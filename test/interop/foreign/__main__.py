# SPDX-License-Identifier: BSD-2-Clause
"""python3 -m foreign: one client of an IMPI job.

    python3 -m foreign --client 1 --server 127.0.0.1:9283 --host 127.0.0.3/2 \\
            --behave lam --known 0=strict --script scripts:pingpong --arg bytes=100

Exit status: 0 all went well, 1 the job or the protocol failed, 3 deadline, 4 a check of
the script failed."""
import argparse
import faulthandler
import importlib
import os
import sys
import threading
import traceback

from . import agent as agents
from . import behave, channel, dance, proc, table
from .chaos import Chaos


def options():
    p = argparse.ArgumentParser(prog="foreign")
    p.add_argument("--client", type=int, required=True, help="rank of this client")
    p.add_argument("--server", required=True, metavar="HOST:PORT")
    p.add_argument("--host", action="append", required=True, metavar="IPV4[/NPROCS]",
                   help="a host of this client; repeatable")
    p.add_argument("--behave", default="strict", help="strict, lam, and ,field=value")
    p.add_argument("--known", action="append", default=[], metavar="CLIENT=PRESET")
    p.add_argument("--script", required=True, metavar="MODULE:FUNCTION")
    p.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--chaos", metavar="KIND:SEED[:N]")
    p.add_argument("--deadline", type=float, default=60, metavar="S")
    p.add_argument("--source", metavar="IPV4", help="address to connect to the server from")
    p.add_argument("--trace", metavar="FILE", help="all packets")
    return p.parse_args()


class Client:
    def __init__(self, o):
        self.o = o
        self.b = behave.parse(o.behave, o.known)
        self.chaos = Chaos(o.chaos) if o.chaos else None
        self.failed = []

    def start_up(self):
        o = self.o
        hosts, self.listeners = [], []
        for h in o.host:
            ip, _, n = h.partition("/")
            s, port = dance.listen(ip)
            self.listeners.append(s)
            hosts.append((ip, port, [self.pid(len(hosts), i) for i in range(int(n or 1))]))
        host, _, port = o.server.rpartition(":")
        self.server = channel.ServerChannel((host.strip("[]"), int(port)), self.b, o.client,
                                            o.deadline, o.source, self.chaos)
        nclients = self.server.join()
        replies = self.server.labels(table.own_values(self.b, hosts))
        self.table = table.Table(nclients, replies)
        self.server.done()

    def pid(self, host, i):
        """LAM: a Unix process id.  Strict: all 64 bits of the name are used."""
        unix = os.getpid() * 64 + host * 32 + i
        return unix if not self.b.mapped else unix | 0xfedcba98 << 32

    def run(self):
        self.start_up()
        mine = [h for h in self.table.hosts if h.client == self.o.client]
        sockets, self.strangers = dance.run(self.table, self.b, mine, self.listeners,
                                            self.o.deadline, self.chaos)
        trace = open(self.o.trace, "w") if self.o.trace else None
        self.agent = agents.Agent(self.b, self.o.client, self.table, sockets, self.server.sock,
                                  self.chaos, trace)
        self.agent.thread.start()
        module, _, name = self.o.script.partition(":")
        script = getattr(importlib.import_module(module), name)
        args = dict(a.split("=", 1) for a in self.o.arg)
        threads = [threading.Thread(target=self.one, args=(script, r, args), daemon=True)
                   for r in self.agent.ranks]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.agent.thread.join()
        if self.agent.error or self.failed:
            return
        self.server.fini()

    def one(self, script, rank, args):
        p = proc.Proc(self.agent, rank, args)
        try:
            script(p)
            p.finalize()
        except agents.Aborted:
            pass
        except channel.ProtocolError as e:
            self.agent.fail(e)
        except Exception as e:  # told, and everybody stops
            self.failed.append(f"rank {rank}: " + "".join(
                traceback.format_exception_only(e)).strip() + " at " + ", ".join(
                f"{os.path.basename(f.filename)}:{f.lineno}"
                for f in traceback.extract_tb(e.__traceback__)))
            self.agent.fail(e)


def too_late(o):
    print(f"client {o.client}: deadline of {o.deadline:g} s", file=sys.stderr)
    faulthandler.dump_traceback(all_threads=True)
    os._exit(3)


def main():
    o = options()
    killer = threading.Timer(o.deadline, too_late, (o,))
    killer.daemon = True
    killer.start()
    c = Client(o)
    try:
        c.run()
    except Exception as e:  # start-up
        print(f"client {o.client}: {type(e).__name__}: {e}", file=sys.stderr)
        if not isinstance(e, (OSError, channel.ProtocolError)):
            traceback.print_exc()
        return 1
    if c.failed:
        for text in c.failed:
            print(f"client {o.client}: {text}", file=sys.stderr)
        return 4
    if c.agent.error:
        e = c.agent.error
        print(f"client {o.client}: {type(e).__name__}: {e}", file=sys.stderr)
        if not isinstance(e, (OSError, channel.ProtocolError)):
            traceback.print_exception(e)
        return 1
    print(f"client {o.client}: ok, at most {c.agent.credit.sent_max} packets under way, "
          f"{c.strangers} strangers")
    if c.agent.headers:
        print(f"client {o.client}: {c.agent.quick} of {c.agent.headers} headers were acknowledged "
              "at once")
    return 0


sys.stdout.reconfigure(line_buffering=True)
STATUS = main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(STATUS)
