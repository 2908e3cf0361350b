# SPDX-License-Identifier: BSD-2-Clause
"""Circuits over time as a picture: what every port of the switch was lit for, and the collective calls
above it.

    timeline.py OUT.svg TITLE LOG.json [FROM_US]

LOG.json is what `relayctl --json circuits --log` says at the controller; FROM_US: nothing that
is older.  The legend is at the picture's lower edge."""
import json
import sys
from xml.sax.saxutils import escape

WIDTH, LEFT, TOP, ROW, BAR, FOOT = 1500, 150, 96, 22, 14, 64
LABEL, LEVELS = 11, 4  # height of a call's name, and how many may stand above each other
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#994455", "#004488",
           "#997700", "#6699cc", "#117733", "#882255", "#ddaa33", "#44aa99", "#cc6677", "#332288"]


def events_of(path, from_us=0):
    with open(path) as f:
        log = json.load(f)
    return sorted((e for e in log if e["t_us"] > from_us), key=lambda e: e["t_us"])


def circuits(events, end):
    """(port, peer, ordered, lit, gone), from the port where light goes in."""
    open_, out = {}, []
    for e in events:
        if "x" not in e or "y" not in e:
            continue
        key = (e["x"], e["y"])
        if e["kind"] == "lit":
            open_[key] = (e.get("from_us") or e["t_us"], e["t_us"])
        elif e["kind"] == "gone" and key in open_:
            out.append((*key, *open_.pop(key), e["t_us"]))
    return out + [(*key, *v, end) for key, v in open_.items()]


def calls(events, end):
    started, out = {}, []
    for e in events:
        key = (e.get("op"), e.get("seq"))
        if e["kind"] == "call":
            started[key] = e
        elif e["kind"] == "over" and key in started:
            s = started.pop(key)
            out.append((s, s["t_us"], e["t_us"]))
    return out + [(s, s["t_us"], end) for s in started.values()]


def wide(text):
    return 6.5 * len(text)


def names(spans, at):
    """(x, level, name) of the calls too short for a name of their own: neighbours of one kind share it,
    and a name that fits nowhere is left out."""
    groups = []
    for e, a, b in spans:
        op = str(e.get("op"))
        if at(b) - at(a) > wide(op) + 4:
            groups.append(None)  # named inside its bar
        elif groups and groups[-1] and groups[-1][0] == op:
            groups[-1][2] += 1
        else:
            groups.append([op, at(a), 1])
    ends, out = [0.0] * LEVELS, []
    for op, x, n in filter(None, groups):
        text = f"{op} x {n}" if n > 1 else op
        x = min(x, WIDTH - wide(text))
        free = [i for i, end in enumerate(ends) if end < x]
        if free:
            ends[free[0]] = x + wide(text) + 6
            out.append((x, free[0], text))
    return out


def legend(y):
    """What the marks mean."""
    parts = [('<rect x="{x}" y="{top}" width="28" height="14" fill="#dddddd"/>', "ordered, not lit yet"),
             ('<rect x="{x}" y="{top}" width="28" height="14" fill="#4477aa"/>'
              '<text x="{mid}" y="{y}" fill="white" text-anchor="middle">3</text>',
              "lit; number and colour: the port at the other end"),
             ('<line x1="{mid}" x2="{mid}" y1="{top}" y2="{y}" stroke="black"/>',
              "both ends have found each other"),
             ('<rect x="{x}" y="{top}" width="14" height="14" fill="#888888"/>'
              '<rect x="{mid}" y="{top}" width="14" height="14" fill="#bbbbbb"/>',
              "collective calls, one after the other")]
    x, out = LEFT, []
    for mark, text in parts:
        out.append(mark.format(x=x, mid=x + 14, top=y - 11, y=y))
        out.append(f'<text x="{x + 34}" y="{y}">{text}</text>')
        x += 34 + wide(text) + 28
    return out


def draw(events, title):
    begin = min([e["t_us"] for e in events if e["kind"] == "call"] or [events[0]["at_ns"]])
    begin = min([begin] + [c[2] for c in circuits(events, 0)])
    end = max(e["t_us"] for e in events)
    bars, spans = circuits(events, end), calls(events, end)
    ports = sorted({b[0] for b in bars} | {b[1] for b in bars})
    row = {p: i for i, p in enumerate(ports)}
    height = TOP + ROW * (len(ports) + 2) + FOOT
    scale = (WIDTH - LEFT - 20) / max(1, end - begin)

    def at(us):
        return LEFT + (max(us, begin) - begin) * scale

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>']

    def rect(x0, x1, y, colour, text, more=""):
        out.append(f'<rect x="{x0:.1f}" y="{y}" width="{max(0.7, x1 - x0):.1f}" height="{BAR}" '
                   f'fill="{colour}"{more}><title>{escape(text)}</title></rect>')

    for i, (e, a, b) in enumerate(spans):
        rect(at(a), at(b), TOP, "#bbbbbb" if i % 2 else "#888888",
             f"{e.get('op')} {e.get('bytes')} bytes, {e.get('mode')}: {(b - a) / 1e3:.2f} ms, "
             f"{e.get('setups')} set-ups, {e.get('messages')} messages")
        if at(b) - at(a) > wide(str(e.get("op"))) + 4:
            out.append(f'<text x="{at(a) + 2:.1f}" y="{TOP + 11}" fill="white">'
                       f"{escape(str(e.get('op')))}</text>")
    out += [f'<text x="{x:.1f}" y="{TOP - 4 - LABEL * level}">{escape(text)}</text>'
            for x, level, text in names(spans, at)]
    out.append(f'<text x="8" y="{TOP + 11}">calls</text>')
    for p in ports:
        y = TOP + ROW * (row[p] + 1)
        out.append(f'<text x="8" y="{y + 11}">port {p}</text>'
                   f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y + BAR}" y2="{y + BAR}" stroke="#eee"/>')
    for x, y, ordered, lit, gone in bars:
        top = TOP + ROW * (row[x] + 1)
        rect(at(ordered), at(lit), top, "#dddddd", f"{x} to {y}: ordered, {(lit - ordered) / 1e3:.2f} ms")
        rect(at(lit), at(gone), top, COLOURS[y % len(COLOURS)],
             f"{x} to {y}: lit for {(gone - lit) / 1e3:.2f} ms")
        if at(gone) - at(lit) > 30:
            out.append(f'<text x="{at(lit) + 2:.1f}" y="{top + 11}" fill="white">{y}</text>')
    for e in events:
        if e["kind"] == "up":  # both ends have found each other
            for p in (e["x"], e["y"]):
                if p in row:
                    y = TOP + ROW * (row[p] + 1)
                    out.append(f'<line x1="{at(e["t_us"]):.1f}" x2="{at(e["t_us"]):.1f}" y1="{y}" '
                               f'y2="{y + BAR}" stroke="black"/>')
    step = 10 ** len(str(int((end - begin) / 1e3 / 10))) / 2 or 1
    ms = 0.0
    while ms * 1e3 <= end - begin:
        x = at(begin + ms * 1e3)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - FOOT + 6}" stroke="#f0f0f0"/>'
                   f'<text x="{x:.1f}" y="{height - FOOT + 20}" text-anchor="middle">{ms:g} ms</text>')
        ms += step
    out += legend(height - 14)
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    path, title, log = sys.argv[1:4]
    events = events_of(log, int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    if not any(e["kind"] == "lit" for e in events):
        sys.exit(f"{log}: nothing was lit")
    with open(path, "w") as f:
        f.write(draw(events, title))


if __name__ == "__main__":
    main()
