"""Network namespaces of one run: a bridge, the server, one namespace per client."""
import itertools
import os
import subprocess

_runs = itertools.count()
OPEN = []  # to be closed if the run is stopped

def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Namespaces:
    """Server 10.87.0.1; client i has 10.87.(i + 1).1 and up, one address per host."""

    server_ip = "10.87.0.1"

    def __init__(self, nclients):
        self.id = f"iop{os.getpid()}x{next(_runs)}"
        self.made = []
        OPEN.append(self)
        try:
            self.make("sw")
            _ip("-n", self.name("sw"), "link", "add", "br0", "type", "bridge")
            _ip("-n", self.name("sw"), "link", "set", "br0", "up")
            self.node("srv", [self.server_ip])
            for i in range(nclients):
                self.node(f"c{i}", [self.host(i, h) for h in range(4)])
        except BaseException:
            self.close()
            raise

    def name(self, node):
        return f"{self.id}-{node}"

    def make(self, node):
        _ip("netns", "add", self.name(node))
        self.made.append(node)
        _ip("-n", self.name(node), "link", "set", "lo", "up")

    def node(self, node, addresses):
        self.make(node)
        _ip("-n", self.name(node), "link", "add", "eth0", "type", "veth", "peer", "name", node,
            "netns", self.name("sw"))
        _ip("-n", self.name("sw"), "link", "set", node, "master", "br0", "up")
        for a in addresses:
            _ip("-n", self.name(node), "addr", "add", a + "/16", "dev", "eth0")
        _ip("-n", self.name(node), "link", "set", "eth0", "up")

    @property
    def server_within(self):
        return ("ip", "netns", "exec", self.name("srv"))

    def within(self, client):
        return ("ip", "netns", "exec", self.name(f"c{client}"))

    def host(self, client, host):
        return f"10.87.{client + 1}.{host + 1}"

    source = host

    def close(self):
        for node in self.made:
            subprocess.run(["ip", "netns", "del", self.name(node)], capture_output=True)
        self.made = []
        if self in OPEN:
            OPEN.remove(self)


def possible():
    return os.geteuid() == 0 and subprocess.run(["ip", "netns", "list"],
                                                capture_output=True).returncode == 0
