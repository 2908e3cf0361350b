# SPDX-License-Identifier: BSD-2-Clause
"""Kills a program at a named event of somebody's log.

    python3 doom.py LOG PATTERN SECONDS NETNS PROGRAM

Says "waiting" when it looks; from then on the first new line of LOG that PATTERN finds has all
processes called PROGRAM in the network namespace NETNS (a file) killed.  The log may be begun anew
meanwhile.  Ends with 1 if the event did not come or there was nobody to kill.
"""
import os
import re
import signal
import sys
import time


def there(netns, program):
    where = os.stat(netns).st_ino
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == program and os.stat(f"/proc/{pid}/ns/net").st_ino == where:
                    yield int(pid)
        except OSError:
            pass


def lines(path, seconds):
    at, rest, end = os.path.getsize(path), "", time.monotonic() + seconds
    print("waiting", flush=True)
    while time.monotonic() < end:
        try:
            if os.path.getsize(path) < at:
                at, rest = 0, ""
            with open(path, errors="replace") as f:
                f.seek(at)
                new = f.read()
                at = f.tell()
        except FileNotFoundError:
            new, at = "", 0
        *whole, rest = (rest + new).split("\n")
        yield from whole
        time.sleep(0.001)


def main(path, pattern, seconds, netns, program):
    for line in lines(path, float(seconds)):
        if re.search(pattern, line):
            victims = list(there(netns, program))
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            print("killed", *victims, "at:", line)
            return 0 if victims else 1
    print("the event did not come")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
