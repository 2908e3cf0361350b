# SPDX-License-Identifier: BSD-2-Clause
"""Is all that relayd says in the metrics?  _web.py METRICS DROPS STATUS; prints what is missing."""
import json
import re
import sys

text = open(sys.argv[1]).read()
names = set(re.findall(r"^(relayd_\w+)\{", text, re.M))
reasons = set(re.findall(r'^relayd_drops_total\{.*reason="([^"]*)"', text, re.M))
drops = json.load(open(sys.argv[2]))
drops = set(drops) if isinstance(drops, dict) and "drops" not in drops else {
    d["name"] for d in drops["drops"]}
status = json.load(open(sys.argv[3]))
missing = [f"drop {d}" for d in sorted(drops - reasons)]
if len(drops) < 20:
    missing.append(f"only {len(drops)} reasons are known")


def look(scope, o):
    for key, value in o.items():
        if isinstance(value, (bool, int)) and key not in ("worker", "lcore"):
            leg = "leg_" if "/" in key else scope
            name = f"relayd_{leg}{key.split('/')[-1]}"
            if name not in names and name + "_total" not in names:
                missing.append(name)


look("", status)
for w in status["workers"]:
    look("worker_", w)
for p in status["ports"]:
    look("port_", p)
    if not re.search(r'^relayd_port_driver_total\{.*leg="%s".*counter="' % p["leg"], text, re.M):
        missing.append(f"counters of the driver of {p['leg']}")
families = re.findall(r"^# TYPE (\S+) ", text, re.M)
if len(families) != len(set(families)):
    missing.append("a family twice")
if missing:
    print("; ".join(missing[:6]), end=" ")
