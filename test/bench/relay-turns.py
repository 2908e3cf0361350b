#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns of what `make bench-relay` measures beside each other.

    relay-turns.py CONTENDERS OUT NAME...      (appends to OUT)

The names are the order of a round, some more than once.  CONTENDERS has a line of JSON for each of
them: a generator that measures in turns (`relay-pktgen --turns`, tools/pktgen-scenarios/turns.h;
`netpp --turns`) and what it measures:

    name        what its turns are called
    command     the generator
    pids        of what is measured: stopped but in turns.  A polling process that is stopped costs
                nothing, and one that is not would take the core from the others
    stats       relayd's stats file, or "": its worker's segments and busy seconds are told, too
    peer        true: stays stopped when its generator goes (testpmd does not survive that)

All stand at the same time.  A turn takes TURN_MS (15) after some ms that do not count; every other
round has the reverse order.  So what is compared is a hundredth of a second apart, whatever the
machine's speed is in that second.  Ratios are taken of neighbours by report-relay.py.

OUT gets a line of JSON for each turn: session, number, name and what the generator printed;
with counters, segments and busy seconds of relayd's worker in the turn, lead and drain included.
relayd's control writes them before the generator is told to begin and after it has told its
figures, so they cost a profile of the process samples, but what is measured no time.  The first
reading of a turn cannot be the last one of the turn before: a worker that was stopped with
work in its hands counts all the time it stood as busy."""
import json
import os
import signal
import subprocess
import sys
import time

TURN_MS = os.environ.get("TURN_MS", "15")
ROUNDS = int(os.environ.get("ROUNDS", 20))
SESSION = int(os.environ.get("SESSION", 0))
ATTEMPTS = 6  # a port whose last other end is just gone may not take us at once


class Contender:
    def __init__(self, spec):
        self.name = spec["name"]
        self.command = spec["command"]
        self.pids = spec.get("pids", [])
        self.stats = spec.get("stats")
        self.peer = spec.get("peer", False)
        self.generator = None

    def start(self):
        self.signal(signal.SIGCONT)
        for _ in range(ATTEMPTS):
            self.generator = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                              text=True, bufsize=1)
            for line in self.generator.stdout:
                if line.strip() == "ready":
                    self.signal(signal.SIGSTOP)
                    return
            self.generator.wait()
            time.sleep(0.5)
        raise RuntimeError(f"{self.name}: the generator did not start")

    def signal(self, number):
        for p in self.pids:
            os.kill(p, number)

    def worked(self):
        """Segments the worker has forwarded and seconds it had work, so far."""
        if not self.stats:
            return 0, 0
        if os.path.exists(self.stats):
            os.unlink(self.stats)
        os.kill(self.pids[0], signal.SIGUSR1)
        for _ in range(5000):
            time.sleep(0.0004)
            try:
                with open(self.stats) as f:
                    workers = json.load(f)["workers"]
                return sum(w["segments"] for w in workers), sum(w["busy_s"] for w in workers)
            except (OSError, ValueError):
                pass  # not yet, or not all of it
        raise RuntimeError(f"{self.name}: no counters")

    def turn(self):
        self.signal(signal.SIGCONT)
        if self.stats:
            time.sleep(0.001)  # for a turn of the worker that was under way when it was stopped
        before = self.worked()
        self.generator.stdin.write(TURN_MS + "\n")
        line = self.generator.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: the generator went")
        result = json.loads(line)
        after = self.worked()
        self.signal(signal.SIGSTOP)
        if self.stats:
            result["busy_segments"] = after[0] - before[0]
            result["busy_s"] = after[1] - before[1]
        return result

    def close(self):
        """False: the generator says that not all was well."""
        if not self.generator:
            return True
        if not self.peer:
            self.signal(signal.SIGCONT)
        self.generator.stdin.close()
        try:
            rest = self.generator.stdout.read()
            code = self.generator.wait(30)
        except subprocess.TimeoutExpired:
            self.generator.kill()
            code = self.generator.wait()
        if code:
            print(f"{self.name}: {rest}", file=sys.stderr)
        return code == 0


def main():
    path, out_path, *order = sys.argv[1:]
    with open(path) as f:
        contenders = {c["name"]: Contender(c) for c in map(json.loads, f)}
    number, good = 0, True
    try:
        for c in contenders.values():
            c.start()
        with open(out_path, "a") as out:
            for r in range(ROUNDS):
                for name in order if r % 2 == 0 else order[::-1]:
                    row = {"session": SESSION, "number": number, "name": name, **contenders[name].turn()}
                    out.write(json.dumps(row) + "\n")
                    number += 1
    finally:
        for c in contenders.values():
            good = c.close() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
