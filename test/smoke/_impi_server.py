# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios of test/smoke/impi-server.sh: clients of the IMPI start-up, written from the
protocol and not from our library, against the daemon B/bin/impi-server."""
import os, re, resource, signal, socket, struct, subprocess, sys, tempfile, time

BIN = os.path.abspath(sys.argv[1]) + "/bin"
LIMIT_S = 20
failures = 0
running = []


class Server:
    def __init__(self, *args, env=None, bind="127.0.0.1", descriptors=0):
        e = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        e.update(env if env is not None else {"IMPI_AUTH_NONE": "1"})
        self.log = tempfile.TemporaryFile("w+")
        args = list(args) + (["--bind", bind] if bind else [])
        self.p = subprocess.Popen([BIN + "/impi-server", *args], stdout=subprocess.PIPE,
                                  stderr=self.log, env=e, text=True,
                                  preexec_fn=lambda: descriptors and resource.setrlimit(
                                      resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        running.append(self.p)
        self.line = self.p.stdout.readline().strip()
        host, _, port = self.line.rpartition(":")
        self.at = (host.strip("[]"), int(port)) if port else None

    def wait(self):
        return self.p.wait(LIMIT_S)

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def wait_for(self, words):
        end = time.monotonic() + LIMIT_S
        while words not in self.text():
            if time.monotonic() > end:
                raise AssertionError(f"log never said {words!r}: {self.text()}")
            time.sleep(0.02)


class Client:
    def __init__(self, server, rank=None, mask=1, key=None, source=None):
        self.s = socket.create_connection(server.at, LIMIT_S,
                                          source_address=source and (source, 0))
        self.rank = rank
        if rank is not None:
            self.join(mask, key)

    def join(self, mask=1, key=None):
        self.s.sendall(b"AUTH" + struct.pack(">II", 4, mask))
        self.which = struct.unpack(">iI", self.take(8))[0]
        if self.which == 1:
            self.s.sendall(struct.pack(">Q", key))
        self.s.sendall(b"IMPI" + struct.pack(">Ii", 4, self.rank))

    def reset(self):
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.s.close()

    def take(self, n):
        data = b""
        while len(data) < n:
            got = self.s.recv(n - len(data))
            if not got:
                raise AssertionError(f"client {self.rank}: closed after {len(data)} of {n} bytes")
            data += got
        return data

    def ended(self):
        try:
            while self.s.recv(4096):
                pass
        except ConnectionError:
            pass
        return True

    def size(self):
        head = self.take(12)
        assert head[:8] == b"IMPI\0\0\0\4", head
        return struct.unpack(">I", head[8:])[0]

    def submit(self, label, data, split=False):
        cmd = b"COLL" + struct.pack(">II", 4 + len(data), label) + data
        if split:
            for i in range(len(cmd)):
                self.s.sendall(cmd[i:i + 1])
        else:
            self.s.sendall(cmd)

    def reply(self, label):
        head = self.take(16)
        cmd, n, got, mask = struct.unpack(">4sIII", head)
        assert cmd == b"COLL" and got == label, (cmd, hex(got), hex(label))
        return mask, self.take(n - 8)

    def done(self):
        self.s.sendall(b"DONE\0\0\0\0")

    def started(self):
        assert self.take(8) == b"DONE\0\0\0\0"

    def fini(self):
        self.s.sendall(b"FINI\0\0\0\0")
        self.s.close()


def start_up(clients, n):
    for c in clients:
        assert c.size() == n
    for label in (0x1000, 0x1100, 0x2000, 0x3100, 0x7777):
        for c in clients:
            c.submit(label, bytes([c.rank + 1]) * 8 * (c.rank + 1), split=c.rank == 1)
        want = b"".join(bytes([c.rank + 1]) * 8 * (c.rank + 1)
                        for c in sorted(clients, key=lambda c: c.rank))
        for c in clients:
            assert c.reply(label) == (2 ** n - 1, want), hex(label)
    for c in clients:
        c.done()
    for c in clients:
        c.started()


def two_clients():
    s = Server("-server", "2", "-auth", "0", env={})
    clients = [Client(s, 1), Client(s, 0)]
    start_up(clients, 2)
    clients[0].fini()
    s.wait_for("client 1")
    assert s.p.poll() is None, "ended before the last FINI"
    clients[1].fini()
    assert s.wait() == 0, s.text()


def address_line():
    for args in (["-server", "1"], ["-server", "1", "-host", "0.0.0.0"]):
        s = Server(*args, bind=None)
        assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+:\d+", s.line), s.line
        s.p.terminate()
        rest = s.p.stdout.read()
        assert s.wait() == 0 and rest == "", rest


def job_over(server, addresses):
    """A job whose clients come over the given addresses, client by client."""
    clients, port = [], server.at[1]
    for rank, address in enumerate(addresses):
        server.at = (address, port)
        clients.append(Client(server, rank))
    start_up(clients, len(clients))
    for c in clients:
        c.fini()
    assert server.wait() == 0, server.text()


def ipv4_and_ipv6():
    if not os.path.exists("/proc/net/if_inet6"):
        return "no IPv6 here"
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as e:
        return f"no IPv6 loopback: {e}"
    for host in ([], ["-host", "[::]"], ["-host", "::"], ["--bind", "::"]):
        s = Server("-server", "2", *host, bind=None)
        assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+:\d+", s.line), s.line
        job_over(s, ["127.0.0.1", "::1"])
    for host, words in (("[::1]", "[::1]:"), ("::1", "[::1]:"), ("127.0.0.1", "127.0.0.1:")):
        s = Server("-server", "2", "-host", host, bind=None)
        assert s.line.startswith(words), s.line
        job_over(s, [s.at[0]] * 2)
    s = Server("-server", "1", "-host", "::1", bind=None)
    try:
        socket.create_connection(("127.0.0.1", s.at[1]), 1)
        raise AssertionError("listens on IPv4 too")
    except ConnectionRefusedError:
        pass
    s.p.terminate()
    s.wait()


def free_range(n):
    """n ports in a row that nobody uses now."""
    for low in range(20011, 60000, 97):
        held = []
        try:
            for port in range(low, low + n):
                held.append(socket.create_server(("127.0.0.1", port)))
            return low
        except OSError:
            pass
        finally:
            for h in held:
                h.close()
    raise AssertionError("no free ports")


def side_by_side_in_a_port_range():
    low = free_range(3)
    ports = f"{low}:{low + 2}"
    env = {"IMPI_AUTH_NONE": "1", "IMPI_SERVER_PORT_RANGE": ports}
    servers = [Server("-server", "2", env=env), Server("-server", "3", "-port-range", ports),
               Server("-server", "2", "-auth", "key", env={**env, "IMPI_AUTH_KEY": "7"})]
    assert [s.at[1] for s in servers] == [low, low + 1, low + 2]
    full = subprocess.run([BIN + "/impi-server", "-server", "1", "--bind", "127.0.0.1"],
                          env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert full.returncode == 2 and f"every port of {ports} is in use" in full.stderr, full
    other = Server("-server", "1", "-port", "0", env=env)  # the option goes before
    assert not low <= other.at[1] <= low + 2, other.line
    other.p.terminate()
    other.wait()
    # three jobs, their clients coming in turns, with the same ranks
    clients = [[], [], []]
    for rank in range(3):
        for i, n in enumerate((2, 3, 2)):
            if rank < n:
                clients[i].append(Client(servers[i], rank, 3, 7))
    assert clients[2][0].which == 1 and clients[0][0].which == 0
    for i in (2, 0, 1):
        start_up(clients[i], len(clients[i]))
    clients[1][2].reset()
    for i in (0, 2):
        for c in clients[i]:
            c.fini()
        assert servers[i].wait() == 0, servers[i].text()
    for c in clients[1][:2]:
        c.fini()
    assert servers[1].wait() == 1, servers[1].text()


def thirty_two_clients():
    s = Server("-server", "32")
    clients = [Client(s, r) for r in reversed(range(32))]
    start_up(clients, 32)
    for c in clients:
        c.fini()
    assert s.wait() == 0, s.text()


def large_values():
    s = Server("-server", "2")
    clients = [Client(s, r) for r in range(2)]
    for c in clients:
        c.size()
    big = [bytes([r]) * (3 << 20) for r in range(2)]
    for c in clients:
        c.submit(0x3000, big[c.rank])
    for c in clients:
        assert c.reply(0x3000) == (3, big[0] + big[1])
        c.done()
    for c in clients:
        c.started()
        c.fini()
    assert s.wait() == 0, s.text()


def key():
    s = Server("-server", "2", "-auth", "key", env={"IMPI_AUTH_KEY": "5678"})
    # Nobody reads the key where it came in, nor takes an image of who has it.
    environ = open(f"/proc/{s.p.pid}/environ", "rb").read()
    assert b"IMPI_AUTH_KEY=" in environ and b"5678" not in environ, environ
    assert "Max core file size        0 " in open(f"/proc/{s.p.pid}/limits").read()
    wrong = Client(s, 0, mask=3, key=5679)
    assert wrong.ended()
    s.wait_for("wrong key")
    none = socket.create_connection(s.at, LIMIT_S)
    none.sendall(b"AUTH" + struct.pack(">II", 4, 1))
    assert none.recv(1) == b""
    s.wait_for("no authentication method in common")
    clients = [Client(s, r, mask=3, key=5678) for r in range(2)]
    assert all(c.which == 1 for c in clients)
    start_up(clients, 2)
    for c in clients:
        c.fini()
    assert s.wait() == 0, s.text()


def strangers():
    s = Server("-server", "1", "--timeout", "1")
    slow = Client(s)
    slow.s.sendall(b"AU")
    silent = Client(s)
    for junk, words in ((b"GET / HTTP/1.0\r\n\r\n", "unknown command"),
                        (b"COLL\0\0\0\4\0\0\0\1", "command COLL before AUTH"),
                        (b"AUTH\x7f\xff\xff\xff", "limit is")):
        c = Client(s)
        c.s.sendall(junk)
        assert c.ended()
        s.wait_for(words)
    assert Client(s, 1).ended()
    s.wait_for("client rank 1 is not in 0..0")
    assert slow.ended() and silent.ended()
    s.wait_for("did not name itself")
    c = Client(s, 0)
    start_up([c], 1)
    assert Client(s, 0).ended()
    s.wait_for("already taken")
    c.fini()
    assert s.wait() == 0, s.text()


def ranks():
    """Wrong ranks and lost strangers: logged, closed, and the others wait on."""
    s = Server("-server", "3")
    zero = Client(s, 0)
    for rank, words in ((3, "client rank 3 is not in 0..2"), (-1, "client rank -1 is not in"),
                        (2 ** 31 - 1, "is not in 0..2"),
                        (0, "client rank 0 is already taken by 127.0.0.1:%d;" %
                         zero.s.getsockname()[1])):
        assert Client(s, rank).ended()
        s.wait_for(words)
    gone = Client(s)
    gone.s.sendall(b"AUTH\0\0")
    gone.reset()
    s.wait_for("connection closed before AUTH, inside a command; waiting on")
    clients = [Client(s, 2), zero, Client(s, 1)]
    start_up(clients, 3)
    for c in clients:
        c.fini()
    assert s.wait() == 0, s.text()


def slow_loris():
    """More silent and dribbling connections than there is room for delay nobody."""
    s = Server("-server", "2", "--timeout", "60")
    silent = [Client(s) for _ in range(30)]
    dribbling = [Client(s) for _ in range(30)]
    for at in range(3):
        for c in dribbling:
            try:
                c.s.sendall(b"AUTH"[at:at + 1])
            except OSError:
                pass  # has made room already
        time.sleep(0.05)
    start = time.monotonic()
    clients = [Client(s, 0), Client(s, 1)]
    start_up(clients, 2)
    took = time.monotonic() - start
    assert took < 5, took
    s.wait_for("before others came")
    for c in clients:
        c.fini()
    assert s.wait() == 0, s.text()
    assert all(c.ended() for c in silent + dribbling)


def who_is_allowed():
    """--allow: others are closed at once, whatever they know."""
    s = Server("-server", "2", "--allow", "127.0.0.2/31,2001:db8::/32", "--allow", "127.0.0.5")
    for source in ("127.0.0.1", "127.0.0.4", "127.0.0.6"):
        assert Client(s, source=source).ended()
        s.wait_for("refused: --allow does not cover its address")
    clients = [Client(s, 0, source="127.0.0.3"), Client(s, 1, source="127.0.0.5")]
    start_up(clients, 2)
    for c in clients:
        c.fini()
    assert s.wait() == 0, s.text()


def out_of_descriptors():
    """The listener pauses and comes back; it does not spin."""
    s = Server("-server", "1", "--timeout", "60", "--persist", descriptors=12)
    silent = [Client(s, source=f"127.0.0.{i}") for i in range(10, 40)]
    s.wait_for("pausing for a second")
    time.sleep(1)
    used = sum(map(int, open(f"/proc/{s.p.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
    assert used < 0.3 * os.sysconf("SC_CLK_TCK"), used
    for c in silent:
        c.s.close()
    c = Client(s, 0)
    start_up([c], 1)
    c.fini()
    s.wait_for("the job is complete")
    s.p.send_signal(signal.SIGTERM)
    assert s.wait() == 0, s.text()


def members_that_break_the_rules():
    for last, words in ((b"COLL\x7f\xff\xff\xff", "limit is"),
                        (b"COLL\0\0\0\3", "no room for its label"),
                        (b"IMPI\0\0\0\4\0\0\0\0", "command IMPI while labels are collected"),
                        (b"FINI\0\0\0\0", "command FINI while labels are collected"),
                        (b"junkjunk", "unknown command")):
        s = Server("-server", "2")
        a, b = Client(s, 0), Client(s, 1)
        a.size()
        b.size()
        a.s.sendall(last)
        assert a.ended() and b.ended()
        assert s.wait() == 1, s.text()
        assert words in s.text() and "client 0 was lost" in s.text(), s.text()


def start_up_stands_still():
    """Two lock-step clients that do not send the same labels (LAM and MetaMPICH)."""
    s = Server("-server", "2", "--startup-timeout", "1")
    a, b = Client(s, 0), Client(s, 1)
    a.size()
    b.size()
    a.submit(0x1400, bytes(4))
    b.submit(0x1500, bytes(4))
    assert a.ended() and b.ended()
    assert s.wait() == 1, s.text()
    for words in ("IMPI_C_TAGUB (0x1400) lacks client 1", "IMPI_C_COLL_XSIZE (0x1500) lacks client 0"):
        assert words in s.text(), s.text()


def lost_in_start_up():
    s = Server("-server", "2")
    a, b = Client(s, 0), Client(s, 1)
    a.size()
    b.size()
    a.submit(0x1000, bytes(8))
    a.s.close()
    assert b.ended()
    assert s.wait() == 1
    assert "client 0 was lost" in s.text(), s.text()


def lost_while_running():
    """The others are served on for a while; the job has failed all the same."""
    s = Server("-server", "3")
    a, b, c = clients = [Client(s, r) for r in range(3)]
    start_up(clients, 3)
    b.reset()
    s.wait_for("client 1 was lost while the job was running")
    a.fini()
    s.wait_for("client 0 (")
    assert s.p.poll() is None
    c.s.settimeout(0.3)
    try:
        raise AssertionError(f"client 2 got {c.s.recv(1)!r}")
    except socket.timeout:
        pass
    c.fini()
    assert s.wait() == 1
    assert "the job failed: client 1 was lost" in s.text(), s.text()
    # who does not end hears of it by the end of its connection
    for grace in ("0", "1"):
        s = Server("-server", "2", "--loss-grace", grace)
        clients = [Client(s, r) for r in range(2)]
        start_up(clients, 2)
        began = time.monotonic()
        clients[1].s.close()
        assert clients[0].ended()
        took = time.monotonic() - began
        assert int(grace) <= took < int(grace) + 5, took
        assert s.wait() == 1, s.text()


def launcher(server, rank, how, key="0"):
    """impirun with a launcher that ends as how says; its status."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/mpirun", "w") as f:
            f.write(f"#!/bin/sh\n{how}\n")
        os.chmod(f"{d}/mpirun", 0o755)
        auth = {"IMPI_AUTH_KEY": key} if key != "0" else {"IMPI_AUTH_NONE": "1"}
        p = subprocess.run([BIN + "/impirun", "-client", str(rank), "%s:%d" % server.at,
                            "--launcher", "mpirun", "app"],
                           env={"PATH": d + ":/usr/bin:/bin", **auth}, timeout=LIMIT_S)
        return p.returncode


