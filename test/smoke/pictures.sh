#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Pictures stay on their canvas and say what they are: those in doc/, those that test/picture.py and
# the timeline draw of long names; and test/canvas refuses what does not.
# timeout: 60
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# judge WHAT FILE...: each is accepted.
judge()
{
	local what=$1
	shift
	verdict "$what" "$(test/canvas "$@" 2>&1 | grep -v ': ok$' | head -5)"
}

# refused WHAT FILE TEXT: it is not accepted, and the text says why.
refused()
{
	local said
	said=$(test/canvas "$2" 2>&1)
	[ $? -eq 1 ] && [[ $said == *"$3"* ]] && said=
	verdict "$1" "$said"
}

mapfile -t shipped < <(find doc -name '*.svg' | sort)
judge "the ${#shipped[@]} pictures of the documents" "${shipped[@]}"

python3 - "$work" <<'EOF' || fail "the pictures were not drawn"
import sys

sys.dont_write_bytecode = True
sys.path[:0] = ["test", "tools/testbed"]
import picture
import timeline

out = sys.argv[1]
points = [(2 ** i, i + 1, i + 0.5, i + 2) for i in range(12)]
names = [f"{i} relays of a cluster, under_scored ^raised {{braces}}" for i in range(7)]
picture.curves(f"{out}/curves.svg", "Measured", "many names, each of them long", "message, bytes",
               "time, us", [(name, [(x, y * (i + 1), l * (i + 1), h * (i + 1)) for x, y, l, h in points])
                            for i, name in enumerate(names)], "set logscale x 2")
picture.bars(f"{out}/bars.svg", "Measured", "bars with names", "ours / peer",
             [(name + ", in the time that it had work", 0.4 + i, 0.3 + i, 0.9 + i)
              for i, name in enumerate(names)], bound=1)
events = []
for i in range(40):
    t = i * 1000
    events += [{"t_us": t, "kind": "call", "op": "MPI_Reduce_scatter" if i % 3 else "MPI_Barrier", "seq": i},
               {"t_us": t + 900, "kind": "over", "op": "MPI_Reduce_scatter" if i % 3 else "MPI_Barrier", "seq": i},
               {"t_us": t + 200, "from_us": t, "kind": "lit", "x": i % 4, "y": 4 + i % 4},
               {"t_us": t + 300, "kind": "up", "x": i % 4, "y": 4 + i % 4},
               {"t_us": t + 800, "kind": "gone", "x": i % 4, "y": 4 + i % 4}]
with open(f"{out}/timeline.svg", "w", encoding="utf-8") as f:
    f.write(timeline.draw(sorted(events, key=lambda e: e["t_us"]), "Measured: ports over time"))
good = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50"><text x="{}" y="20">{}</text></svg>'
for name, x, text in (("cut", 60, "Model: too long a text for this"), ("mute", 2, "a title")):
    with open(f"{out}/{name}.svg", "w", encoding="utf-8") as f:
        f.write(good.format(x, text))
EOF
judge "curves with long names" "$work/curves.svg"
judge "bars with long names" "$work/bars.svg"
judge "a timeline of many short calls" "$work/timeline.svg"
refused "a text that leaves the canvas" "$work/cut.svg" "outside of 100 x 50"
refused "a picture that does not say what it is" "$work/mute.svg" "neither"
[ -z "${KEEP_PICTURES:-}" ] || cp "$work"/*.svg "$KEEP_PICTURES"
exit $rc
