"""Circuits over time as a picture: what every port of the switch was lit for, and the collective calls
above it.

    timeline.py OUT.svg TITLE LOG.json [FROM_US]

LOG.json is what `relayctl --json circuits --log` says at the controller; FROM_US: nothing that
is older.  Grey: ordered, not lit yet; a colour for each port at the other end; a line where both ends
have found each other."""
import json
import sys
from xml.sax.saxutils import escape

WIDTH, LEFT, TOP, ROW, BAR = 1500, 150, 60, 22, 14
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


def draw(events, title):
    begin = min([e["t_us"] for e in events if e["kind"] == "call"] or [events[0]["at_ns"]])
    begin = min([begin] + [c[2] for c in circuits(events, 0)])
    end = max(e["t_us"] for e in events)
    bars, spans = circuits(events, end), calls(events, end)
    ports = sorted({b[0] for b in bars} | {b[1] for b in bars})
    row = {p: i for i, p in enumerate(ports)}
    height = TOP + ROW * (len(ports) + 2) + 40
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
        if at(b) - at(a) > 60:
            out.append(f'<text x="{at(a) + 2:.1f}" y="{TOP + 11}" fill="white">'
                       f"{escape(str(e.get('op')))}</text>")
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
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 30}" stroke="#f0f0f0"/>'
                   f'<text x="{x:.1f}" y="{height - 15}" text-anchor="middle">{ms:g} ms</text>')
        ms += step
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
