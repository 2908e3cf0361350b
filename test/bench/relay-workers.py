#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a worker needs for a segment while another one works beside it, on a machine with a core for
each worker and none for the generator (PARTS=workers of test/bench/relay.sh).

    relay-workers.py CONTENDERS OUT      (appends to OUT)

CONTENDERS has a line of JSON for each that is measured:

    name        what its turns are called
    commands    generators (relay-pktgen --turns)
    pids        relayds
    stats       their stats files, in that order
    workers     how many have work

Generators and relayds never run at the same time.  A turn is a row of rounds: the generators run for
FILL_US and fill the queues as far as window and credit allow, then stop; the relayds run for CHEW_US,
each worker on its core, and all begin at once with queues that are full; they are stopped long after
they have found them empty.  So nobody takes a core from a worker that has work, and the workers have it
at the same time.  What counts is relayd's own account: a worker's seconds with work and its segments.

OUT gets a line of JSON for each turn: session, number, name, and of each worker that had work ns a
segment ("ns") and how many segments."""
import json
import os
import select
import signal
import subprocess
import sys
import time

TURN_MS = int(os.environ.get("WORKERS_TURN_MS", "100"))
ROUNDS = int(os.environ.get("ROUNDS", 20))
SESSION = int(os.environ.get("SESSION", 0))
FILL_S = int(os.environ.get("FILL_US", 700)) / 1e6
CHEW_S = int(os.environ.get("CHEW_US", 900)) / 1e6
ATTEMPTS = 6
IDLE = 64  # segments of a worker in a turn: it was not meant to have work


class Contender:
    def __init__(self, spec):
        self.name, self.pids, self.stats = spec["name"], spec["pids"], spec["stats"]
        self.commands, self.workers = spec["commands"], spec["workers"]
        self.generators = []

    def start(self):
        self.relayds(signal.SIGCONT)
        for command in self.commands:
            self.generators.append(self.generator(command))
        self.relayds(signal.SIGSTOP)

    @staticmethod
    def generator(command):
        for _ in range(ATTEMPTS):
            g = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            for line in g.stdout:
                if line.strip() == "ready":
                    return g
            g.wait()
            time.sleep(0.5)
        raise RuntimeError(f"the generator did not start: {command}")

    def relayds(self, number):
        for p in self.pids:
            os.kill(p, number)

    def feeds(self, number):
        for g in self.generators:
            os.kill(g.pid, number)

    def counters(self):
        """(segments, busy seconds) of all workers, the relayds' one after the other."""
        out = []
        for pid, path in zip(self.pids, self.stats):
            if os.path.exists(path):
                os.unlink(path)
            os.kill(pid, signal.SIGUSR1)
            out += self.read(path)
        return out

    def read(self, path):
        for _ in range(5000):
            time.sleep(0.0004)
            try:
                with open(path) as f:
                    s = json.load(f)
            except (OSError, ValueError):
                continue  # not yet, or not all of it
            if any(leg["steered"] or leg["tx_steered"] for leg in s["legs"].values()):
                raise RuntimeError(f"{self.name}: frames came to the wrong worker")
            return [(w["segments"], w["busy_s"]) for w in s["workers"]]
        raise RuntimeError(f"{self.name}: no counters")

    def round(self):
        self.feeds(signal.SIGCONT)
        time.sleep(FILL_S)
        self.feeds(signal.SIGSTOP)
        self.relayds(signal.SIGCONT)
        time.sleep(CHEW_S)
        self.relayds(signal.SIGSTOP)

    def turn(self):
        self.relayds(signal.SIGCONT)
        before = self.counters()
        self.relayds(signal.SIGSTOP)
        for g in self.generators:
            g.stdin.write(f"{TURN_MS}\n")
        waiting = [g.stdout for g in self.generators]
        while waiting:
            self.round()
            for f in select.select(waiting, [], [], 0)[0]:
                if not f.readline():
                    raise RuntimeError(f"{self.name}: the generator went")
                waiting.remove(f)
        self.feeds(signal.SIGCONT)  # resting in its read
        self.relayds(signal.SIGCONT)
        after = self.counters()
        self.relayds(signal.SIGSTOP)
        did = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(after, before)]
        busy = [{"ns": s / n * 1e9, "segments": n} for n, s in did if n > IDLE]
        if len(busy) != self.workers:
            raise RuntimeError(f"{self.name}: {self.workers} workers should have had work: {did}")
        return {"workers": busy}

    def close(self):
        """False: a generator says that not all was well."""
        good = True
        self.feeds(signal.SIGCONT)
        self.relayds(signal.SIGCONT)
        for g in self.generators:
            g.stdin.close()
            try:
                rest = g.stdout.read()
                code = g.wait(30)
            except subprocess.TimeoutExpired:
                g.kill()
                rest, code = "no end", g.wait()
            if code:
                print(f"{self.name}: {rest}", file=sys.stderr)
                good = False
        return good


def main():
    with open(sys.argv[1]) as f:
        contenders = [Contender(c) for c in map(json.loads, f)]
    number, good = 0, True
    try:
        for c in contenders:
            c.start()
        with open(sys.argv[2], "a") as out:
            for r in range(ROUNDS):
                for c in contenders if r % 2 == 0 else contenders[::-1]:
                    row = {"session": SESSION, "number": number, "name": c.name, **c.turn()}
                    out.write(json.dumps(row) + "\n")
                    number += 1
    finally:
        for c in contenders:
            good = c.close() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
