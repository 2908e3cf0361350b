#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns of the transports that `make bench-suci` measures beside each other.

usage: turns.py OUT.json IN BIN MTU "CONTENDER..." "WHAT:BYTES..."

IN is the testbed's tool that runs a command in a namespace, BIN the folder of the programs.
A contender is a transport's name, with +seal (Suci, sealed), or +xdp (Suci that receives through
AF_XDP: between a pair of namespaces of its own, l2 and r2, for a program on the interface
changes the way of all that passes it), or +NAME=VALUE, which both ends get in their environment.

Everybody's two processes run all the time, but those whose turn it is not are stopped.  A turn
takes TURN_MS (15) of one size; in a round each has one (../rounds.py).  After ROUNDS (20) rounds of
each size connections are opened anew, by new processes, SESSIONS (3) times, as the memory they happen
to get makes a difference that stays with them.

Client and server of every contender are bound to a core each (PIN="0 1"; empty: not at all), with all
their threads.

OUT gets the share of the cores' time the hypervisor kept, and a list of turns: session, round,
contender, and what the program printed."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import rounds  # noqa: E402

FIRST_PORT = 7911
TURN_MS = float(os.environ.get("TURN_MS", 15))
SESSIONS = int(os.environ.get("SESSIONS", 3))
PIN = os.environ.get("PIN", "0 1").split()
RT = ["chrt", "-f", "10"] if os.environ.get("RT") else []


class Contender:
    """A client and a server, connected and stopped but in turns."""

    def __init__(self, name, port, tool, binaries, mtu, most):
        self.name = name
        transport, *kind = name.split("+")
        xdp = "xdp" in kind
        env = ["env", f"DUEL_XDP={int(xdp)}", f"DUEL_SEAL={int('seal' in kind)}"]
        env += [k for k in kind if "=" in k]
        program = [f"{binaries}/duel-{transport}"]
        args = ["192.0.2.2", str(port), str(mtu), str(most)]
        self.procs = []
        try:
            self.server = self.start(tool, "r2" if xdp else "r", env, PIN[1:], program + ["server"] + args)
            if self.server.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{name}: the server did not start")
            self.client = self.start(tool, "l2" if xdp else "l", env, PIN[:1], program + ["client"] + args)
            self.turn("ping", 8, 1)  # connected
        except BaseException:
            self.close()
            raise

    def start(self, tool, node, env, core, command):
        pin = ["taskset", "-c", core[0]] if core else []
        p = subprocess.Popen([tool, node] + RT + env + pin + command, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)
        self.procs.append(p)
        return p

    def signal(self, number):
        for p in self.procs:
            p.send_signal(number)

    def take(self, what, size):
        """A turn of this one, who runs for that long."""
        self.signal(signal.SIGCONT)
        got = self.turn(what, size, TURN_MS)
        time.sleep(0.001)  # the last acknowledgement
        self.signal(signal.SIGSTOP)
        return got

    def turn(self, what, size, ms):
        self.client.stdin.write(f"{what} {size} {ms}\n")
        line = self.client.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: {what} {size} failed")
        return json.loads(line)

    def close(self):
        if len(self.procs) == 2:
            self.procs[1].stdin.close()
        for p in reversed(self.procs):
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def slowness(row):
    return row["half_us_median"] if row["what"] == "ping" else 1 / row["mb_per_s"]


def main():
    path, tool, binaries, mtu, names, measures = sys.argv[1:]
    measures = [(m.split(":")[0], int(m.split(":")[1])) for m in measures.split()]
    most = max(size for _, size in measures)
    out = []
    before = rounds.ticks()
    for number in range(SESSIONS):
        contenders = []
        try:
            for i, name in enumerate(names.split()):
                contenders.append(Contender(name, FIRST_PORT + i, tool, binaries, int(mtu), most))
                contenders[-1].signal(signal.SIGSTOP)
            for what, size in measures:
                rounds.of(number, contenders, what, size, slowness, out)
        finally:
            for c in contenders:
                c.signal(signal.SIGCONT)
                c.close()
    with open(path, "w") as f:
        json.dump({"stolen": rounds.stolen(before), "turns": out}, f)


if __name__ == "__main__":
    main()
