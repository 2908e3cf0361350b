#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two clusters with two light ports each, and optical.links_max 2: both links are lit at once and carry.
# A port that is withdrawn takes its own link and no other; when it is back there are two again.  Two
# links are faster than one.  The job is right all the time.
# ipv6: yes
# timeout: 240
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root light-links
need_openvswitch light-links
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

tell_logs() {
	tail -n 12 "$TB_LOG"/relayd-*.log "$TB_LOG"/job-*.log
	ctl afe0 circuits
	ctl afe0 circuits --log | tail -n 25
}
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; } # FRONTEND COMMAND...
circuits() { ctl afe0 --json circuits | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
more() { [ "$(circuits "$1")" -gt "$2" ]; } # FIELD THAN
# "X-Y" of each link that is up, by its ports of the switch.
links() {
	ctl afe0 --json circuits | python3 -c 'import json, sys
v = json.load(sys.stdin)
for l in sorted(v["links"], key=lambda l: l["x"]):
    if l["state"] == "up":
        print("%d-%d" % (l["x"], l["y"]))'
}
are() { [ "$(links | paste -sd' ')" = "$1" ]; }
two() { [ "$(links | wc -l)" = 2 ]; }
over() { [ "$(links | wc -l)" = 1 ] && ! links | grep -qE "(^|-)$1($|-)"; } # PORT: one link, and not over that one
sent() { # FRONTEND SLOT: bytes by light
	ctl "$1" --json lights | python3 -c 'import json, sys
print(next(l["tx_bytes"] for l in json.load(sys.stdin)["lights"] if l["slot"] == int(sys.argv[1])))' "$2"
}
shines() { [ "$(sent "$1" "$2")" -gt "$3" ]; } # FRONTEND SLOT THAN
# Each of these slots of both relays sends, after now.
carry() { # SLOT...
	local fe slot was
	for fe in afe0 bfe0; do
		for slot in "$@"; do
			was=$(sent $fe "$slot")
			testbed_wait 20 "500 KB more over light$slot of $fe" shines $fe "$slot" $((was + 500000)) || return
		done
	done
}
goes_on() { # calls and messages by light
	local calls light
	calls=$(circuits calls) light=$(circuits by_light)
	testbed_wait 20 "calls" more calls $((calls + 3)) && testbed_wait 20 "messages by light" more by_light $((light + 3))
}

# Ports 0 and 1 lead to a, 2 and 3 to b.
CLUSTERS='a b' NODES=1 RELAYS=1 LIGHT_PORTS=2 LIGHT_RATE=100mbit LIGHT_EXTRA_MS=2 LIGHT_MODE=cached LIGHT_CONF='"links_max": 2'
testbed_light_up "$B" || fail "no testbed"
rm -f "$TB_DIR/enough"
LIBMPI_OPTICAL=cached testbed_job "$B" job "$B/test/mpi/failover" 3600 400000 "$TB_DIR/enough"
testbed_wait 30 "two links" two || fail "the two clusters have no two links"
carry 0 1 || fail "a link of two carries nothing"
(($(circuits extra_links) > 0)) || fail "two links, and extra_links is 0"
pass "two links: $(links | paste -sd' '), and both carry"

was=$(links | grep -v '^0-')
said=$(ctl afe0 circuits withdraw 0) && [ "$said" = "port 0 of the switch: dark" ] || fail "withdraw 0: $said"
testbed_wait 20 "the other link alone" over 0 || fail "not the other link alone: $(links | paste -sd' ')"
are "$was" || fail "the link $was has gone with the other: $(links | paste -sd' ')"
goes_on && carry 1 || fail "the job does not go on by the link that is left"
pass "one withdrawn: it goes alone, and the other carries"

ctl afe0 circuits restore 0 >/dev/null || fail "restore"
testbed_wait 30 "two links again" two || fail "no second link after the port is back"
carry 0 1 || fail "a link of two carries nothing after the port is back"
pass "restored: two links again"

touch "$TB_DIR/enough"
gone() { ! testbed_alive "job-$1"; }
for s in a b; do
	testbed_wait 20 "the end of job-$s" gone $s || fail "side $s hangs"
	wait "$(cat "$TB_DIR/pid-job-$s")" || fail "side $s ended with status $?"
done
grep -q '^ok' "$TB_LOG/job-a.log" || fail "the job does not say ok"
pass "the job was right all the time: $(grep '^ok' "$TB_LOG/job-a.log")"

# ---- two links are faster
took() { # NAME: the least time of a broadcast of 2 MB, in us
	testbed_light_job "$B" "$1" cached 60 "$B/examples/collectives" --ops bcast --bytes 2000000 --calls 8 &&
		awk '$1 == "bcast" { printf "%d\n", 1000 * $3 }' "$TB_LOG/$1-a.log"
}
least() { if [ -z "$1" ] || (($2 < $1)); then echo "$2"; else echo "$1"; fi; }
one='' two_links=''
# What else runs makes calls slower, never faster: the least of each, of as many rounds as it takes.
for round in 1 2 3 4 5 6; do
	ctl afe0 circuits withdraw 1 >/dev/null || fail "withdraw"
	t=$(took "one-$round") && [ -n "$t" ] || fail "one link: status $?"
	one=$(least "$one" "$t")
	ctl afe0 circuits restore 1 >/dev/null || fail "restore"
	t=$(took "two-$round") && [ -n "$t" ] || fail "two links: status $?"
	two_links=$(least "$two_links" "$t")
	((100 * two_links > 65 * one)) || break
done
echo "2 MB: $one us by one link, $two_links us by two, in $round rounds"
((100 * two_links <= 65 * one)) || fail "two links take $two_links us, one $one: no gain"
pass "two links: $((100 * two_links / one)) % of the time of one"
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"
