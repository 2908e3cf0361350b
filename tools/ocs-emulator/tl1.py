# SPDX-License-Identifier: BSD-2-Clause
"""TL1 agents: the grammar of commands, and three vendors' nouns."""
import asyncio
import re
import time

from matrix import Refused


class Deny(Exception):
    def __init__(self, code, text=""):
        super().__init__(code)
        self.code = code
        self.text = text


CODES = {"busy": ("SROF", "port in use"), "range": ("IIAC", "no such port"),
         "fault": ("SWFA", "mirror does not move"), "absent": ("SROU", "no such connection"),
         "later": ("SARB", "try again")}


def split(text, sep):
    """Splits at sep outside quotes; quotes go, what they hold stays."""
    parts, now, quoted, i = [], "", False, 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quoted and i + 1 < len(text):
            i += 1
            now += text[i] if sep == "," else "\\" + text[i]
        elif c == '"':
            quoted = not quoted
            now += "" if sep == "," else c
        elif c == sep and not quoted:
            parts.append(now)
            now = ""
        else:
            now += c
        i += 1
    return parts + [now]


def unquote(text):
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def commands(text):
    """Whole commands of text, and what is left of it."""
    done, now, quoted, i = [], "", False, 0
    while i < len(text):
        c = text[i]
        now += c
        if c == "\\" and quoted and i + 1 < len(text):
            i += 1
            now += text[i]
        elif c == '"':
            quoted = not quoted
        elif c == ";" and not quoted:
            done.append(now[:-1].strip())
            now = ""
        i += 1
    return done, now


class Agent:
    """One vendor's agent; a Session asks it."""
    prompt = ""
    greeting = b""
    echo = False
    needs_login = True

    def __init__(self, matrix):
        self.m = matrix

    def ports(self, aid):
        """'1&3&&5' -> [1, 3, 4, 5] in wire numbers."""
        out = []
        for item in re.split(r"(?<!&)&(?!&)", aid):
            a, _, b = item.partition("&&")
            if not a.isdigit() or (b and not b.isdigit()):
                raise Deny("IIAC", "bad port")
            out += range(int(a), int(b or a) + 1)
        return out


class Polatis(Agent):
    def side(self, p):
        return (True, p - 1) if p <= self.m.n else (False, p - self.m.n - 1)

    async def do(self, code, aid, blocks):
        m = self.m
        if code == "RTRV-NETYPE":
            return ["EMULATOR,OXC-%dx%d,SWITCH,1.0" % (m.n, m.n)]
        if code == "RTRV-EQPT" and aid == "SYSTEM":
            return ["SYSTEM:SIZE=%dx%d" % (m.n, m.n)]
        if code == "ENT-PATCH":
            pair = [self.side(p) for p in map(int, aid.split(","))]
            if len(pair) != 2 or not pair[0][0] or pair[1][0]:
                raise Deny("IIAC", "ingress,egress")
            await m.add(pair[0][1], pair[1][1])
            return []
        if code == "DLT-PATCH":
            ports = list(range(1, m.n + 1)) if aid == "ALL" else self.ports(aid)
            for p in ports:
                ingress, port = self.side(p)
                i = port if ingress else m.user_of(port)
                if i is None or (i not in m.out_of and aid != "ALL"):
                    raise Deny("SROU", "not connected")
                if i in m.out_of:
                    await m.remove(i)
            return []
        if code == "RTRV-PATCH":
            return ["%d,%d" % (i + 1, m.n + o + 1) for i, o in sorted(m.out_of.items())]
        if code == "RTRV-PORT-POWER":
            return ["%d:%.2f" % (p, m.power(*self.side(p))) for p in self.ports(aid)]
        raise Deny("IICM")


