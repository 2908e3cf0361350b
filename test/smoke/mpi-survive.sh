#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Jobs of two clusters with two relays each, which survive deaths: ranks and relays are killed in
# turn, seeded, while examples/survivor computes.  Each job ends, and with the right result.
#
#	KILLS=4		so many altogether, in as many jobs as that takes
#	SEED=1		of these
#	RANKS=3		ranks in each cluster
#	DETECT_MS=500	silence that counts as death, in relays and processes
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${KILLS:=4}" "${SEED:=1}" "${RANKS:=3}" "${DETECT_MS:=500}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

NODES=1 RELAYS=2 PPN=$RANKS
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
TB_RELAY_CONF="\"suci\": { \"liveness_ms\": $DETECT_MS, \"keepalive_ms\": $((DETECT_MS / 4)) },
\"trunks\": { \"partition_timeout_s\": 4 }"
relays=(afe0 afe1 bfe0 bfe1)
testbed_relayd "$B" "${relays[@]}" || fail "relayd: does not start"

gone() { ! testbed_alive "$1"; }
over() { gone job-a && gone job-b; }
begun() { grep -q 'ranks begin' "$TB_LOG"/job-[ab].log || over; }
ranks() { # CLUSTER...: their process ids
	local c p
	for c in "$@"; do
		for p in $(ip netns pids "$TB_ID-${c}0"); do
			[ "$(cat "/proc/$p/comm" 2>/dev/null)" != survivor ] || echo "$p"
		done
	done
}

start() {
	local c
	rm -f "$TB_LOG"/job-[ab].log
	for c in b a; do
		testbed_spawn "${c}0" "job-$c" env PMIX_MCA_ptl_tcp_if_include=lo IMPI_AUTH_NONE=1 \
			"$B/bin/impirun" -client "$(_tb_index "$c")" "$(testbed_addr "${c}fe0"):7811" \
			--launcher "$B/bin/mpirun" --keep-going -n "$RANKS" \
			-x LIBMPI_LIVENESS_MS="$DETECT_MS" "$B/examples/survivor" 40 60
	done
	testbed_wait 40 "the ranks to begin" begun || fail "the job does not start"
}

kill_rank() {
	local pids
	mapfile -t pids < <(ranks a b)
	((${#pids[@]} > 1)) || return
	{ kill -KILL "${pids[RANDOM % ${#pids[@]}]}"; } 2>/dev/null
}

# One relay of four at a time; it is back before the next.
kill_relay() {
	local fe=${relays[RANDOM % ${#relays[@]}]}
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$fe")" && wait "$(cat "$TB_DIR/pid-relayd-$fe")"; } 2>/dev/null
	testbed_nap 0.3
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
}

# finish: the job ends by itself, right.
finish() {
	local why=
	testbed_wait 60 "the end of the job" over || why="a side hangs "
	if [ -n "$why" ]; then
		testbed_stop job-a 3 >/dev/null 2>&1
		testbed_stop job-b 3 >/dev/null 2>&1
	fi
	cat "$TB_LOG"/job-[ab].log | grep -q ': right$' || why+="nobody is right "
	! cat "$TB_LOG"/job-[ab].log | grep ': WRONG$' || why+="somebody is wrong "
	[ -z "$why" ] || tail -n 20 "$TB_LOG"/job-[ab].log
	verdict "job $job, kills so far $killed: ends and is right" "$why"
}

RANDOM=$SEED
killed=0 job=0
while ((killed < KILLS)); do
	job=$((job + 1))
	start
	for ((k = 0; k < 4 && killed < KILLS; k++)); do
		testbed_nap "0.$((RANDOM % 9))"
		! over || break
		if ((killed % 2)); then kill_relay; else kill_rank; fi
		killed=$((killed + 1))
	done
	finish
done
testbed_down
verdict "no process or namespace is left" "$(testbed_leftovers)"
echo "mpi-survive: $killed kills in $job jobs"
exit $rc
