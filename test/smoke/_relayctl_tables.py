# SPDX-License-Identifier: BSD-2-Clause
"""_relayctl_tables.py RELAYCTL RELAY - prints what is wrong with tables on terminals of several widths.

A table fits; what it leaves out it counts; a wider terminal has all that a narrower one has; names of
rows stay; with -w, or where the output is no terminal, all is there."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

RELAYCTL, RELAY = sys.argv[1:]
MORE = re.compile(r"\((\d+) more columns?: -w\)$")


def piped(*words):
    return subprocess.run([RELAYCTL, "-s", RELAY, *words], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=20).stdout.splitlines()


def shown(columns, *words, rows=24):
    """Lines of the command on a terminal of that width and height."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with subprocess.Popen([RELAYCTL, "-s", RELAY, *words], stdin=subprocess.DEVNULL, stdout=its) as p:
        os.close(its)
        got = b""
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:  # EIO: nobody writes any more
                break
            got += some
            if not some:
                break
        if p.wait(20):
            print(f"{words}: status {p.returncode}")
    os.close(ours)
    return got.decode().replace("\r\n", "\n").splitlines()


def titles(line):
    return re.split(r" {2,}", line.strip())


def wrong(what, lines):
    print(f"{what}:", *lines[:12], sep="\n")


def table(key, *words):
    whole = piped(*words)
    everything = titles(whole[0])
    before = []
    for columns in (50, 80, 110, 150, 400):
        lines = shown(columns, *words)
        what = f"{' '.join(words)}, {columns} columns"
        if max(map(len, lines)) > columns:
            wrong(f"{what}: too wide", lines)
        here = titles(lines[0])
        more = MORE.match(lines[-1])
        if len(here) + (int(more[1]) if more else 0) != len(everything):
            wrong(f"{what}: not all of {everything} are shown or counted", lines)
        if here != [t for t in everything if t in here] or not set(key) <= set(here):
            wrong(f"{what}: order, or a name is missing", lines)
        if not set(before) <= set(here):
            wrong(f"{what}: fewer than where less fits", lines)
        before = here
    if before != everything:
        wrong(f"{words}: not all at 400 columns", before)
    if len(titles(shown(50, *words)[0])) == len(everything) > 10:
        wrong(f"{words}: nothing is given up at 50 columns", whole)
    if titles(shown(50, *words, "-w")[0]) != everything or MORE.match(whole[-1]):
        wrong(f"{words}: -w, or what is no terminal, lacks columns", whole)
    return whole


paths = table({"path", "peer", "state"}, "paths")
if not {"rtt us", "mtu B", "pace bit/s", "loss %"} <= set(titles(paths[0])):
    wrong("paths: no units", paths)
table({"job", "local_up", "trunks_up"}, "jobs")
table({"worker", "own", "imports"}, "doors")
# Sentences are folded; no word of them is lost.
drops = piped("drops", "--all")
folded = shown(80, "drops", "--all")
if max(map(len, folded)) > 80 or len(folded) <= len(drops) or MORE.match(folded[-1]):
    wrong("drops --all, 80 columns: not folded", folded)
meaning = drops[0].index("meaning")
lost = {w for line in drops[1:] for w in line[meaning:].split()} - set(" ".join(folded).split())
if lost:
    wrong("drops --all, 80 columns: words are lost", sorted(lost))
# Sizes: short, or with all digits.
short, full = piped("jobs"), piped("jobs", "--bytes")
at = titles(short[0]).index("rx B")
if not re.fullmatch(r"\d+\.\dk|\d+k|[\d.]+[MGT]|\d+", titles(short[1])[at]) or not titles(full[1])[at].isdigit():
    wrong("jobs: rx B", short + full)
# What is drawn again and again is no higher and no wider than the terminal, and says what is missing.
for rows in (8, 60):
    pictures = "\n".join(shown(72, "top", "-n", "2", "-d", "0.2", rows=rows)).split("\x1b[H")[1:]
    for picture in pictures:
        lines = re.sub(r"\x1b\[[JK]", "", picture).splitlines()
        if len(lines) >= rows or max(map(len, lines)) > 72:
            wrong(f"top, {rows} rows: too high or too wide", lines)
        if (rows < 10) != bool(re.match(r"\(\d+ more lines: ", lines[-1])):
            wrong(f"top, {rows} rows: what is missing is not counted", lines)
    if len(pictures) != 2 or "segments/s" not in pictures[1]:
        wrong("top: not drawn twice", pictures)
