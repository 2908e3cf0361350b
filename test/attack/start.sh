# SPDX-License-Identifier: BSD-2-Clause
# Sourced by test/attack/run: kill -9 while a job starts, at events that logs name.  Each row is a
# start; the short form has one for each program.
# shellcheck shell=bash

START_S=60 # a start that cannot succeed ends within this, on both sides

# pids_of NODE NAME: its processes there.
pids_of()
{
	local p
	for p in $(ip netns pids "$TB_ID-$1"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != "$2" ] || echo "$p"
	done
}
there() { [ -n "$(pids_of "$1" "$2")" ]; }
side_ended() { ! testbed_alive "job-$1"; }


# The events of a start in their order: whose log, what it says then, where.
events='
client relayd-afe0 client .* connected, for the server
joined impi-server : joined, 1 of 2
gathered impi-server all 2 clients are here
sized relayd-afe0 processes of .* are ours
started impi-server start-up complete, the job runs
up relayd-afe0 : running$
runs job-a ^running'

# doomed EVENT NODE PROGRAM: kills that program as soon as the event is said; who was killed.
doomed()
{
	local log pattern
	read -r _ log pattern <<<"$(grep "^$1 " <<<"$events")"
	[ -e "$TB_LOG/$log.log" ] || : >"$TB_LOG/$log.log"
	python3 "$HERE/doom.py" "$TB_LOG/$log.log" "$pattern" "$START_S" "/run/netns/$TB_ID-$2" "$3"
}
neither() { side_ended "$1" || job_says '^running'; }

# start_kill PROGRAM NODE EVENT: NODE's PROGRAM is killed at the event.  The job runs and ends well, or
# both sides end by themselves and say why.
start_kill()
{
	local program=$1 node=$2 event=$3 s why='' ran='' killer
	rm -f "$TB_DIR"/enough* "$TB_LOG"/job-*.log
	rm -f "$TB_DIR/doomed" # else the word of the row before is taken for this one
	doomed "$event" "$node" "$program" >"$TB_DIR/doomed" 2>&1 &
	killer=$!
	testbed_wait 20 "the killer to wait" grep -q waiting "$TB_DIR/doomed"
	testbed_job "$B" job -x LIBMPI_LIVENESS_MS=$LIVE_MS -x LIBMPI_JOIN_TIMEOUT_S=20 \
		"$B/test/mpi/failover" 3600 65536 "$TB_DIR/enough" $PAUSE_MS
	wait "$killer" || why="; nobody was killed: $(tail -1 "$TB_DIR/doomed")"
	for s in a b; do
		testbed_wait "$START_S" "side $s" neither $s 2>/dev/null || why+="; side $s neither runs nor ends"
	done
	# Whoever is dead is found out within this; else the job goes on.
	sleep $((2 * LIVE_MS / 1000))
	case "$program $node" in
	mpirun* | failover* | *bfe0) ;; # cluster B has no other one
	*) ! job_says '^running' || ! job_lives || ran=1 ;;
	esac
	if [ -n "$ran" ]; then
		why+=$(job_end | sed 's/^/; /')
	else
		for s in a b; do
			testbed_wait "$START_S" "the end of side $s" side_ended $s 2>/dev/null || why+="; side $s hangs"
		done
		# Who was killed says nothing, but the other side does.
		grep -qE 'ending the job|impirun:|libmpi:|relay|PMIX|ORTE' "$TB_LOG"/job-[ab].log || why+="; nobody says why"
	fi
	job_kill
	for s in a0 a1 b0 b1; do
		testbed_wait 10 "ranks to go" eval "! there $s failover" 2>/dev/null || why+="; ranks are left on $s"
	done
	printf '%-18s %s killed at "%s": %s\n' "start-$program" "$program" "$event" \
		"$([ -n "$ran" ] && echo "runs, and ends well" || grep -hE 'ending the job|impirun:|libmpi:|relay' "$TB_LOG"/job-[ab].log | head -1 | cut -c1-150)"
	verdict "$program killed at \"$event\"" "${why#; }" job-a job-b impi-server relayd-afe0 relayd-bfe0
	relays_back
	server_back
}
server_back()
{
	there srv impi-server || testbed_server "$B"
}

start_kills()
{
	local event
	if [ "$S" -lt "$LONG_S" ]; then
		start_kill impi-server srv joined
		start_kill relayd bfe0 gathered
		start_kill failover b0 sized
		start_kill mpirun b0 started
		return
	fi
	for event in $(awk '{ print $1 }' <<<"$events"); do
		[ "$event" = client ] || start_kill impi-server srv "$event"
		start_kill relayd afe1 "$event"
		start_kill relayd bfe0 "$event"
		start_kill failover b0 "$event"
		start_kill mpirun b0 "$event"
	done
}