class Calient(Agent):
    """Port p is 1.1.p; a circuit is provisioned, then activated."""
    prompt = "agent>"

    def __init__(self, matrix):
        super().__init__(matrix)
        self.active = set(matrix.out_of)

    def port(self, name):
        if not re.fullmatch(r"1\.1\.\d+", name):
            raise Deny("IIAC", "bad port")
        return int(name[4:]) - 1

    async def do(self, code, aid, blocks):
        m = self.m
        if code == "RTRV-NE":
            return ["EMULATOR:MODEL=S%d,VERSION=1.0" % m.n]
        if code == "RTRV-CRS" and blocks[-1:] == ["ALL"]:
            return [self.record(i, o) for i, o in sorted(m.out_of.items())]
        if code == "RTRV-PORT-SUM":
            p = self.port(aid)
            return ["%s:INPWR=%.2f,OUTPWR=%s" % (
                aid, m.power(True, p),
                "NONE" if m.user_of(p) is None else "%.2f" % m.power(False, p))]
        pair = aid.split(",")
        if len(pair) != 2:
            raise Deny("IIAC", "src,dst")
        i, o = map(self.port, pair)
        if code == "ENT-CRS":
            if not blocks or "WAY" not in blocks[-1]:
                raise Deny("IPMS", "direction")
            m.check(i, o)
            m.out_of[i] = o
            m.lit[i] = "provisioned"
            m.save()
            return []
        if m.out_of.get(i) != o:
            raise Deny("SRAC", "Invalid Connection")
        self.active &= set(m.out_of)  # what went by itself
        if code == "ACT-CRS":
            if i in self.active:
                raise Deny("SROU", "active already")
            self.active.add(i)
            m.counts["added"] += 1
            m.lit[i] = "settling"
            asyncio.ensure_future(m.settle(i, o))
            return []
        if code == "CANC-CRS":
            if i not in self.active:
                raise Deny("SROU", "not active")
            self.active.discard(i)
            m.lit[i] = "provisioned"
            await m.tell("dark", i, o)
            return []
        if code == "DLT-CRS":
            if i in self.active:
                raise Deny("SROF", "deactivate first")
            await m.remove(i)
            return []
        raise Deny("IICM")

    def record(self, i, o):
        state = {"steady": "AS=IS,OS=IS,OC=OK", "fault": "AS=IS,OS=OOS,OC=FAIL",
                 "settling": "AS=IS,OS=RDY"}.get(self.m.lit[i], "AS=UMA,OS=RDY")
        return "1.1.%d>1.1.%d:SRCPORT=1.1.%d,DSTPORT=1.1.%d,GRPNAME=MPI,CONNTYPE=1WAY,%s" % (
            i + 1, o + 1, i + 1, o + 1, state)


class Glimmerglass(Agent):
    """Lists on both sides; mirrors settle after an ASYNC answer; echo and terminal noise."""
    greeting = b"\033c\033[2J"
    echo = True

    async def do(self, code, aid, blocks):
        m = self.m
        if code == "RTRV-SYSTEM-INFO":
            return ["GGN:ProductName=EMULATOR,LicensedPortMatrix=%dx%d,SoftwareVersion=1.0"
                    % (m.n, m.n)]
        if code == "RTRV-CRS-FIBER":
            return [self.record(i) for i in range(m.n)]
        if code not in ("ENT-CRS-FIBER", "DLT-CRS-FIBER"):
            raise Deny("IICM")
        ins, _, outs = aid.partition(",")
        ins = [p - 10001 for p in self.ports(ins)]
        outs = [p - 20001 for p in self.ports(outs)] if outs else [None] * len(ins)
        if len(ins) != len(outs):
            raise Deny("IIAC", "lists differ in length")
        if code == "DLT-CRS-FIBER":
            if any(i not in m.out_of for i in ins):
                raise Deny("SROU", "not connected")
            for i in ins:
                await m.remove(i)
            return []
        for i, o in zip(ins, outs):  # all or none
            m.check(i, o)
        waits = [m.add(i, o) for i, o in zip(ins, outs)]
        if "OPMODE=ASYNC" in blocks[-1:]:
            for w in waits:
                asyncio.ensure_future(w)
        else:
            await asyncio.gather(*waits)
        return []

    def record(self, i):
        m = self.m
        o = m.out_of.get(i)
        state = m.lit.get(i, "none")
        cause = "initial_connection_timer_expired" if state == "fault" else ""
        return ("GGN:IPORTID=%d,OPORTID=%d,CONNSTATE=%s,CONNCAUSE=%s,INPWR=%.2f,OUTPWR=%s" %
                (10001 + i, 0 if o is None else 20001 + o, state, cause, m.power(True, i),
                 "" if o is None else "%.2f" % m.power(False, o)))


