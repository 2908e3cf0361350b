# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scenarios in which relays and cables fail under a job that checks every byte,
# test/mpi/failover: they set B, DETECT_MS and, at each time, policy.
# shellcheck shell=bash
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
worst=0 over=0 # longest stall of all, and how many were longer than they may be

# --- the job ------------------------------------------------------------------
says() { grep -q "$1" "$TB_LOG/job-a.log"; } # PATTERN
gone() { ! testbed_alive "$1"; }
start() {
	rm -f "$TB_DIR"/enough* "$TB_LOG/job-a.log"
	testbed_job "$B" job -x LIBMPI_LIVENESS_MS="$DETECT_MS" "$B/test/mpi/failover" 3600 \
		1048576 "$TB_DIR/enough"
	testbed_wait 40 "the job to run" says '^running' || fail "the job does not start"
}

# ended SECONDS WANTED: sets WHY; both sides ended in that time, with 0 or not.
ended() {
	local s st
	WHY=
	for s in a b; do
		testbed_wait "$1" "the end of job-$s" gone job-$s
		if gone job-$s; then
			{ wait "$(cat "$TB_DIR/pid-job-$s")"; } 2>/dev/null
			st=$?
			[ $((st != 0)) = "$2" ] || WHY+="side $s ended with status $st "
		else
			WHY+="side $s hangs "
			testbed_stop job-$s 3 >/dev/null 2>&1
		fi
	done
}

finish() { # NAME: the job is to end well now
	touch "$TB_DIR/enough"
	ended 30 0
	[ -n "$WHY" ] || says '^ok' || WHY="it does not say ok"
	[ -n "$WHY" ] || sed -n "s/^[0-9]* rounds/$1: &/p" "$TB_LOG/job-a.log"
	verdict "$1: nothing lost, nothing twice, nobody hangs" "$WHY"
}

left() { # NAME: take it down; is anything of it still there?
	testbed_down
	verdict "$1: no process or namespace is left" "$(testbed_leftovers)"
}

# --- relays -------------------------------------------------------------------
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
sent() { ctl "$1" status | awk '$1 == "global/tx_frames" { print $2 }'; }
busy() { (($(sent "$1") > $2 + 100)); }
takes_load() { # FRONTEND
	local n
	n=$(sent "$1")
	testbed_wait 15 "$1 to take load" busy "$1" "${n:-0}" && return
	verdict "$policy: $1 takes load again" "it does not"
}

pause=$(awk -v ms="$DETECT_MS" 'BEGIN { print 0.6 + 1.5 * ms / 1000 }')

# event NAME COMMAND...: the job goes on; prints how long it stood still at most since then.  With
# since=$told: since the end of the last one; with most=MS: it may stand still so long.
event() {
	local name=$1 before late= most=${most:-$((3 * DETECT_MS))}
	shift
	before=${since:-$(wc -l <"$TB_LOG/job-a.log")}
	"$@"
	sleep "$pause"
	told=$(wc -l <"$TB_LOG/job-a.log")
	stall=$(sed -n "$((before + 1)),${told}p" "$TB_LOG/job-a.log" |
		awk '$1 == "stall" && $2 > m { m = $2 } END { print m + 0 }')
	((stall <= worst)) || worst=$stall
	((stall <= most)) || { late=", OVER $most ms"; over=$((over + 1)); }
	echo "$policy $name: stood still $stall ms at most$late"
	if gone job-a || gone job-b; then
		verdict "$policy $name" "the job has ended"
		return 1
	fi
}
