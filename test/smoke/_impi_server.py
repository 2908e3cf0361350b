"""Scenarios of test/smoke/impi-server.sh: clients of the IMPI start-up, written from the
protocol and not from our library, against the daemon B/bin/impi-server."""
import os, signal, socket, struct, subprocess, sys, tempfile, time

BIN = os.path.abspath(sys.argv[1]) + "/bin"
LIMIT_S = 20
failures = 0
running = []


class Server:
    def __init__(self, *args, env=None, bind="127.0.0.1"):
        e = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        e.update(env if env is not None else {"IMPI_AUTH_NONE": "1"})
        self.log = tempfile.TemporaryFile("w+")
        args = list(args) + (["--bind", bind] if bind else [])
        self.p = subprocess.Popen([BIN + "/impi-server", *args], stdout=subprocess.PIPE,
                                  stderr=self.log, env=e, text=True)
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
    def __init__(self, server, rank=None, mask=1, key=None):
        self.s = socket.create_connection(server.at, LIMIT_S)
        self.rank = rank
        if rank is not None:
            self.s.sendall(b"AUTH" + struct.pack(">II", 4, mask))
            self.which = struct.unpack(">iI", self.take(8))[0]
            if self.which == 1:
                self.s.sendall(struct.pack(">Q", key))
            self.s.sendall(b"IMPI" + struct.pack(">Ii", 4, rank))

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


def ipv6_all_addresses():
    if not os.path.exists("/proc/net/if_inet6"):
        return "no IPv6 here"
    s = Server("-server", "2", bind=None)
    port = s.at[1]
    a = Client(s, 0) if s.at[0] == "127.0.0.1" else None
    s.at = ("127.0.0.1", port)
    a = a or Client(s, 0)
    s.at = ("::1", port)
    try:
        b = Client(s, 1)
    except OSError as e:
        s.p.terminate()
        s.wait()
        return f"no IPv6 loopback: {e}"
    start_up([a, b], 2)
    a.fini()
    b.fini()
    assert s.wait() == 0, s.text()


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
    s = Server("-server", "2")
    a, b = Client(s, 0), Client(s, 1)
    start_up([a, b], 2)
    b.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    b.s.close()
    assert a.ended()
    assert s.wait() == 1
    assert "client 1 was lost" in s.text() and "while the job was running" in s.text(), s.text()


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
    assert second.returncode == 2 and "already running" in second.stderr, second
    s.p.send_signal(signal.SIGTERM)
    assert s.wait() == 0, s.text()
    assert not os.path.exists(pid)


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
            ([], {}, "usage"), (["-server", "0"], {}, "too small"),
            (["-server", "33"], {}, "too large"), (["-server", "x"], {}, "invalid"),
            (["-server", "2"], {}, "no authentication method"),
            (["-server", "2", "-auth", "key"], {}, "IMPI_AUTH_KEY"),
            (["-server", "2", "-auth", "rot13"], {}, "not a method"),
            (["-server", "2"], {"IMPI_AUTH_KEY": "0x1"}, "decimal"),
            (["-server", "2", "-port", "70000"], {}, "too large"),
            (["-server", "2", "-auth", "0", "--bind", "nowhere"], {}, "address is wanted"),
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
            r = run("-client", "3", "h:99", "-n", "4", "./app", "a b")
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
                            (["-client"], "-client needs"), (["what"], "unexpected"), ([], "usage")):
            r = run(*args)
            assert r.returncode == 2 and words in r.stderr, (args, r)
        r = run("-client", "0", "h:1", "x", IMPI_AUTH_KEY="no")
        assert r.returncode == 2 and "decimal" in r.stderr, r
        r = run("-n", "-server", "2", "-port", "5")
        assert r.stdout == f"{BIN}/impi-server -server 2 -port 5\n", r
        r = run("-server", "0")
        assert r.returncode == 2 and "too small" in r.stderr, r


for test in (two_clients, ipv6_all_addresses, thirty_two_clients, large_values, key, strangers,
             lost_in_start_up, lost_while_running, persist_and_signal, signal_with_clients,
             wrong_arguments, impirun):
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
