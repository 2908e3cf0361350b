#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One job, every byte checked, over two relays whose legs are in VLANs: relay a has both legs at one
# port, relay b a port for each.  The switches take the tags off, as access ports of a site do.  With
# IPV6=1 nodes have IPv6 alone, too.
# ipv6: yes
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root vlan-job
B=$(realpath "${B:-build/gcc}")
[ -z "${IPV6:-}" ] || IPV6_INSIDE='a b'
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
NODES=1
# access NODE PORT VLAN TO BRIDGE: this VLAN of a switch's port, untagged, into a bridge of namespace
# TO; nothing else of the port goes through its own switch from now on.
access() {
	local mtu=$MTU_WAN from=$TB_ID-$1 to=$TB_ID-$4 i
	[ "$4" = wan ] || mtu=$MTU_IN
	ip -n "$from" link set "$2" nomaster
	ip netns exec "$from" timeout 140 python3 test/smoke/_vlan.py "$2" "$3" "$to" "$2.$3" "$mtu" &
	TAGGERS+=($!)
	for ((i = 0; i < 200; i++)); do
		ip -n "$to" link set "$2.$3" master "$5" up 2>/dev/null && return
		sleep 0.1
	done
	return 1
}
TAGGERS=()
testbed_up || fail "testbed: not built"
access asw f0 10 asw br0 && access asw f0 20 wan wanA &&
	access bsw f0 10 bsw br0 && access wan bfe0 20 wan wanB ||
	fail "switches: no VLANs"
testbed_wanem "$B/bin/wanem" || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
TB_VLAN_IN=10 TB_VLAN_WAN=20
TB_ONE_PORT=1 testbed_relayd "$B" afe0 || fail "relayd: does not start"
testbed_relayd "$B" bfe0 || fail "relayd: does not start"

testbed_job "$B" job env LIBMPI_STATS=1 "$B/examples/pingpong" --quick --max 262144
for side in a b; do
	wait "$(cat "$TB_DIR/pid-job-$side")"
	succeeded $? "cluster $side: the job runs"
done
for fe in afe0 bfe0; do
	at=$(testbed_inside $fe)
	! testbed_six_inside $fe || at="\\[$at\\]"
	verdict "cluster ${fe:0:1} reaches its relay by what it has" \
		"$(grep -q "path $at:" "$TB_LOG/job-${fe:0:1}.log" || echo "no path $at")"
done
verdict "bytes are checked" "$(grep -q 'every byte checked' "$TB_LOG/job-a.log" || echo "the program does not say so")"
kill -USR1 "$(cat "$TB_DIR/pid-relayd-afe0")"
testbed_wait 10 "the statistics of relay a" test -s "$TB_DIR/afe0.json"
for fe in afe0 bfe0; do
	testbed_stop "relayd-$fe"
	succeeded $? "$fe: ends cleanly"
done
# frames LEG: received by relay a, and of them those of no VLAN of its own
frames() {
	python3 -c 'import json, sys
leg = json.load(open(sys.argv[1]))["legs"][sys.argv[2]]
print(leg["rx_frames"], leg["rx_suci"], leg["rx_drops"]["vlan"])' "$TB_DIR/afe0.json" "$1"
}
for leg in private global; do
	read -r all suci other < <(frames $leg)
	echo "relay a, $leg leg: $all frames came, $suci of Suci, $other of another VLAN"
	verdict "$leg leg: its own frames came" "$([ "${suci:-0}" -gt 50 ] || echo "$suci datagrams")"
done
kill "${TAGGERS[@]}"
wait "${TAGGERS[@]}" 2>/dev/null
testbed_down
verdict "nothing is left" "$(testbed_leftovers)"
exit $rc
