#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns of the MPI libraries that `make bench-mpi` measures beside each other.

usage: turns-mpi.py OUT.json DIR RANKS "WHAT:BYTES..." CONTENDER...

DIR holds an executable launch-CONTENDER for each, which starts RANKS ranks of mpibench with its
argument.  All jobs run all the time; the ranks of those whose turn it is not sleep in a read from a
FIFO, so nothing spins but who has its turn: TURN_MS (15) of one size (rounds.py).  After ROUNDS (20)
rounds of each all jobs are started anew, SESSIONS (2) times, as the memory they happen to get makes
a difference that stays with them.

Who does not answer within LIMIT_S (6) is "too slow" for this and what is longer of its kind, and
its job is started again for the rest.  A job that has not started after START_S (60), or has ended
before, is started anew, STARTS (3) times in all, and then ends it all: more ranks than CPUs that
spin, on a machine with other work, take long to begin, and MPICH's sometimes fail to.  Its launcher
fails at the end now and then, too: a peer's end is told, and what it measured counts.

OUT gets the share of the cores' time the hypervisor kept, and a list of turns: session, round,
contender, what, bytes, us (of rank 0), cpu_us and switches (of all ranks together)."""
import json
import os
import select
import signal
import subprocess
import sys
import time

import rounds

TURN_MS = float(os.environ.get("TURN_MS", 15))
SESSIONS = int(os.environ.get("SESSIONS", 2))
LIMIT_S = float(os.environ.get("LIMIT_S", 6))
START_S = float(os.environ.get("START_S", 60))
STARTS = int(os.environ.get("STARTS", 3))
MINE = ("ours", "before")


class Job:
    """One library's ranks, started and asleep."""

    def __init__(self, name, directory, ranks):
        self.name, self.directory, self.ranks = name, directory, ranks
        self.too_slow = set()
        self.process = None
        self.start()

    def start(self):
        for left in reversed(range(STARTS)):
            if self.started():
                return
            self.stop()
            with open(f"{self.dir}/log", encoding="utf-8") as log:
                why = f"{self.name}, {self.ranks} ranks, did not start: {log.read()[-1000:]}"
            if left == 0:
                sys.exit(why)
            print(f"{why.strip()}; once more", file=sys.stderr)

    def started(self):
        """All ranks are there, asleep."""
        self.dir = f"{self.directory}/{self.name}-{time.monotonic_ns()}"
        os.mkdir(self.dir)
        names = [str(r) for r in range(self.ranks)]
        for n in names + ["out"]:
            os.mkfifo(f"{self.dir}/{n}")
        # For both directions, so that nobody waits for the other end to be opened.
        self.ends = [os.open(f"{self.dir}/{n}", os.O_RDWR) for n in names]
        self.out = os.open(f"{self.dir}/out", os.O_RDWR)
        with open(f"{self.dir}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([f"{self.directory}/launch-{self.name}", self.dir],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        return self.answers(START_S) is not None

    def answers(self, seconds):
        """A line of every rank, by rank, or None."""
        text, end = b"", time.monotonic() + seconds
        while text.count(b"\n") < self.ranks:
            left = end - time.monotonic()
            if left <= 0 or self.process.poll() is not None:
                return None
            if select.select([self.out], [], [], min(left, 0.5))[0]:
                text += os.read(self.out, 4096)
        return sorted([float(x) for x in line.split()] for line in text.decode().splitlines())

    def take(self, what, size):
        if any(w == what and size >= s for w, s in self.too_slow):
            return None
        for fd in self.ends:
            os.write(fd, f"{what} {size} {TURN_MS}\n".encode())
        got = self.answers(LIMIT_S)
        if got is None:
            if self.process.poll() is not None:
                with open(f"{self.dir}/log", encoding="utf-8") as log:
                    sys.exit(f"{self.name}, {what} of {size} bytes, failed: {log.read()[-1000:]}")
            self.too_slow.add((what, size))
            self.stop()
            self.start()
            return None
        return {"what": what, "bytes": size, "us": got[0][1], "cpu_us": sum(g[2] for g in got),
                "switches": sum(g[3] for g in got)}

    def stop(self, gently=False):
        """Close the FIFOs, which ends the ranks; or end the launcher and all it has started."""
        for fd in self.ends:
            if gently:
                os.write(fd, b"end\n")
        try:
            self.process.wait(10 if gently else 0)
        except subprocess.TimeoutExpired:
            gently = False
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        for fd in self.ends + [self.out]:
            os.close(fd)
        self.ends = []
        return gently and self.process.returncode == 0


def main():
    path, directory, ranks, measures, *names = sys.argv[1:]
    measures = [(m.split(":")[0], int(m.split(":")[1])) for m in measures.split()]
    out, before = [], rounds.ticks()
    for number in range(SESSIONS):
        jobs = [Job(name, directory, int(ranks)) for name in names]
        try:
            for what, size in measures:
                rounds.of(number, jobs, what, size, lambda row: row["us"], out)
        except BaseException:
            for j in jobs:
                j.stop()
            raise
        for j in jobs:
            if not j.stop(gently=True):
                with open(f"{j.dir}/log", encoding="utf-8") as log:
                    why = f"{j.name} did not end well: {log.read()[-1000:]}"
                if j.name in MINE:
                    sys.exit(why)
                print(why.strip(), file=sys.stderr)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"stolen": rounds.stolen(before), "turns": out}, f)


if __name__ == "__main__":
    main()
