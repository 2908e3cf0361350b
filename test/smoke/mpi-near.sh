#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Jobs of one machine that meet talk through shared memory; those of another user, of another view
# of the machine, or with LIBMPI_TRANSPORT=udp, by UDP.  What is killed leaves nothing behind, and
# the others hear of it.
# ipv6: no, because no relay is started
# timeout: 180
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
RUN=$B/bin/mpirun NEAR=$B/test/mpi/near
WORK=$(mktemp -d)
export TMPDIR=$WORK LIBMPI_STATS=1
chmod 777 "$WORK"
trap 'rm -rf "$WORK"' EXIT
tell_logs() { tail -n 12 "$WORK"/*.out | sed 's/^/      | /'; }
shm() { ls -A /dev/shm | sort; }
shm >"$WORK/before"

# went WAY NOT FILE...: messages of other jobs went that way, and not the other one.
went() {
	local way=$1 not=$2
	shift 2
	grep -qE "^libmpi: \[[0-9]+\] $way sent" "$@" || WHY="no message went by $way"
	! grep -qE "^libmpi: \[[0-9]+\] $not sent [1-9]" "$@" || WHY="messages went by $not"
}
ok() { grep -q '^ok,' "$1" || WHY="$1 does not say ok"; }

# spawned WHAT WAY NOT [SETTING...]: not a row of test/mpi/rows, see mpirun.sh.
spawned() {
	local what=$1 way=$2 not=$3
	shift 3
	WHY=
	timeout -k 5 60 env "$@" "$RUN" -n 2 "$NEAR" >"$WORK/one.out" 2>&1 </dev/null || WHY="status $?"
	[ "$WHY" ] || { ok "$WORK/one.out" && went "$way" "$not" "$WORK/one.out"; }
	verdict "$what" "$WHY"
}
spawned "who is spawned talks through shared memory" shm direct
spawned "the same where copies between processes are forbidden" shm direct LIBMPI_CMA=0
spawned "and where a thread makes progress" shm direct LIBMPI_PROGRESS=thread
spawned "LIBMPI_TRANSPORT=udp keeps UDP" direct shm LIBMPI_TRANSPORT=udp

# connected WHAT WAY NOT OTHER...: jobs of two and of one; OTHER starts the one that connects.
connected() {
	local what=$1 way=$2 not=$3
	shift 3
	rm -f "$WORK/port"
	WHY=
	timeout -k 5 60 "$RUN" -n 1 "$NEAR" accept "$WORK/port" >"$WORK/one.out" 2>&1 </dev/null &
	timeout -k 5 60 "$@" "$RUN" -n 1 "$NEAR" connect "$WORK/port" >"$WORK/two.out" 2>&1 </dev/null || WHY="who connects: status $?"
	wait $! || WHY="who accepts: status $?"
	[ "$WHY" ] || { ok "$WORK/one.out" && ok "$WORK/two.out" && went "$way" "$not" "$WORK/one.out" "$WORK/two.out"; }
	verdict "$what" "$WHY"
}
connected "two jobs connect through shared memory" shm direct env
connected "not one with a bound on paths" direct shm env LIBMPI_PATHS_MAX=2
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$WORK" && mkdir -m 777 "$WORK/nobody"
	chmod 777 "$WORK"
	connected "a job of another user is met by UDP" direct shm \
		setpriv --reuid 65534 --regid 65534 --clear-groups env TMPDIR="$WORK/nobody" XDG_RUNTIME_DIR="$WORK/nobody"
	connected "so is one with another view of IPC" direct shm unshare --ipc
	connected "so is one with other pids" direct shm unshare --pid --fork --mount-proc
else
	echo "SKIP mpi-near: another user, other views: needs root; run it with sudo"
fi

# ---- deaths.  pids FILE...: two wait or more, PIDS
pids() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ -n "$(jobs -pr)" ] || return 1
		mapfile -t PIDS < <(sed -n 's/^waits //p' "$@" 2>/dev/null)
		[ ${#PIDS[@]} -lt 2 ] || return 0
		sleep 0.1
	done
	return 1
}
# dies WHAT SAYS [OPTION...]: who accepts is killed.
dies() {
	local what=$1 says=$2
	shift 2
	rm -f "$WORK/port"
	WHY=
	timeout -k 5 60 "$RUN" "$@" -n 1 "$NEAR" wait accept "$WORK/port" >"$WORK/one.out" 2>&1 </dev/null &
	local one=$!
	timeout -k 5 60 "$RUN" "$@" -n 1 "$NEAR" wait connect "$WORK/port" >"$WORK/two.out" 2>&1 </dev/null &
	local two=$! from
	if pids "$WORK/one.out" "$WORK/two.out"; then
		from=${EPOCHREALTIME/./}
		kill -9 "$(sed -n 's/^waits //p' "$WORK/one.out")"
		wait "$two"
		[ $((${EPOCHREALTIME/./} - from)) -lt 4000000 ] || WHY="it takes $((${EPOCHREALTIME/./} - from)) us"
		grep -qE "$says" "$WORK/two.out" || WHY="the other job does not say: $says"
	else
		kill "$two" "$one"
		WHY="the jobs do not meet"
	fi
	wait "$one" "$two"
	verdict "$what" "$WHY"
}
dies "who is connected to a job that is killed ends, and says why" \
	'process 0 of a job that this one is connected to .* (is gone|was restarted|is not there|closed the path)'
dies "who survives deaths hears of it" '^failed after' --keep-going

# All at once: nobody can clean up.
rm -f "$WORK/port"
timeout -k 5 60 "$RUN" -n 2 "$NEAR" wait >"$WORK/one.out" 2>&1 </dev/null &
one=$!
WHY=
pids "$WORK/one.out" || WHY="the jobs do not meet"
if [ -z "$WHY" ]; then
	kill -9 "${PIDS[@]}" 2>/dev/null
fi
wait "$one"
shm | diff "$WORK/before" - >"$WORK/shm.out" || WHY="${WHY:-/dev/shm is not as before: $(cat "$WORK/shm.out")}"
verdict "all of two jobs are killed, and nothing is left in /dev/shm" "$WHY"
exit $rc