def a_cluster_that_will_not_come():
    """Its ranks died before they joined: the others do not wait."""
    for how, status, words in (("exit 3", 3, "ended with status 3"),
                               ("kill -9 $$", -9, "was ended by signal 9"),
                               ("exit 0", 0, "ended with status 0")):
        s = Server("-server", "2")
        a = Client(s, 0)
        s.wait_for("client 0 (")
        assert launcher(s, 1, how) == status
        told = a.s.recv(4096)
        assert told[:4] == b"GONE" and told[8:12] == struct.pack(">I", 1), told
        assert told[12:] == b"its launcher (mpirun) " + words.encode(), told
        assert a.ended() and s.wait() == 1
        assert "the job failed: client 1 is gone before it joined: its launcher" in s.text()


def a_launcher_that_ends_nothing():
    """Of clients that have joined, of the job before, without the key."""
    s = Server("-server", "2", env={"IMPI_AUTH_KEY": "77"})
    assert launcher(s, 1, "exit 1", "78") == 1
    a = Client(s, 0, 2, 77)
    s.wait_for("client 0 (")
    assert launcher(s, 0, "exit 1", "77") == 1
    b = Client(s, 1, 2, 77)
    start_up([a, b], 2)
    for rank in (0, 1):
        assert launcher(s, rank, "exit 1", "77") == 1
    for c in (a, b):
        c.fini()
    assert s.wait() == 0, s.text()
    assert "gone" not in s.text(), s.text()
    # one of the first job, which ends while the second one waits for its clients
    s = Server("-server", "2", "--persist")
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/mpirun", "w") as f:
            f.write("#!/bin/sh\nread x\nexit 1\n")
        os.chmod(f"{d}/mpirun", 0o755)
        old = subprocess.Popen([BIN + "/impirun", "-client", "1", "%s:%d" % s.at,
                                "--launcher", "mpirun", "app"],
                               stdin=subprocess.PIPE, env={"PATH": d, "IMPI_AUTH_NONE": "1"})
        first = [Client(s, r) for r in range(2)]
        start_up(first, 2)
        for c in first:
            c.fini()
        s.wait_for("the job is complete")
        second = [Client(s, 0)]
        s.wait_for("joined, 1 of 2")
        old.communicate(b"\n", LIMIT_S)
        assert old.returncode == 1
    second.append(Client(s, 1))
    start_up(second, 2)
    assert launcher(s, 1, "exit 1") == 1  # the server answers nobody while this job runs
    for c in second:
        c.fini()
    while s.text().count("the job is complete") < 2:
        time.sleep(0.01)
    assert "gone" not in s.text(), s.text()


