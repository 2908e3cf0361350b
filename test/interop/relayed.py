# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of relayed.sh as scenarios: foreign clients and libmpi behind relays.  One shell
a job; each builds a testbed of its own and takes it down."""
import os
import subprocess
import sys

from jobs import END_S, HERE, Failure, spawn, tail
from netns import possible

SCRIPT = os.path.join(HERE, "relayed.sh")
LIMIT_S = 3600  # the script has limits of its own, for programs and jobs


def names():
    return subprocess.run([SCRIPT, "--list"], check=True, capture_output=True,
                          text=True).stdout.split()


def one(name):
    def scenario(build):
        if not possible():
            return "needs root"
        p = spawn([SCRIPT, build, name], env=dict(os.environ, PYTHON=sys.executable), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                  stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            said, _ = p.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            p.terminate()  # it takes its testbed down
            try:
                said, _ = p.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                p.kill()
                said, _ = p.communicate()
            raise Failure(f"no end after {LIMIT_S} s\n" + tail(said, 60)) from None
        if p.returncode:
            raise Failure(f"exit status {p.returncode}\n" + tail(said, 60))
        return None
    return scenario


SCENARIOS = [(n, one(n)) for n in names()]
