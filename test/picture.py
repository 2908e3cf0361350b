# SPDX-License-Identifier: BSD-2-Clause
"""Pictures of evaluations and benches: curves and bars by gnuplot, as SVG.

Every picture says in its title whether it is measured or modelled.  The legend stands beside the
curves, never over them; colours differ for colour-blind readers, too, and lines by their marks;
the background is white, so that a dark page does not swallow the text.  test/smoke/pictures.sh
holds each against its canvas.
"""
import os
import subprocess

# Okabe and Ito's, darkest first; the yellow is too light for lines.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"]
MARKS = [7, 5, 9, 4, 6, 8, 12]
ORIGINS = ("Measured", "Model")


def quoted(text):
    """For gnuplot, with its marks for raised and lowered letters put out of force."""
    text = str(text)
    for mark in "\\_^{}@&~":
        text = text.replace(mark, "\\\\" + mark)
    return '"' + text.replace('"', "'") + '"'


def draw(path, commands, blocks):
    """gnuplot's commands; DATA in them is the file with the blocks of rows."""
    data = f"{path}.dat"
    with open(data, "w", encoding="utf-8") as f:
        for rows in blocks:
            f.writelines(" ".join(str(v) for v in row) + "\n" for row in rows)
            f.write("\n\n")
    try:
        subprocess.run(["gnuplot"], check=True, text=True,
                       input=commands.replace("DATA", quoted(data)))
    finally:
        os.remove(data)


def title_of(origin, title):
    if origin not in ORIGINS:
        raise ValueError(f"{origin}: a picture is one of {', '.join(ORIGINS)}")
    return f"{origin}: {title}"


def curves(path, origin, title, x, y, lines, setup=""):
    """lines: (name, points) or (name, points, look), look one of line, marks, both, dashed; a point is
    (x, y) or (x, y, low, high), whose spread is drawn.  setup: more of gnuplot's commands."""
    plots = []
    for i, (name, points, *look) in enumerate(lines):
        look = look[0] if look else "both"
        colour = f"lc rgb '{COLOURS[i % len(COLOURS)]}'"
        style = {"line": f"with lines lw 2 {colour}",
                 "dashed": f"with lines lw 2 dt 2 {colour}",
                 "marks": f"with points pt 6 ps 1.6 lw 2 {colour}",
                 "both": f"with linespoints lw 2 pt {MARKS[i % len(MARKS)]} ps 0.8 {colour}"}[look]
        plots.append(f"DATA index {i} using 1:2 {style} title {quoted(name)}")
        if len(points[0]) > 2:
            plots.append(f"DATA index {i} using 1:3:(0):($4-$3) with vectors nohead {colour} notitle")
    draw(path, f"""
set terminal svg size 860,440 font 'sans,13' background 'white'
set output {quoted(path)}
set title {quoted(title_of(origin, title))}
set xlabel {quoted(x)}
set ylabel {quoted(y)}
set key outside right top Left reverse samplen 2
set grid lc rgb '#dddddd'
{setup}
plot {", ".join(plots)}
""", [points for _, points, *_ in lines])


def bars(path, origin, title, x, rows, bound=None):
    """rows: (name, value, low, high) from above; bound: a line at that value."""
    longest = max(len(name) for name, *_ in rows)
    places = range(len(rows), 0, -1)
    ticks = ", ".join(f"{quoted(name)} {at}" for at, (name, *_) in zip(places, rows))
    line = (f"set arrow from {bound}, graph 0 to {bound}, graph 1 nohead lc rgb '#d55e00' lw 2"
            if bound is not None else "")
    draw(path, f"""
set terminal svg size {420 + 8 * longest},{110 + 26 * len(rows)} font 'sans,13' background 'white'
set output {quoted(path)}
set title {quoted(title_of(origin, title))}
set xlabel {quoted(x)}
set lmargin {longest + 2}
set yrange [0.4:{len(rows) + 0.6}]
set xrange [0:*]
set ytics ({ticks})
set grid xtics lc rgb '#dddddd'
unset key
{line}
plot DATA using ($2/2):1:($2/2):(0.3) with boxxyerror fs solid 0.7 noborder lc rgb '{COLOURS[0]}', \
DATA using 2:1:3:4 with xerrorbars pt 0 lw 2 lc rgb 'black'
""", [[(at, value, low, high) for at, (_, value, low, high) in zip(places, rows)]])
