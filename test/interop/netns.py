# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces of one run: a bridge, the server, one namespace per client."""
import itertools
import os
import signal
import subprocess
import threading

_runs = itertools.count()
_making = threading.Lock()  # the first "ip netns add" of a machine sets up /run/netns
OPEN = []  # to be closed if the run is stopped

def _ip(lines, *options):
    """Many commands by one process: to start it costs more than they do."""
    subprocess.run(["ip", *options, "-batch", "-"], input="\n".join(lines) + "\n", check=True,
                   capture_output=True, text=True)


class Namespaces:
    """Server 10.87.0.1; client i has 10.87.(i + 1).1 and up, one address per host."""

    server_ip = "10.87.0.1"

    def __init__(self, nclients, nodes=None):
        """nodes: {client: number}, of clients that have a namespace for each host."""
        self.id = f"iop{os.getpid()}x{next(_runs)}"
        self.made, self.nodes, self.links, self.within_of = [], nodes or {}, [], {}
        OPEN.append(self)
        try:
            self.make("sw")
            self.links.append(f"link add br0 netns {self.name('sw')} type bridge")
            self.within_of["sw"].append("link set br0 up")
            self.node("srv", [self.server_ip])
            for i in range(nclients):
                if i not in self.nodes:
                    self.node(f"c{i}", [self.host(i, h) for h in range(4)])
                for h in range(self.nodes.get(i, 0)):
                    self.node(self.node_name(i, h), [self.host(i, h)])
            with _making:
                _ip([f"netns add {self.name(n)}" for n in self.made])
            _ip(self.links)
            for node, lines in self.within_of.items():
                _ip(lines, "-n", self.name(node))
        except BaseException:
            self.close()
            raise

    def name(self, node):
        return f"{self.id}-{node}"

    def make(self, node):
        self.made.append(node)
        self.within_of[node] = ["link set lo up"]

    def node(self, node, addresses):
        self.make(node)
        self.links.append(f"link add eth0 netns {self.name(node)} type veth "
                          f"peer name {node} netns {self.name('sw')}")
        self.within_of["sw"].append(f"link set {node} master br0 up")
        self.within_of[node] += [f"addr add {a}/16 dev eth0" for a in addresses]
        self.within_of[node].append("link set eth0 up")

    @staticmethod
    def node_name(client, host):
        return f"c{client}h{host}" if host else f"c{client}"

    @property
    def server_within(self):
        return ("ip", "netns", "exec", self.name("srv"))

    def within(self, client):
        name = self.name(f"c{client}")
        if client not in self.nodes:
            return ("ip", "netns", "exec", name)
        # a launcher tells nodes apart by name
        return ("ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c",
                'hostname "$0" && exec "$@"', name)

    def launcher_env(self, client, procs, folder):
        """What makes mpirun start ranks in the other namespaces of a client."""
        if client not in self.nodes:
            return {}
        agent, hosts = os.path.join(folder, f"rsh{client}"), os.path.join(folder, f"hosts{client}")
        with open(agent, "w") as f:
            f.write("#!/bin/bash\n"
                    "while [[ $1 == -* ]]; do shift; done\nh=$1\nshift\n"
                    "exec ip netns exec \"$h\" unshare --uts sh -c "
                    "'hostname \"$0\" && exec \"$@\"' \"$h\" /bin/sh -c \"$*\"\n")
        os.chmod(agent, 0o700)
        with open(hosts, "w") as f:
            for h, n in enumerate(procs):
                f.write(f"{self.name(self.node_name(client, h))} slots={n}\n")
        return {"OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": agent,
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1", "OMPI_MCA_oob_tcp_if_include": "eth0",
                "OMPI_MCA_orte_default_hostfile": hosts, "PMIX_MCA_ptl_tcp_if_include": "lo"}

    def host(self, client, host):
        return f"10.87.{client + 1}.{host + 1}"

    source = host

    def close(self):
        for node in self.made:
            for pid in subprocess.run(["ip", "netns", "pids", self.name(node)], text=True,
                                      capture_output=True).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        subprocess.run(["ip", "-force", "-batch", "-"], capture_output=True, text=True,
                       input="".join(f"netns del {self.name(node)}\n" for node in self.made))
        self.made = []
        if self in OPEN:
            OPEN.remove(self)


def possible():
    return os.geteuid() == 0 and subprocess.run(["ip", "netns", "list"],
                                                capture_output=True).returncode == 0
