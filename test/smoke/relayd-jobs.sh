#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several jobs at a time through one relay per cluster: impi.ports, one server a port.  Two
# jobs side by side, libmpi's and a foreign one; one of them dies; twenty short ones, two at
# a time, with limits that any leak would reach; a primary relay dies.
# ipv6: yes
# timeout: 400
# shellcheck source=test/interop/relayed.sh
. "$(dirname "$0")/../interop/relayed.sh"
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root relayd-jobs
LIMIT_S=60

tell_logs() { tail -n 12 "$TB_LOG"/{relayd,impi,mpi}*.log "$TB_LOG"/job?/*.log 2>/dev/null; }

part() { # FUNCTION...: in a shell of its own; the testbed ends with it
	(
		trap testbed_on_exit EXIT
		"$@"
		exit $rc
	) || rc=1
}
give_up() {
	verdict "$1" "$2"
	exit 1
}

# JOB (0 or 1) has the relays' port 7811 + JOB and the server at 7810 + JOB.
JOB=0 PRIMARY=0
place_server() {
	case $1 in
	gc*) echo "$TB_SRV:$((7810 + JOB))" ;;
	*) echo "$(testbed_addr "${1:0:1}fe$PRIMARY"):$((7811 + JOB))" ;;
	esac
}
server() { # JOB: for two clients, one job after another
	testbed_spawn srv "impi-server-$1" env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 \
		-port $((7810 + $1)) --persist -v
	testbed_wait 10 "impi-server $1" grep -q ":$((7810 + $1))" "$TB_LOG/impi-server-$1.log"
}
# foreign JOB RANK SCRIPT CLIENT: as client of relayed.sh, then known as JOB RANK, like 01.
foreign() {
	local TB_LOG=$TB_LOG/job$1 JOB=$1
	mkdir -p "$TB_LOG"
	rm -f "$TB_LOG/trace-$2.txt" # of the job before
	# shellcheck disable=SC2086
	client "$2" "$3" '' $4
	mv "$TB_DIR/pid-client-$2" "$TB_DIR/pid-client-$1$2"
}
ends() { # JOB WANTED: of both of its clients; adds to WHY
	local r s
	for r in 0 1; do
		client_status "$1$r"
		s=$?
		[ $s -eq "$2" ] || WHY+="client $r of job $1 ended with $s instead of $2 "
	done
}
packets() { grep -c DATA "$TB_LOG/job$1/trace-0.txt" 2>/dev/null; }
goes_on() { [ "0$(packets "$1")" -gt "$2" ]; } # JOB BEYOND
jobs_of() { "$B/bin/relayctl" -s "$TB_ID-$1" --json jobs | python3 -c 'import json, sys
print(len(json.load(sys.stdin)))'; }
no_jobs() { [ "$(jobs_of "$1")" = 0 ]; }
mpi_gone() { ! testbed_alive mpi-a && ! testbed_alive mpi-b; }
mpi_ends() { # WANTED: 0, or anything else for any other; adds to WHY
	local s side
	testbed_wait "$LIMIT_S" "the job of libmpi to end" mpi_gone || WHY+="the job of libmpi hangs "
	for side in a b; do
		{ wait "$(cat "$TB_DIR/pid-mpi-$side")"; } 2>/dev/null
		s=$?
		[ $((s != 0)) -eq "$1" ] || WHY+="libmpi in cluster $side ended with $s "
	done
}
mpi_started() { grep -q 'every byte checked' "$TB_LOG/mpi-a.log"; }

# Empty in bounded time; then, after SIGTERM, every buffer is back and the core's books balance.
given_back() { # RELAY...
	local fe
	WHY=
	for fe in "$@"; do
		testbed_wait 10 "$fe to forget" no_jobs "$fe" || WHY+="$fe: $(jobs_of "$fe") jobs are left "
		testbed_stop "relayd-$fe" || WHY+="$fe: status $? "
		grep -q 'packet buffers are back' "$TB_LOG/relayd-$fe.log" || WHY+="$fe: buffers are missing "
		grep -qE 'do not add up|not everything|refused on' "$TB_LOG/relayd-$fe.log" &&
			WHY+="$fe: $(grep -E 'do not add up|not everything|refused on' "$TB_LOG/relayd-$fe.log") "
	done
}

place() {
	local fe
	testbed_up && testbed_wanem "$B/bin/wanem" --delay-ms 2 || give_up testbed "not built"
	for fe in "$@"; do
		testbed_relayd "$B" "$fe" || give_up relayd "$fe does not start"
	done
}

side_by_side() {
	local victim before s p fe
	TB_IMPI_PORTS=2
	place afe0 bfe0
	more_addresses b0 && testbed_build || give_up testbed "no more addresses"
	server 0 && server 1 || give_up impi-server "does not start"

	# Job 0 is libmpi's, job 1 foreign; both well.
	WHY=
	testbed_job "$B" mpi "$B/examples/pingpong" --budget-ms 4000
	testbed_wait 30 "the job of libmpi to run" mpi_started || WHY="libmpi does not start "
	foreign 1 0 all_pairs "a0 strict 2"
	foreign 1 1 all_pairs "b0 strict 1+1"
	ends 1 0
	mpi_gone && WHY+="they were not there at the same time "
	mpi_ends 0
	for fe in afe0 bfe0; do
		for p in 7811 7812; do
			testbed_wait 5 "$fe port $p" grep -q "job [0-9]* (port $p): finished" \
				"$TB_LOG/relayd-$fe.log" || WHY+="$fe does not say that port $p's job finished "
		done
	done
	verdict "libmpi and foreign side by side" "$WHY"

	# Two foreign jobs, both well.
	WHY=
	for JOB in 0 1; do
		foreign $JOB 0 mixture "a0 strict,datalen=100 2"
		foreign $JOB 1 mixture "b0 strict 2"
	done
	ends 0 0
	ends 1 0
	verdict "two foreign ones side by side" "$WHY"

	# The foreign one is killed, libmpi's goes on to its good end.
	WHY=
	rm -f "$TB_LOG/mpi-a.log"
	testbed_job "$B" mpi "$B/examples/pingpong" --budget-ms 15000
	testbed_wait 30 "the job of libmpi to run" mpi_started || WHY="libmpi does not start "
	foreign 1 0 endless "a0 strict,datalen=64 2"
	foreign 1 1 endless "b0 strict 1"
	testbed_wait 20 "packets of job 1" goes_on 1 20 || WHY+="job 1 does not run "
	[ "$(jobs_of afe0) $(jobs_of bfe0)" = "2 2" ] || WHY+="relayctl does not show two jobs "
	kill -KILL -- "-$(cat "$TB_DIR/pid-client-11")"
	client_status 10
	s=$?
	[ $s -eq 1 ] || WHY+="the other client of the killed job ended with $s "
	mpi_gone && WHY+="libmpi's job did not outlive it "
	mpi_ends 0
	grep -q '(port 7812, client .*): ended: ' "$TB_LOG/relayd-afe0.log" || WHY+="afe0 does not say so "
	grep -q '(port 7811, client .*): ended: ' "$TB_LOG"/relayd-?fe0.log && WHY+="job 0 was ended "
	verdict "the foreign one is killed, libmpi's goes on" "$WHY"

	# A process of libmpi's is killed, the foreign one goes on.
	WHY=
	rm -f "$TB_LOG/mpi-a.log"
	testbed_job "$B" mpi "$B/examples/pingpong" --budget-ms 60000
	foreign 1 0 endless "a0 strict,datalen=64 2"
	foreign 1 1 endless "b0 strict 1"
	testbed_wait 30 "the job of libmpi to run" mpi_started || WHY="libmpi does not start "
	testbed_wait 20 "packets of job 1" goes_on 1 20 || WHY+="job 1 does not run "
	victim=$(ip netns pids "$TB_ID-b1" | while read -r p; do
		[ "$(cat "/proc/$p/comm")" = pingpong ] && echo "$p"
	done | head -1)
	kill -KILL "$victim" || WHY+="no process of libmpi found "
	mpi_ends 1
	before=$(packets 1)
	testbed_wait 10 "more packets of job 1" goes_on 1 $((before + 200)) || WHY+="job 1 stands still "
	testbed_alive client-10 && testbed_alive client-11 || WHY+="a client of job 1 has ended "
	verdict "libmpi's is killed, the foreign one goes on" "$WHY"
	kill -KILL -- "-$(cat "$TB_DIR/pid-client-11")"
	client_status 10

	given_back afe0 bfe0
	verdict "jobs that died leave nothing" "$WHY"
}

# Both ports at once, ten times: labels, slots and tables for three jobs only.
twenty_jobs() {
	local i n p fe
	TB_IMPI_PORTS=2
	TB_RELAY_CONF='"limits": { "jobs": 3, "procs": 192 }'
	place afe0 bfe0
	server 0 && server 1 || give_up impi-server "does not start"
	WHY=
	for ((i = 0; i < 10 && ${#WHY} == 0; i++)); do
		for JOB in 0 1; do
			foreign $JOB 0 pingpong "a0 strict 1"
			foreign $JOB 1 pingpong "b0 strict 1"
		done
		ends 0 0
		ends 1 0
		# A relay forgets a job a moment after its clients have ended.
		for fe in afe0 bfe0; do
			testbed_wait 5 "$fe to forget" no_jobs $fe || WHY+="$fe: $(jobs_of $fe) jobs are left "
		done
	done
	for fe in afe0 bfe0; do
		for p in 7811 7812; do
			n=$(grep -c "(port $p): finished" "$TB_LOG/relayd-$fe.log")
			[ "$n" -eq 10 ] || WHY+="$fe port $p: $n jobs finished "
		done
	done
	verdict "twenty jobs, two at a time" "$WHY"
	given_back afe0 bfe0
	verdict "twenty jobs leave nothing" "$WHY"
}

# Two relays; the one that holds the client's connection is killed.  All sides end; a job
# needs all relays of the list, so it is started again (systemd does it), and the other one
# is the primary of the next job.
primary_dies() {
	local i end
	RELAYS=2
	place afe0 afe1 bfe0 bfe1
	server 0 || give_up impi-server "does not start"
	foreign 0 0 endless "a0 strict,datalen=64 2"
	foreign 0 1 endless "b0 strict 2"
	testbed_wait 30 "packets" goes_on 0 50 || give_up "primary dies" "the job does not run"
	WHY=
	end=$((SECONDS + 60))
	kill -KILL "$(cat "$TB_DIR/pid-relayd-afe0")"
	ends 0 1
	((SECONDS <= end)) || WHY+="that took $((SECONDS - end + 60)) s "
	grep -qE 'job [0-9]+ of relay 0: ended: relay 10.0.0.254 of cluster a is gone' "$TB_LOG/relayd-afe1.log" ||
		WHY+="afe1 gives no reason "
	for i in 0 1; do
		grep -qE 'ended: (relay 10.0.0.254 of cluster a is gone|.*198\.51\.100\.1[12]|.*lost)' \
			"$TB_LOG/relayd-bfe$i.log" ||
			WHY+="bfe$i gives no reason: $(grep ended: "$TB_LOG/relayd-bfe$i.log") "
		testbed_wait 10 "bfe$i to forget" no_jobs bfe$i || WHY+="bfe$i still has the job "
	done
	testbed_wait 10 "afe1 to forget" no_jobs afe1 || WHY+="afe1 still has the job "
	verdict "a primary relay dies" "$WHY"

	WHY=
	PRIMARY=1
	foreign 0 0 all_pairs "a0 strict 2"
	foreign 0 1 all_pairs "b0 strict 2"
	ends 0 0
	grep -q '(port 7811): client .* 3 relay hosts' "$TB_LOG/relayd-afe1.log" ||
		WHY+="it is not said to go over three relays "
	verdict "a job begins without a relay of the list" "$WHY"
	testbed_relayd "$B" afe0 || give_up "the next job" "afe0 does not start again"
	WHY=
	foreign 0 0 all_pairs "a0 strict 2"
	foreign 0 1 all_pairs "b0 strict 2"
	ends 0 0
	[ "$(grep -c '(port 7811): running' "$TB_LOG/relayd-afe1.log")" = 2 ] || WHY+="afe1 was not its primary "
	verdict "the other relay serves the next job" "$WHY"
	given_back afe0 afe1 bfe0 bfe1
	verdict "a relay's death leaves nothing" "$WHY"
}

[ $# -gt 0 ] || set -- side_by_side twenty_jobs primary_dies
for p in "$@"; do part "$p"; done
exit $rc
