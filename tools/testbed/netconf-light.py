#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""netconf-light.py PORTS BRIDGE COMMAND...: the mirrors behind a NETCONF server of optical-switch.

COMMAND is a NETCONF session (netconf-subsystem).  Its circuits are read every 10 ms and become
flows of Open vSwitch's bridge at the socket BRIDGE, so that what the server says carries light.
While there is no server mirrors stay as they are."""
import re
import select
import subprocess
import sys
import time

BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
END = b"]]>]]>"
HELLO = f'<hello xmlns="{BASE}"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>'
READ = (f'<rpc message-id="1" xmlns="{BASE}"><get-config><source><running/></source><filter type="subtree">'
        '<cross-connects xmlns="http://www.polatis.com/yang/optical-switch"/></filter></get-config></rpc>')
PAIR = re.compile(rb"<ingress>\s*(\d+)\s*</ingress>\s*<egress>\s*(\d+)\s*</egress>")


class Session:
    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.left = b""
        try:
            self.say(HELLO)
            self.hear()
        except (EOFError, OSError):
            self.close()
            raise

    def say(self, text):
        self.p.stdin.write(text.encode() + END)

    def hear(self):
        while END not in self.left:
            # A server that was killed under us may leave a session that never answers.
            if not select.select([self.p.stdout], [], [], 1)[0]:
                raise EOFError
            more = self.p.stdout.read(65536)
            if not more:
                raise EOFError
            self.left += more
        message, _, self.left = self.left.partition(END)
        return message

    def circuits(self, ports):
        self.say(READ)
        answer = self.hear()
        if b"<rpc-error" in answer:
            raise EOFError
        return {int(i): int(o) - ports for i, o in PAIR.findall(answer)}

    def close(self):
        self.p.kill()
        self.p.wait()


def main():
    ports, bridge, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    there = {}

    def ofctl(*args):
        subprocess.run(["ovs-ofctl", "-O", "OpenFlow13", args[0], bridge, args[1]], check=True)

    session = None
    while True:
        try:
            session = session or Session(command)
            want = session.circuits(ports)
        except (EOFError, OSError):
            if session:
                session.close()
            session = None
            time.sleep(0.2)
            continue
        for i in [i for i in there if want.get(i) != there[i]]:
            ofctl("del-flows", f"in_port={i}")
            del there[i]
        for i, o in want.items():
            if i not in there:
                ofctl("add-flow", f"in_port={i},actions=output:{o}")
                there[i] = o
        time.sleep(0.01)


main()