AGENTS = {"tl1-polatis": Polatis, "tl1-calient": Calient, "tl1-glimmerglass": Glimmerglass}


class Session:
    def __init__(self, agent, args, reader, writer):
        self.agent, self.args = agent, args
        self.reader, self.writer = reader, writer
        self.logged_in = not args.user
        self.atag = 0

    def head(self):
        return "\r\n\n   %s %s\r\n" % (self.args.sid, time.strftime("%y-%m-%d %H:%M:%S"))

    def write(self, text):
        self.writer.write(text.encode("latin-1"))

    def alarm(self, verb, record):
        self.atag += 1
        self.write("%sA  %d %s\r\n   \"%s\"\r\n;" % (self.head(), self.atag, verb, record))

    def answer(self, ctag, records):
        """Long answers come in two parts, as some agents send them."""
        lines = ["   \"%s\"\r\n" % r for r in records]
        half = len(lines) // 2 if len(lines) > 8 else 0
        if half:
            self.write("%sM  %s COMPLD\r\n%s>" % (self.head(), ctag, "".join(lines[:half])))
        self.write("%sM  %s COMPLD\r\n%s;%s" % (self.head(), ctag, "".join(lines[half:]),
                                               self.agent.prompt))

    def deny(self, ctag, code, text):
        note = "   /* %s; see the manual */\r\n" % text if text else ""
        self.write("%sM  %s DENY\r\n   %s\r\n%s;%s" % (self.head(), ctag, code, note,
                                                     self.agent.prompt))

    async def command(self, text):
        parts = split(text, ":")
        code = parts[0].upper()
        if len(parts) < 4 or not re.fullmatch(r"[0-9A-Za-z]{1,6}", parts[3]):
            self.deny("0", "IICT", "no ctag")
            return
        aid, ctag, blocks = parts[2], parts[3], [b for b in parts[4:] if b]
        try:
            if code == "ACT-USER":
                secret = unquote(blocks[-1]) if blocks else ""
                if self.args.user and (unquote(aid), secret) != (self.args.user,
                                                                 self.args.password):
                    raise Deny("PIUI")
                self.logged_in = True
                self.answer(ctag, [])
                self.alarm("REPT EVT SESSION", "login")
                return
            if not self.logged_in:
                raise Deny("PLNA")
            if code == "RTRV-HDR":
                self.answer(ctag, [])
                return
            if self.args.ack:
                self.write("IP %s\r\n<" % ctag)
            self.answer(ctag, await self.agent.do(code, aid, blocks))
        except Refused as e:
            self.deny(ctag, *CODES[e.why])
        except Deny as e:
            self.deny(ctag, e.code, e.text)
        except ValueError:
            self.deny(ctag, "IIAC", "bad access identifier")

    async def serve(self):
        if self.args.telnet:
            self.writer.write(b"\xff\xfd\x01\xff\xfb\x03")
        self.writer.write(self.agent.greeting)
        self.write(self.agent.prompt)
        text, count = "", 0
        while data := await self.reader.read(4096):
            data = re.sub(rb"\xff[\xfb-\xfe].", b"", data)
            if self.agent.echo:
                self.writer.write(data)
            done, text = commands(text + data.decode("latin-1"))
            for c in done:
                count += 1
                if self.args.hang_up_after and count > self.args.hang_up_after:
                    return
                await self.command(c)
            await self.writer.drain()
