# SPDX-License-Identifier: BSD-2-Clause
"""Runs one IMPI job: our impi-server, foreign clients and libmpi clients, as processes."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from foreign import behave

HERE = os.path.dirname(os.path.abspath(__file__))
# Bounds of what hangs, far above what anything takes: a shared machine may stand still for
# many seconds.
LIMIT_S = int(os.environ.get("INTEROP_LIMIT_S", "1200"))
END_S = 300  # for a program that has nothing left to wait for
SANITIZER = ("Sanitizer", "runtime error:")  # of a sanitized build
TAIL_LINES = 40  # shown of each side's log when a job fails

RUNNING = []  # processes to be killed if the run is stopped
SCRATCH = []  # folders to be removed then


class Failure(Exception):
    pass


def spawn(*args, **more):
    p = subprocess.Popen(*args, **more)
    RUNNING.append(p)
    return p


def kill_all():
    for p in RUNNING:
        if p.poll() is None:
            p.terminate()
    for p in list(RUNNING):
        end_process(p)
    for folder in SCRATCH:
        shutil.rmtree(folder, ignore_errors=True)


def server_env(key=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
    if key is None:
        env["IMPI_AUTH_NONE"] = "1"
    else:
        env["IMPI_AUTH_KEY"] = str(key)
    return env


def end_process(p):
    """A launcher ends its ranks when it is asked to, not when it is killed."""
    if p is None or p.poll() is not None:
        return
    p.terminate()
    try:
        p.wait(END_S)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()


class Server:
    def __init__(self, build, nclients, *args, key=None, bind="127.0.0.1", within=()):
        self.log = tempfile.TemporaryFile()
        self.p = spawn(
            [*within, os.path.abspath(build) + "/bin/impi-server", "-server", str(nclients),
             "--bind", bind, "--timeout", str(LIMIT_S), *args],
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
        return contents(self.log)

    def wait(self, limit_s=LIMIT_S):
        return self.p.wait(limit_s)

    def stop(self):
        end_process(self.p)
        self.p.stdout.close()
        self.log.close()


class C:
    """One client: its hosts ("2" = one host with two procs, "1+2" = two hosts), what kind
    of peer it is, its misbehaviour, and the exit status it should have.  behave "libmpi":
    not foreign but test/interop/peer*.c under mpirun, with env and, as peers, impirun's
    --peer for the foreign clients; any exit status but 0 counts as 1.  exit None: any but
    success and death by a signal."""

    def __init__(self, procs="1", behave="strict", chaos=None, exit=0, says=None, peers=None,
                 env=None):
        self.procs = [int(n) for n in procs.split("+")]
        self.behave, self.chaos, self.exit, self.says = behave, chaos, exit, says
        self.peers, self.env = peers, env or {}

    @property
    def preset(self):
        return self.behave.split(",")[0]

    @property
    def libmpi(self):
        return self.preset == "libmpi"

    def offers(self, what):
        if self.libmpi:
            return {"datalen": 1 << 20, "hiwater": 1024, "xsize": -1}[what]
        return getattr(behave.parse(self.behave), what)


def L(procs="1", **more):
    return C(procs, "libmpi", **more)


class Loopback:
    """Every host has an address of its own in 127/8."""

    server_ip, server_within = "127.0.0.1", ()

    def host(self, client, host):
        return f"127.{20 + client}.0.{1 + host}"

    def within(self, client):
        return ()

    def launcher_env(self, client, procs, folder):
        return {}

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


def libmpi(build, server, rank, client, script, args, scratch, key):
    """The command line and environment of one libmpi client."""
    cmd = [build + "/bin/impirun", "-client", str(rank), server, "--launcher", "mpirun"]
    if client.peers:
        cmd += ["--peer", client.peers]
    cmd += ["-np", str(sum(client.procs)), build + "/test/interop-peer", script]
    env = dict(server_env(key), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_plm="isolated", OMPI_MCA_orte_tmpdir_base=scratch,
               OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_rmaps_base_oversubscribe="1",
               LIBMPI_JOIN_TIMEOUT_S=str(LIMIT_S), LIBMPI_DANCE_TIMEOUT_S=str(LIMIT_S))
    env.update(client.env)
    return cmd + [f"{name}={value}" for name, value in args.items()], env


def facts(clients):
    """Of the job, which the MPI program is told."""
    def least(what):
        return min(c.offers(what) for c in clients)

    xsize = max(c.offers("xsize") for c in clients)
    return {"clients": ",".join(str(sum(c.procs)) for c in clients), "datalen": least("datalen"),
            "hiwater": least("hiwater"), "xsize": 1024 if xsize == -1 else xsize}


def run(build, script, clients, net=None, args=None, server_exit=0, server_says=None, key=None,
        order=None, limit_s=LIMIT_S, traces=None, before=None):
    """Raises Failure with everything that was said, unless all ended as they should.
    traces: a folder for the packets of each client, I.txt.  before: called with the server
    when it listens."""
    net = net or Loopback()
    build = os.path.abspath(build)
    known = {i: c.preset for i, c in enumerate(clients) if c.preset not in ("strict", "libmpi")}
    scratch = tempfile.TemporaryDirectory(prefix="iop")
    SCRATCH.append(scratch.name)
    server = Server(build, len(clients), key=key, bind=net.server_ip, within=net.server_within)
    procs, outs = [None] * len(clients), [tempfile.TemporaryFile() for _ in clients]
    try:
        if before:
            before(server)
        start = list(range(len(clients)))
        random.Random(script if order is None else order).shuffle(start)
        for i in start:
            c = clients[i]
            addresses = [net.host(i, h) for h in range(len(c.procs))]
            env = None
            if c.libmpi:
                # A folder each: two mpirun that make their session folder in the same
                # place at the same time can fail.
                own = f"{scratch.name}/{i}"
                os.mkdir(own)
                cmd, env = libmpi(build, server.at, i, c, script,
                                  {**facts(clients), **(args or {})}, own, key)
                env.update(net.launcher_env(i, c.procs, own))
            else:
                cmd = foreign(server.at, i, c, addresses, script, args or {}, known, limit_s,
                              net.source(i, 0))
            if traces:
                cmd += ["--trace", f"{traces}/{i}.txt"]
            procs[i] = spawn([*net.within(i), *cmd], cwd=HERE, stdout=outs[i], env=env,
                             stderr=outs[i], stdin=subprocess.DEVNULL)
        end = time.monotonic() + limit_s + END_S
        status = []
        for p in procs:
            try:
                status.append(p.wait(max(0.1, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                status.append(None)
        try:
            served = server.wait(END_S)
        except subprocess.TimeoutExpired:
            served = None
        judge(clients, status, [contents(o) for o in outs], served, server_exit, server.text(),
              server_says)
    finally:
        for p in procs:
            end_process(p)
        for o in outs:
            o.close()
        server.stop()
        scratch.cleanup()


def contents(log):
    """Of a file that a child writes to.  Child and parent share one file offset, so the
    parent must not move it: what the child wrote meanwhile would overwrite the beginning."""
    size = os.fstat(log.fileno()).st_size
    return os.pread(log.fileno(), size, 0).decode(errors="replace")


def tail(text, lines=TAIL_LINES):
    out = text.strip().split("\n")
    left = len(out) - lines
    return "\n".join(([f"({left} lines before)"] if left > 0 else []) + out[-lines:])


def judge(clients, status, texts, served, server_exit, server_text, server_says):
    wrong = []
    for i, c in enumerate(clients):
        if c.exit is None:
            if status[i] not in (1, 4) and not (c.libmpi and status[i]) or " signal " in texts[i]:
                wrong.append(f"client {i} ended with {status[i]}, or by a signal")
        elif (bool(status[i]) if c.libmpi and status[i] is not None else status[i]) != c.exit:
            wrong.append(f"client {i} ended with {status[i]} instead of {c.exit}")
        if any(word in texts[i] for word in SANITIZER):
            wrong.append(f"client {i} has a report of a sanitizer")
        if c.says and c.says not in texts[i]:
            wrong.append(f"client {i} did not say '{c.says}'")
    if served != server_exit:
        wrong.append(f"impi-server ended with {served} instead of {server_exit}")
    if server_says and server_says not in server_text:
        wrong.append(f"impi-server did not say '{server_says}'")
    if wrong:
        raise Failure("; ".join(wrong) + "\n" + "".join(
            f"  client {i}: " + tail(t).replace("\n", "\n    ") + "\n"
            for i, t in enumerate(texts)) + "  " + tail(server_text).replace("\n", "\n  "))
