# SPDX-License-Identifier: BSD-2-Clause
"""A SCPI agent (Polatis): lines, short and long forms, an error queue."""
import re

from matrix import Refused

ERRORS = {"busy": (-221, "Settings conflict"), "range": (-222, "Data out of range"),
          "fault": (-240, "Hardware error"), "absent": (-221, "Settings conflict"),
          "later": (-350, "Queue overflow")}


def matches(header, pattern):
    """'CONNect' in a pattern: CONN or CONNECT, any case."""
    words, wants = header.strip(":").split(":"), pattern.split(":")
    return len(words) == len(wants) and all(
        w.upper() in (p.upper(), "".join(c for c in p if not c.islower()))
        for w, p in zip(words, wants))


def lists(text):
    return [[int(p) for p in re.findall(r"\d+", part)] for part in re.findall(r"\(@([^)]*)\)", text)]


class Session:
    def __init__(self, matrix, args, reader, writer):
        self.m, self.args = matrix, args
        self.reader, self.writer = reader, writer
        self.errors = []

    def error(self, why):
        self.errors.append(ERRORS[why])

    async def change(self, verb, args):
        m, groups = self.m, lists(args)
        ins = [p - 1 for p in groups[0]] if groups else []
        outs = [p - m.n - 1 for p in groups[1]] if len(groups) > 1 else []
        if verb == "SUB":
            if any(i not in m.out_of or (outs and m.out_of[i] != o)
                   for i, o in zip(ins, outs or ins)):
                raise Refused("absent")
            for i in ins:
                await m.remove(i)
            return
        if len(ins) != len(outs):
            raise Refused("range")
        # This agent, like some real ones, makes room silently.
        for i, o in zip(ins, outs):
            for old in {i, m.user_of(o)} & set(m.out_of):
                await m.remove(old)
        for i, o in zip(ins, outs):
            m.check(i, o)
        for w in [m.add(i, o) for i, o in zip(ins, outs)]:
            await w

    def query(self, header, args):
        m = self.m
        if header == "*IDN":
            return "EMULATOR,N-OST-%dx%d,1,1.0" % (m.n, m.n)
        if header == "*OPC":
            return "1"
        if matches(header, "OXC:SWITch:SIZE"):
            return "%d,%d" % (m.n, m.n)
        if matches(header, "OXC:SWITch:CONNect:STATe"):
            pairs = sorted(m.out_of.items())
            return "(@%s),(@%s)" % (",".join(str(i + 1) for i, _ in pairs),
                                    ",".join(str(m.n + o + 1) for _, o in pairs))
        if matches(header, "OXC:SWITch:CONNect:PORT"):
            p = int(args)
            i = p - 1 if p <= m.n else m.user_of(p - m.n - 1)
            if i not in m.out_of:
                return '""'
            return '"%d"' % (m.n + m.out_of[i] + 1 if p <= m.n else i + 1)
        if matches(header, "PMON:POWer"):
            ports = lists(args)[0]
            return "(%s)" % ",".join("%.2f" % m.power(p <= m.n, p - 1 if p <= m.n else p - m.n - 1)
                                     for p in ports)
        if matches(header, "SYSTem:ERRor"):
            code, text = self.errors.pop(0) if self.errors else (0, "No error")
            return '%d,"%s"' % (code, text)
        raise Refused("range")

    async def command(self, text):
        header, _, args = text.strip().partition(" ")
        header = header.upper() if header.startswith("*") else header
        try:
            if header.endswith("?"):
                self.writer.write((self.query(header[:-1], args) + "\n").encode("ascii"))
            elif header == "*CLS":
                self.errors.clear()
            elif matches(header, "OXC:SWITch:CONNect:ADD"):
                await self.change("ADD", args)
            elif matches(header, "OXC:SWITch:CONNect:SUB"):
                await self.change("SUB", args)
            elif header:
                self.errors.append((-113, "Undefined header"))
        except Refused as e:
            self.error(e.why)
        except (ValueError, IndexError):
            self.errors.append((-104, "Data type error"))

    async def serve(self):
        count = 0
        while line := await self.reader.readline():
            count += 1
            if self.args.hang_up_after and count > self.args.hang_up_after:
                return
            for c in re.split(r";(?![^(]*\))", line.decode("latin-1").strip()):
                await self.command(c)
            await self.writer.drain()
