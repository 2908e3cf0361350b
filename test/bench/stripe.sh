#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Bandwidth of one pair of processes over 1, 2 and 4 relays per cluster, policy stripe: with a
# line of some rate to each relay, where more relays are more lines, and with nothing but the
# machine in the way, where they are more work for the same cores.  Prints a table and writes
# build/bench/stripe.json.
#
#	ROUNDS=3			best of so many
#	RATES='20mbit 100mbit off'	rates, off: nothing in the way
#	MS=1400				a message is the largest power of two that one line carries
#					in that time; 16 MiB with off
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
: "${ROUNDS:=3}" "${RATES:=20mbit 100mbit off}" "${MS:=1400}"
out=build/bench
mkdir -p "$out"
. tools/testbed/lib.sh

fail() {
	tail -n 10 "$TB_LOG"/*.log
	echo "stripe: $1"
	exit 1
}
gone() { ! testbed_alive "$1"; }
NODES=1 PPN=1

# run RELAYS RATE|off BYTES: sets MBS, the best of ROUNDS.
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
		testbed_job "$B" "pp$i" "$B/examples/pingpong" --max "$3" --budget-ms 6000
		testbed_wait 90 "the job" gone "pp$i-a" || fail "the job does not end"
		MBS=$(awk -v best="$MBS" '$1 ~ /^[0-9]+$/ { v = $NF } END { print (v > best ? v : best) }' "$TB_LOG/pp$i-a.log")
	done
	testbed_down
}

rows=()
printf '%-28s %8s %10s %10s\n' "one pair" KiB MB/s "of one"
for rate in $RATES; do
	mbit=${rate%mbit} bytes=16777216 name="nothing in the way"
	if [ "$rate" != off ]; then
		for ((bytes = 1024; bytes * 2 <= mbit * 125 * MS; bytes *= 2)); do :; done
		name="$mbit Mbit/s each"
	fi
	for n in 1 2 4; do
		run $n "$rate" $bytes
		[ $n = 1 ] && one=$MBS
		of_one=$(awk -v v="$MBS" -v one="$one" 'BEGIN { printf "%.2f", v / one }')
		printf '%-28s %8d %10.1f %9sx\n' "$n relays, $name" $((bytes >> 10)) "$MBS" "$of_one"
		rows+=("{ \"relays\": $n, \"line\": \"$rate\", \"bytes\": $bytes, \"mb_per_s\": $MBS, \"of_one\": $of_one }")
	done
done
(
	IFS=,
	echo "[${rows[*]}]"
) | python3 -m json.tool >"$out/stripe.json"
echo "JSON: $out/stripe.json"
