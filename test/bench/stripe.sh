#!/bin/bash
# Bandwidth of one pair of processes over 1, 2 and 4 relays per cluster, policy stripe: with
# lines of 100 Mbit/s to each relay, where more relays are more lines, and with nothing but the
# machine in the way, where they are more work for the same cores.
#
#	ROUNDS=3	best of so many
#	BYTES=16777216	of a message
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
: "${ROUNDS:=3}" "${BYTES:=16777216}"
. tools/testbed/lib.sh

fail() {
	tail -n 10 "$TB_LOG"/*.log
	echo "stripe: $1"
	exit 1
}
gone() { ! testbed_alive "$1"; }
NODES=1 PPN=1

# run RELAYS RATE|off: sets MBS, the best of ROUNDS.
run() {
	local i c
	RELAYS=$1
	TB_RELAY_CONF='"trunks": { "policy": "stripe" }'
	testbed_up && testbed_wanem "$B/bin/wanem" --delay-ms 1 && testbed_server "$B" || fail "no testbed"
	for ((i = 0; i < RELAYS; i++)); do
		for c in a b; do
			testbed_relayd "$B" ${c}fe$i || fail "relayd does not start"
			[ "$2" = off ] || testbed_slow ${c}fe$i "$2" 200000
		done
	done
	MBS=0
	for ((i = 0; i < ROUNDS; i++)); do
		testbed_job "$B" "pp$i" "$B/examples/pingpong" --max "$BYTES" --budget-ms 6000
		testbed_wait 90 "the job" gone "pp$i-a" || fail "the job does not end"
		MBS=$(awk -v best="$MBS" '$1 ~ /^[0-9]+$/ { v = $NF } END { print (v > best ? v : best) }' "$TB_LOG/pp$i-a.log")
	done
	testbed_down
}

printf '%-28s %10s %10s\n' "one pair, $((BYTES >> 20)) MiB messages" MB/s "of one"
for rate in 100mbit off; do
	for n in 1 2 4; do
		run $n $rate
		[ $n = 1 ] && one=$MBS
		name="$n relays, 100 Mbit/s each"
		[ $rate != off ] || name="$n relays, unlimited"
		awk -v name="$name" -v v="$MBS" -v one="$one" 'BEGIN { printf "%-28s %10.1f %9.2fx\n", name, v, v / one }'
	done
done
