# SPDX-License-Identifier: BSD-2-Clause
"""Do the alert rules and the board ask for what there is?  _monitoring.py METRICS RULES [BOARD]; prints
metrics, labels and values of labels that are not in METRICS, which has all that relays export, or an
mpispd.  What others export (node_exporter) is not looked at."""
import json
import re
import sys

metrics, rules = (open(name).read() for name in sys.argv[1:3])
board = json.load(open(sys.argv[3])) if len(sys.argv) > 3 else None
samples = {}  # name -> labels of each row
for name, labels in re.findall(r"^((?:relayd|mpispd)_\w+)\{(.*)\} \S+$", metrics, re.M):
    samples.setdefault(name, []).append(dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))

asked = []  # (where, expression, labels that its text names)
for block in re.split(r"^ *- alert: ", rules, flags=re.M)[1:]:
    where = block.split("\n", 1)[0]
    expr = re.search(r"expr:(.*?)^ *(?:for|labels):", block, re.M | re.S).group(1)
    asked.append((where, expr, re.findall(r"\$labels\.(\w+)", block)))
for panel in board["panels"] if board else []:
    for target in panel.get("targets", []):
        asked.append((panel["title"], target["expr"],
                      re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))))

wrong = []
if len(asked) < (20 if board else 6) or len(samples) < (100 if board else 8):
    wrong.append(f"only {len(asked)} queries, {len(samples)} metrics are known")
for where, expr, named in asked:
    names = set(re.findall(r"\b(?:relayd|mpispd)_\w+", expr))
    rows = [row for name in names for row in samples.get(name, [])]
    wrong += [f"{where}: there is no {name}" for name in sorted(names - set(samples))]
    if not rows:
        continue
    for by in re.findall(r"\b(?:by|on) \(([^)]*)\)", expr):
        named += re.findall(r"\w+", by)
    wrong += [f"{where}: no label {label}" for label in sorted(set(named))
              if not any(label in row for row in rows)]
    for label, kind, value in re.findall(r'[{,]\s*(\w+)(=~|=)"([^"]*)"', expr):
        fits = re.compile(value if kind == "=~" else re.escape(value)).fullmatch
        if not any(fits(row.get(label, "")) for row in rows):
            wrong.append(f"{where}: no {label} is {value}")
if wrong:
    print("; ".join(wrong), end=" ")
