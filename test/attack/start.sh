# Sourced by test/attack/run: kill -9 while a job starts.  Long form only: each row is a start.
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

# start_kill NAME NODE PROGRAM AFTER: NODE's PROGRAM is killed AFTER seconds after the first rank of
# cluster B is there.  The job runs and ends well, or both sides end by themselves and say why.
start_kill()
{
	local name=$1 node=$2 program=$3 after=$4 s why='' victims ran=
	rm -f "$TB_DIR"/enough* "$TB_LOG"/job-*.log
	testbed_job "$B" job -x LIBMPI_LIVENESS_MS=$LIVE_MS -x LIBMPI_JOIN_TIMEOUT_S=20 \
		"$B/test/mpi/failover" 3600 65536 "$TB_DIR/enough"
	testbed_wait 60 "a rank" there b0 failover 2>/dev/null || why="; no rank starts"
	testbed_nap "$after"
	victims=$(pids_of "$node" "$program")
	[ -n "$victims" ] || why+="; there is no $program on $node"
	# shellcheck disable=SC2086
	kill -KILL $victims 2>/dev/null
	# Without a rank it cannot run; where none of its processes had joined, the others wait for it.
	for s in a b; do
		[ "$program" != failover ] || break
		testbed_wait "$START_S" "side $s" eval "side_ended $s || job_says '^running'" 2>/dev/null ||
			why+="; side $s neither runs nor ends"
	done
	if [ "$program" != failover ] && job_says '^running' && job_lives; then
		ran=1
		why+=$(job_end | sed 's/^/; /')
	else
		for s in a b; do
			testbed_wait "$START_S" "the end of side $s" side_ended $s 2>/dev/null || why+="; side $s hangs"
			[ -s "$TB_LOG/job-$s.log" ] || why+="; side $s says nothing"
		done
	fi
	job_kill
	for s in a0 a1 b0 b1; do there $s failover && why+="; ranks are left on $s"; done
	printf '%-18s killed %s s after the first rank: %s\n' "$name" "$after" \
		"$([ -n "$ran" ] && echo "runs, and ends well" || grep -hE 'ending the job|impirun:|libmpi:|relay' "$TB_LOG"/job-[ab].log | head -1 | cut -c1-150)"
	verdict "$name after $after s" "${why#; }" job-a job-b impi-server
	relays_back
}
start_kills()
{
	local after
	for after in 0 0.2 1; do
		start_kill start-relayd afe1 relayd $after
		start_kill start-rank b0 failover $after
	done
}