def signals_of_a_launcher():
    """impirun passes on what is sent to it, once, and ends as its launcher; that ends with it."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/mpirun", "w") as f:
            f.write("#!/bin/bash\ntrap 'echo TERM' TERM\ntrap 'echo USR1; exit 9' USR1\n"
                    "exec {s}<> <(:)\necho $$\nwhile :; do read -t 0.1 -u $s; done\n")
        os.chmod(f"{d}/mpirun", 0o755)

        def begin():
            p = subprocess.Popen([BIN + "/impirun", "-client", "0", "127.0.0.1:1",
                                  "--launcher", "mpirun", "app"], text=True,
                                 stdout=subprocess.PIPE,
                                 env={"PATH": d + ":/usr/bin:/bin", "IMPI_AUTH_NONE": "1"})
            return p, int(p.stdout.readline())

        p, child = begin()
        p.send_signal(signal.SIGTERM)
        assert p.stdout.readline() == "TERM\n"
        p.send_signal(signal.SIGUSR1)
        assert p.communicate(timeout=LIMIT_S)[0] == "USR1\n" and p.returncode == 9
        p, child = begin()
        p.kill()
        assert p.stdout.readline() == "TERM\n"
        os.kill(child, signal.SIGKILL)
        p.wait(LIMIT_S)


def persist_and_signal():
    pid = tempfile.mktemp(prefix="impi-server-", suffix=".pid")
    s = Server("-server", "1", "--persist", "--pidfile", pid)
    for _ in range(2):
        c = Client(s, 0)
        start_up([c], 1)
        c.fini()
    c = Client(s, 0)
    c.size()
    c.s.close()
    s.wait_for("the job failed")
    assert int(open(pid).read()) == s.p.pid
    second = subprocess.run([BIN + "/impi-server", "-server", "1", "-auth", "0", "--pidfile", pid],
                            capture_output=True, text=True, timeout=LIMIT_S)
    assert second.returncode == 2 and f"running already, process {s.p.pid}" in second.stderr, second
    s.p.send_signal(signal.SIGTERM)
    assert s.wait() == 0, s.text()
    assert not os.path.exists(pid)


def pidfile_follows_no_link():
    target = tempfile.mktemp(prefix="impi-server-", suffix=".target")
    link = target + ".pid"
    os.symlink(target, link)
    p = subprocess.run([BIN + "/impi-server", "-server", "1", "-auth", "0", "--pidfile", link],
                       capture_output=True, text=True, timeout=LIMIT_S)
    os.unlink(link)
    assert p.returncode == 2 and "symbolic link" in p.stderr, p
    assert not os.path.exists(target)


def persist_leaks_nothing():
    """Whatever a job left behind, the next one begins from nothing."""
    s = Server("-server", "2", "--persist")

    def good_job():
        clients = [Client(s, r) for r in range(2)]
        start_up(clients, 2)
        for c in clients:
            c.fini()

    def half_a_value(a, b):
        a.submit(0x1000, b"left behind" * 1000)
        b.s.sendall(b"COLL" + struct.pack(">II", 100, 0x1000) + b"half")

    def unread_answers(a, b):
        for c in (a, b):
            c.submit(0x3000, bytes(4 << 20))

    def done_said(a, b):
        a.done()
        b.submit(0x1100, b"only b")

    for i, spoil in enumerate((half_a_value, unread_answers, done_said)):
        a, b = Client(s, 0), Client(s, 1)
        a.size()
        b.size()
        spoil(a, b)
        time.sleep(0.1)
        b.reset()
        assert a.ended()
        while s.text().count("the job failed") <= i:
            time.sleep(0.01)
        good_job()
        while s.text().count("the job is complete") <= i:
            time.sleep(0.01)
    # a rank of the job before is free again, and its key is not remembered
    a = Client(s, 1)
    s.p.send_signal(signal.SIGTERM)
    assert a.ended() and s.wait() == 1


def persist_keeps_the_next_job_waiting():
    s = Server("-server", "2", "--persist", "--timeout", "2")
    first = [Client(s, r) for r in range(2)]
    start_up(first, 2)
    next_job = [Client(s) for _ in range(2)]  # connected, by the kernel
    for rank, c in enumerate(next_job):
        c.rank = rank
        c.s.sendall(b"AUTH" + struct.pack(">II", 4, 1))
        c.s.settimeout(0.3)
        try:
            raise AssertionError(f"answered {c.s.recv(8)!r} during the job before")
        except socket.timeout:
            c.s.settimeout(LIMIT_S)
    time.sleep(2.2)  # the time to name oneself does not run yet
    for c in first:
        c.fini()
    for c in next_job:
        assert c.take(8) == bytes(8)
        c.s.sendall(b"IMPI" + struct.pack(">Ii", 4, c.rank))
    start_up(next_job, 2)
    for c in next_job:
        c.fini()
    while s.text().count("the job is complete") < 2:
        time.sleep(0.01)
    s.p.send_signal(signal.SIGTERM)
    assert s.wait() == 0, s.text()
    assert "already taken" not in s.text(), s.text()


def signal_with_clients():
    s = Server("-server", "2")
    c = Client(s, 0)
    s.wait_for("joined")
    s.p.send_signal(signal.SIGINT)
    assert c.ended()
    assert s.wait() == 1
    assert "SIGINT" in s.text()


def wrong_arguments():
    env = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
    for args, extra, words in (
            ([], {}, "-server N is needed"), (["-server", "0"], {}, "too small"),
            (["-server", "33"], {}, "too large"), (["-server", "x"], {}, "invalid"),
            (["-server", "2"], {}, "no authentication method"),
            (["-server", "2", "-auth", "key"], {}, "IMPI_AUTH_KEY"),
            (["-server", "2", "-auth", "rot13"], {}, "not a method"),
            (["-server", "2"], {"IMPI_AUTH_KEY": "0x1"}, "decimal"),
            (["-server", "2", "-port", "70000"], {}, "too large"),
            (["-server", "2", "-auth", "0", "--bind", "nowhere"], {}, "address is wanted"),
            (["-server", "2", "-auth", "0", "-host", ""], {}, "address is wanted"),
            (["-server", "2", "-auth", "0,2"], {}, "not a method"),
            (["-server", "2", "-auth", "0", "-port-range", "9"], {}, "not a range"),
            (["-server", "2", "-auth", "0", "-port-range", "9:8"], {}, "not a range"),
            (["-server", "2", "-auth", "0", "-port-range", "1:70000"], {}, "not a range"),
            (["-server", "2", "-auth", "0"], {"IMPI_SERVER_PORT_RANGE": "a:b"},
             "IMPI_SERVER_PORT_RANGE a:b: not a range"),
            (["-server", "2", "-auth", "0", "--allow", "10.0.0/8"], {}, "wanted are up to"),
            (["-server", "2", "-auth", "0", "more"], {}, "unexpected")):
        r = subprocess.run([BIN + "/impi-server", *args], capture_output=True, text=True,
                           env={**env, **extra}, timeout=LIMIT_S)
        assert r.returncode == 2 and words in r.stderr, (args, r)
    taken = socket.create_server(("127.0.0.1", 0))
    r = subprocess.run([BIN + "/impi-server", "-server", "1", "-auth", "0", "--bind", "127.0.0.1",
                        "-port", str(taken.getsockname()[1])],
                       capture_output=True, text=True, timeout=LIMIT_S)
    assert r.returncode == 2 and "in use" in r.stderr, r


def impirun():
    with tempfile.TemporaryDirectory() as d:
        env = {"PATH": d, "IMPI_AUTH_KEY": "77"}

        def run(*args, **more):
            return subprocess.run([BIN + "/impirun", *args], capture_output=True, text=True,
                                  env={**env, **more}, timeout=LIMIT_S)

        r = run("-client", "0", "h:1", "app")
        assert r.returncode == 2 and "no launcher" in r.stderr, r
        for name in ("mpirun", "prterun", "srun"):
            with open(f"{d}/{name}", "w") as f:
                f.write('#!/bin/sh\necho "$0 $IMPI_CLIENT $IMPI_SERVER $IMPI_AUTH_KEY|$*"\n'
                        "exit 7\n")
            os.chmod(f"{d}/{name}", 0o755)
            words = ("-client", "3", "h:99", "-n", "4", "./app", "a b")
            if name == "srun":  # outside of an allocation it is the last one
                assert run(*words).stdout.startswith(f"{d}/prterun "), name
            r = run(*words, SLURM_JOB_ID="1")
            assert r.returncode == 7, r  # the launcher's own status
            who, _, args = r.stdout.strip().partition("|")
            assert who == f"{d}/{name} 3 h:99 77", r
            assert args.endswith("-n 4 ./app a b"), r
            if name == "srun":
                assert "--export=ALL,IMPI_CLIENT,IMPI_SERVER,IMPI_AUTH_KEY" in args, r
            else:
                assert "-x IMPI_CLIENT -x IMPI_SERVER -x IMPI_AUTH_KEY" in args, r
            assert "77" not in args, r
        r = run("-client", "0", "[::1]:5", "--launcher", "mpirun", "--dry-run", "--", "-np", "2", "x")
        assert r.returncode == 0 and f"{d}/mpirun -x" in r.stdout and "77" not in r.stdout, r
        for args, words in ((["-client", "32", "h:1", "x"], "client rank"),
                            (["-client", "0", "h", "x"], "HOST:PORT"),
                            (["-client", "0", "h:0", "x"], "port"),
                            (["-client", "0", "::1:5", "x"], "brackets"),
                            (["-client", "0", "h:1"], "nothing to launch"),
                            (["-client", "0", "h:1", "--launcher", "qsub", "x"], "use srun"),
                            (["-client", "0", "h:1", "--peer", "1", "x"], "CLIENT=word"),
                            (["-client", "0", "h:1", "--peer"], "--peer needs"),
                            (["-client", "0", "h:1", "--peer=1=long", "x"], "unknown word 'long'"),
                            (["-client", "0", "h:1", "--peer", "32=auto", "x"], "a client is"),
                            (["-client", "0", "h:1", "--peer", "1=a;2=b", "x"], "one client"),
                            (["-client"], "-client needs"), (["what"], "unexpected"), ([], "usage")):
            r = run(*args)
            assert r.returncode == 2 and words in r.stderr, (args, r)
        r = run("-client", "0", "h:1", "--peer", "1=native-payload,reduce-on-pt2pt-context",
                "--peer=*=long8", "--launcher", "mpirun", "-n", "2", "x", IMPI_PEERS="3:auto")
        assert r.returncode == 7 and "-x IMPI_PEERS" in r.stdout, r
        r = run("-n", "-client", "0", "h:1", "--peer", "1=native-payload,reduce-on-pt2pt-context",
                "--peer=*=long8", "x", IMPI_PEERS="3:auto")
        assert "IMPI_PEERS='1:native-payload,reduce-on-pt2pt-context;*:long8' " in r.stdout, r
        r = run("-n", "-client", "0", "h:1", "x", IMPI_PEERS="3:auto")
        assert "IMPI_PEERS=3:auto " in r.stdout, r
        r = run("-client", "0", "h:1", "x", IMPI_AUTH_KEY="no")
        assert r.returncode == 2 and "decimal" in r.stderr, r
        r = run("-n", "-server", "2", "-port", "5")
        assert r.stdout == f"{BIN}/impi-server -server 2 -port 5\n", r
        r = run("-server", "0")
        assert r.returncode == 2 and "too small" in r.stderr, r


for test in (two_clients, address_line, ipv4_and_ipv6, side_by_side_in_a_port_range,
             thirty_two_clients, large_values, key, strangers, ranks, slow_loris,
             who_is_allowed, out_of_descriptors,
             members_that_break_the_rules, start_up_stands_still, lost_in_start_up,
             lost_while_running, a_cluster_that_will_not_come,
             a_launcher_that_ends_nothing, signals_of_a_launcher, persist_and_signal, pidfile_follows_no_link, persist_leaks_nothing,
             persist_keeps_the_next_job_waiting, signal_with_clients, wrong_arguments, impirun):
    try:
        why = test()
        print(f"SKIP {test.__name__}: {why}" if why else f"PASS {test.__name__}", flush=True)
    except Exception as e:  # every scenario is told, whatever broke it
        failures += 1
        print(f"FAIL {test.__name__}: {type(e).__name__}: {e}".replace("\n", " | "), flush=True)
    finally:
        for p in running:
            if p.poll() is None:
                p.kill()
                p.wait()
        running.clear()
sys.exit(1 if failures else 0)
