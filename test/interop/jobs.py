"""Runs one IMPI job: our impi-server and foreign clients, as processes."""
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = int(os.environ.get("INTEROP_LIMIT_S", "60"))


RUNNING = []  # processes to be killed if the run is stopped


class Failure(Exception):
    pass


def spawn(*args, **more):
    p = subprocess.Popen(*args, **more)
    RUNNING.append(p)
    return p


def kill_all():
    for p in list(RUNNING):
        if p.poll() is None:
            p.kill()
            p.wait()


def server_env(key=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
    if key is None:
        env["IMPI_AUTH_NONE"] = "1"
    else:
        env["IMPI_AUTH_KEY"] = str(key)
    return env


class Server:
    def __init__(self, build, nclients, *args, key=None, bind="127.0.0.1", within=()):
        self.log = tempfile.TemporaryFile("w+")
        self.p = spawn(
            [*within, os.path.abspath(build) + "/bin/impi-server", "-server", str(nclients),
             "--bind", bind, *args],
            stdout=subprocess.PIPE, stderr=self.log, env=server_env(key), text=True)
        self.at = self.p.stdout.readline().strip()
        if not self.at:
            self.p.wait()
            raise Failure("impi-server did not start: " + self.text())

    @property
    def address(self):
        host, _, port = self.at.rpartition(":")
        return host, int(port)

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def wait(self, limit_s=LIMIT_S):
        return self.p.wait(limit_s)

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(5)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.p.stdout.close()
        self.log.close()


class C:
    """One client: its hosts ("2" = one host with two procs, "1+2" = two hosts), what kind
    of peer it is, its misbehaviour, and the exit status it should have."""

    def __init__(self, procs="1", behave="strict", chaos=None, exit=0, says=None):
        self.procs = [int(n) for n in procs.split("+")]
        self.behave, self.chaos, self.exit, self.says = behave, chaos, exit, says

    @property
    def preset(self):
        return self.behave.split(",")[0]


class Loopback:
    """Every host has an address of its own in 127/8."""

    server_ip, server_within = "127.0.0.1", ()

    def host(self, client, host):
        return f"127.{20 + client}.0.{1 + host}"

    def within(self, client):
        return ()

    source = host


def foreign(job_server, rank, client, addresses, script, args, known, deadline_s, source=None):
    """The command line of one foreign client."""
    cmd = [sys.executable, "-m", "foreign", "--client", str(rank), "--server", job_server,
           "--behave", client.behave, "--script", "scripts:" + script,
           "--deadline", str(deadline_s)]
    for ip, n in zip(addresses, client.procs):
        cmd += ["--host", f"{ip}/{n}"]
    for other, preset in known.items():
        if other != rank:
            cmd += ["--known", f"{other}={preset}"]
    for name, value in args.items():
        cmd += ["--arg", f"{name}={value}"]
    if client.chaos:
        cmd += ["--chaos", client.chaos]
    if source:
        cmd += ["--source", source]
    return cmd


def run(build, script, clients, net=None, args=None, server_exit=0, server_says=None, key=None,
        order=None, limit_s=LIMIT_S, traces=None):
    """Raises Failure with everything that was said, unless all ended as they should.
    traces: a folder for the packets of each client, I.txt."""
    net = net or Loopback()
    known = {i: c.preset for i, c in enumerate(clients) if c.preset != "strict"}
    server = Server(build, len(clients), key=key, bind=net.server_ip, within=net.server_within)
    procs, outs = [None] * len(clients), [tempfile.TemporaryFile("w+") for _ in clients]
    try:
        start = list(range(len(clients)))
        random.Random(script if order is None else order).shuffle(start)
        for i in start:
            c = clients[i]
            addresses = [net.host(i, h) for h in range(len(c.procs))]
            cmd = foreign(server.at, i, c, addresses, script, args or {}, known, limit_s,
                          net.source(i, 0))
            if traces:
                cmd += ["--trace", f"{traces}/{i}.txt"]
            procs[i] = spawn([*net.within(i), *cmd], cwd=HERE, stdout=outs[i],
                             stderr=outs[i], stdin=subprocess.DEVNULL)
        end = time.monotonic() + limit_s + 5
        status = []
        for p in procs:
            try:
                status.append(p.wait(max(0.1, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                status.append(None)
        try:
            served = server.wait(5)
        except subprocess.TimeoutExpired:
            served = None
        judge(clients, status, [said(o) for o in outs], served, server_exit, server.text(),
              server_says)
    finally:
        for p in procs:
            if p and p.poll() is None:
                p.kill()
                p.wait()
        for o in outs:
            o.close()
        server.stop()


def said(out):
    out.seek(0)
    return out.read()


def judge(clients, status, texts, served, server_exit, server_text, server_says):
    wrong = []
    for i, c in enumerate(clients):
        if status[i] != c.exit:
            wrong.append(f"client {i} ended with {status[i]} instead of {c.exit}")
        if c.says and c.says not in texts[i]:
            wrong.append(f"client {i} did not say '{c.says}'")
    if served != server_exit:
        wrong.append(f"impi-server ended with {served} instead of {server_exit}")
    if server_says and server_says not in server_text:
        wrong.append(f"impi-server did not say '{server_says}'")
    if wrong:
        raise Failure("; ".join(wrong) + "\n" + "".join(
            f"  client {i}: " + t.strip().replace("\n", "\n    ") + "\n"
            for i, t in enumerate(texts)) + "  " + server_text.strip().replace("\n", "\n  "))
