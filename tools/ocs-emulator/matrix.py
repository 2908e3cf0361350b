# SPDX-License-Identifier: BSD-2-Clause
"""The crossbar behind every dialect: circuits, mirrors that take time, faults on order."""
import asyncio
import json
import os


class Refused(Exception):
    """What a dialect turns into its own words: 'busy', 'range', 'fault', 'absent', 'later'."""

    def __init__(self, why):
        super().__init__(why)
        self.why = why


class Matrix:
    """Ports count from 0, ingress and egress apart."""

    def __init__(self, args):
        self.n = args.ports
        self.switch_s = args.switch_ms / 1000
        self.refuse = set(args.refuse)
        self.dark = set(args.dark)
        self.busy_once = set(args.busy_once)
        self.hook = args.hook
        self.state_file = args.state
        self.out_file = args.out
        self.out = set()  # of service
        self.out_of = {}
        self.lit = {}  # ingress -> "settling", "steady", "fault"
        self.counts = {"added": 0, "removed": 0, "refused": 0}
        self.watchers = []
        for pair in args.foreign:
            self.out_of[pair[0]] = pair[1]
            self.lit[pair[0]] = "steady"
        if self.state_file and os.path.exists(self.state_file):
            with open(self.state_file, encoding="ascii") as f:
                for i, o in json.load(f):
                    self.out_of[i] = o
                    self.lit[i] = "steady"

    def user_of(self, out):
        return next((i for i, o in self.out_of.items() if o == out), None)

    def save(self):
        if self.state_file:
            with open(self.state_file + ".new", "w", encoding="ascii") as f:
                json.dump(sorted(self.out_of.items()), f)
            os.replace(self.state_file + ".new", self.state_file)

    async def tell(self, what, i, o):
        if self.hook:
            p = await asyncio.create_subprocess_exec(self.hook, what, str(i), str(o))
            await p.wait()

    def check(self, i, o):
        """Raises what speaks against a circuit."""
        if not (0 <= i < self.n and 0 <= o < self.n):
            raise Refused("range")
        if (i, o) in self.busy_once:
            self.busy_once.discard((i, o))
            raise Refused("later")
        if (i, o) in self.refuse or i in self.out or o in self.out:
            self.counts["refused"] += 1
            raise Refused("fault")
        if i in self.out_of or self.user_of(o) is not None:
            self.counts["refused"] += 1
            raise Refused("busy")

    def add(self, i, o):
        """Set; light comes later.  Returns what settles it."""
        self.check(i, o)
        self.out_of[i] = o
        self.lit[i] = "settling"
        self.counts["added"] += 1
        self.save()
        return self.settle(i, o)

    async def settle(self, i, o):
        if self.switch_s:
            await asyncio.sleep(self.switch_s)
        if self.out_of.get(i) != o or self.lit[i] != "settling":
            return
        self.lit[i] = "fault" if (i, o) in self.dark else "steady"
        if self.lit[i] == "steady":
            await self.tell("lit", i, o)

    async def remove(self, i):
        if i not in self.out_of:
            raise Refused("absent")
        o = self.out_of.pop(i)
        del self.lit[i]
        self.counts["removed"] += 1
        self.save()
        await self.tell("dark", i, o)

    async def maintain(self):
        """Somebody works at the ports that the file names: what is lit over them is gone, and who
        drives the switch is not told."""
        self.out = set()
        if self.out_file and os.path.exists(self.out_file):
            with open(self.out_file, encoding="ascii") as f:
                self.out = {int(p) for p in f.read().split()}
        for i, o in list(self.out_of.items()):
            if (i in self.out or o in self.out) and i in self.out_of:
                await self.remove(i)

    def power(self, ingress, port):
        """dBm at a port: light comes in everywhere, goes out where it is steady."""
        if ingress:
            return -3.0
        i = self.user_of(port)
        return -4.25 if i is not None and self.lit[i] == "steady" else -60.0
