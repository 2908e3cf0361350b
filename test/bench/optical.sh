#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# optical.sh BUILD_DIR: Linear broadcast of 1 MiB by light in real time - Open vSwitch in userspace with
# 10 ms more -, pipelined and cached against batched and naive, taking turns in one run; beside what
# obsim says for the gamma and c of this machine.  Then from how many bytes on light is
# faster than packets here, beside what the controller computes.  Tables and
# build/bench/optical.json.  Needs root.
#
#	SIZES='6' (clusters) ROUNDS=6 CALLS=9 BYTES=1048576 LIGHT_RATE=500mbit LIGHT_EXTRA_MS=10
#		All relays and the switch share this machine: with more clusters or faster lines its cores,
#		not the ports, are what messages wait for, and a hand-over costs the message beside it.
#	MODES='naive batched pipelined cached'	batched and one of the last two must be among them
#		Every second round takes them the other way round.
#	BAR=0.75	status 1 if at the last size neither pipelined nor cached comes to it: the median
#			of the rounds' ratios to batched, for the machine's speed swings from minute to minute
#	SKIP_POINT=1	not the switch point
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
: "${SIZES:=6}" "${ROUNDS:=6}" "${CALLS:=9}" "${BYTES:=1048576}" "${BAR:=0.75}" "${MODES:=naive batched pipelined cached}"
: "${LIGHT_RATE:=500mbit}" "${LIGHT_EXTRA_MS:=10}"
out=$PWD/build/bench
mkdir -p "$out" && rm -f "$out"/optical*
# Jumbo frames everywhere: of what costs time here most is per frame.
NODES=1 RELAYS=1 LIGHT_PORTS=2 MTU_WAN=9000
TB_RELAY_CONF='"suci": { "global_mtu_start": 9000 }'
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# The machine may have other things to do; relays have processors of their own elsewhere, so processes
# give way to them at once (a nice value alone lets them end their slice first), and wait asleep.
renice -n -15 -p $$ >/dev/null

fail() {
	tail -n 8 "$TB_LOG"/*.log
	echo "optical: $1" >&2
	exit 1
}
letters() { echo a b c d e f g h i j k l m n o p | cut -d' ' -f"1-$1"; }
# turn ROUND: the modes in its order.
turn() { if (($1 % 2)); then printf '%s\n' $MODES | tac; else printf '%s\n' $MODES; fi; }
# run NAME MODE BYTES: the broadcast in that mode; its line in OUT/optical-NAME.txt.
run() {
	testbed_light_job "$B" "$1" "$2" 90 -x LIBMPI_STATS=1 -x LIBMPI_MTU=9000 \
		-x LIBMPI_COLL_RULES="$TB_DIR/linear.json" -x LIBMPI_SPIN_US=20 chrt --idle 0 "$B/examples/collectives" \
		--ops bcast --bytes "$3" --calls "$CALLS" || fail "mode $2, $3 bytes: status $?"
	sed -n "s/^bcast/$2/p" "$TB_LOG/$1-a.log" >>"$out/optical-$4.txt"
	awk '/light:/ && $(NF - 6) + 0 > 0 { print "optical: messages without an answer:", $0 }' "$TB_LOG/$1-a.log"
}
up() {
	local c
	testbed_light_up "$B" || fail "no testbed"
	# Each turn of a port is a chain of hand-overs between relays: none waits for a scheduler's slice, and
	# control, which has little to do, not for data.
	for c in $CLUSTERS; do
		chrt --all-tasks --fifo -p 1 "$(cat "$TB_DIR/pid-relayd-${c}fe0")" >/dev/null 2>&1
		chrt --fifo -p 2 "$(cat "$TB_DIR/pid-relayd-${c}fe0")" >/dev/null 2>&1
	done
	echo '[ { "op": "bcast", "algorithm": "linear" } ]' >"$TB_DIR/linear.json"
}
circuits() { "$B/bin/relayctl" -s "$TB_ID-afe0" --json circuits "$@"; }

for n in $SIZES; do
	CLUSTERS=$(letters "$n")
	up
	for ((i = 0; i < ROUNDS; i++)); do
		for mode in $(turn "$i"); do run "$mode$i" "$mode" "$BYTES" "$n"; done
	done
	circuits --log >"$out/optical-$n-log.json"
	circuits >"$out/optical-$n.json"
	testbed_down
done
if [ -z "${SKIP_POINT:-}" ]; then
	# Packets of 200 Mbit/s and 2 ms, one destination: where does light begin to pay?
	CLUSTERS='a b' WAN_DELAY_MS=2 WAN_RATE=2e8
	up
	for bytes in 32768 65536 131072 262144 524288 1048576 2097152; do
		for mode in off naive hybrid; do run "$mode$bytes" $mode $bytes point; done
	done
	circuits --log >"$out/optical-point-log.json"
	testbed_down
fi
python3 test/bench/report-optical.py "$out" "$BAR" "$LIGHT_EXTRA_MS" "$LIGHT_RATE" "$SIZES" "$B/bin/obsim"
