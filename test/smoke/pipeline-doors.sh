#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses, and nothing joins them but
# the WAN of their relays: daemons and frames go by doors.  Meanwhile a process is killed, a node is
# cut off, the master's daemon is killed, and the relay of the filter's site is started again.  With
# two relays in each site (pipeline-doors-two) each of them is, and nobody is silent.
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_sites.sh
. test/smoke/_sites.sh

NODES=3 UNITS=(a0 a1 a2 b0 b1) ASKED=a2
: "${RELAYS:=1}"
relays=(afe0 bfe0) missed=8
# Beats are late while a door moves from a relay that has died to the other one.
[ "$RELAYS" = 1 ] || relays=(afe0 afe1 bfe0 bfe1) missed=30
places() { # SITE HOW: of its relays, with a comma between
	local fe out=''
	for fe in "${relays[@]}"; do [ "${fe:0:1}" != "$1" ] || out+="${out:+,}$("$2" "$fe"):7812"; done
	echo "$out"
}
testbed_up || fail "testbed: not built"
sites_relays 512 "${relays[@]}"
cat >"$TB_DIR/pipeline.json" <<END
{ "universe": { "name": "sites", "psk_file": "$TB_DIR/key", "state": "$TB_DIR/state" },
  "detect": { "beat_ms": 100, "missed": $missed },
  "severity": { "process": ["takeover", "restart-as-spare"], "cluster": "wait" },
  "sites": {
    "east": { "relay": "$(places a testbed_addr)", "wan": "$(places a testbed_global_addr)" },
    "west": { "relay": "$(places b testbed_addr)", "wan": "$(places b testbed_global_addr)" } },
  "units": {
    "a0": { "at": "$(testbed_addr a0)", "site": "east" }, "a1": { "at": "$(testbed_addr a1)", "site": "east" },
    "a2": { "at": "$(testbed_addr a2)", "site": "east" },
    "b0": { "at": "$(testbed_addr b0)", "site": "west" }, "b1": { "at": "$(testbed_addr b1)", "site": "west" } },
  "clusters": {
    "input": { "units": ["a0", "a1"], "compute": 1, "spares": 1,
               "program": ["$P", "input", "--frames", "$many", "--every", "4"] },
    "filter": { "units": ["b0", "b1"], "compute": 2, "spares": 4, "in": 2, "out": 2,
                "program": ["$P", "filter"] },
    "output": { "units": ["a2"], "compute": 1,
                "program": ["$P", "output", "--frames", "$many", "--log", "$rows"] } },
  "chains": [ { "from": "input", "to": "filter", "window": 16 },
              { "from": "filter", "to": "output", "window": 16, "ordered": true } ] }
END
verdict "--check takes sites" "$("$B/bin/mpispd" --check "$TB_DIR/pipeline.json" 2>&1 | grep -q 'can work' ||
	"$B/bin/mpispd" --check "$TB_DIR/pipeline.json" 2>&1)"
sites_start "daemons of two sites begin a pipeline by the relays alone"
verdict "mpispctl says the site of each unit" \
	"$(said=$(ctl a0 status); [ "$(grep -c 'at east$' <<<"$said")$(grep -c 'at west$' <<<"$said")" = 32 ] || echo "$said")"

kill_rank 0 filter
kill_rank 1 filter
kill_rank 0 input

down() { ctl a2 status | grep -q "^$1.*, down"; }
up() { ctl a2 status | grep -q "^$1" && ! down "$1"; }
ip -n "$TB_ID-bsw" link set p1 down || fail "b1 is not cut off"
testbed_wait 20 "b1 to be down" down b1
goes_on "a node of the other site is cut off: frames go on"
ip -n "$TB_ID-bsw" link set p1 up
testbed_wait 30 "b1 to be back" up b1 || fail "b1 does not come back"
goes_on "the node is back: frames go on"

for round in 1 2; do
	m=
	mastered() { m=$(ctl a2 status | sed -n 's/^\([a-z0-9]*\), master.*/\1/p') && [ -n "$m" ]; }
	testbed_wait 20 "a master" mastered || fail "nobody is master"
	read -r pid <"$TB_DIR/pid-spd-$m" && kill -9 "$pid" || fail "the daemon of $m is not there"
	testbed_wait 20 "$m to be down" down "$m"
	goes_on "master $m is killed: frames go on"
	start "$m"
	testbed_wait 30 "$m to be back" up "$m"
	verdict "its daemon is started again, and claims its address" "$(up "$m" || ctl a2 status)" "${UNITS[@]/#/spd-}"
done
goes_on "frames go on"

if [ "$RELAYS" = 2 ]; then
	agreed() { ctl a2 status | sed -n 's/.*: \(view [0-9]*\),.*/\1/p'; }
	for fe in "${relays[@]}"; do
		before=$(agreed)
		kill_relay "$fe"
		goes_on "relay $fe dies: frames go on by the other one"
		verdict "nobody was silent for others" "$(now=$(agreed); [ "$before" = "$now" ] || echo "$before, then $now")"
		testbed_relayd "$B" "$fe" || fail "relayd: does not start again"
		goes_on "relay $fe is there again: frames go on"
	done
else
	# The relay of the filter's site: its units are silent for the others, and come back with it.
	kill_relay bfe0
	silent() { down b0 && down b1; }
	testbed_wait 30 "west to be silent" silent
	verdict "the relay of a site dies: its units are down" "$(silent || ctl a2 status)" "${UNITS[@]/#/spd-}"
	unheard() { ctl b0 status | grep -q 'other sites do not reach b0: '; }
	testbed_wait 20 "b0 to say so" unheard
	verdict "a unit there says that others do not reach it, and why" "$(unheard || ctl b0 status)"
	before=$(came)
	testbed_relayd "$B" bfe0 || fail "relayd: does not start again"
	back() { up b0 && up b1; }
	testbed_wait 40 "west to be back" back
	verdict "the relay is started again: they are back" "$(back || ctl a2 status)" "${UNITS[@]/#/spd-}"
	goes_on "frames go on" "$before"
fi

sites_end
exit $rc
