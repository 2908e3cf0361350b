#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Jobs over two clusters with several relays each, while relays die, lose cables, flap, are
# slow, come back, are drained and stopped: test/mpi/failover checks every byte and tells how
# long it stood still.  A job begins while a relay is down.  At last a rank aborts without the
# primary, and all relays of one cluster die: both sides say so and end.
#
#	ROUNDS=20	so many kills per policy, of seeded relays at seeded moments, and nothing
#			else (make bench-failover)
#	KILLS=100	so many kills, each relay that is killed twice within five seconds, beside jobs of
#			eight ranks per cluster, and nothing else: how many jobs are lost
#			(make bench-failover KILLS=100)
#	LOAD=8		so many endless loops per processor beside that
#	SEED=1		of these
#	POLICIES='dest stripe'
#	PPN=4		ranks per node; there are two nodes per cluster
#	DETECT_MS=500	silence that counts as death, in relays and processes
#	ONLY=kill	only what matches; everything if not given is what make check can afford,
#			ONLY=. all kinds of faults under both policies
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${ROUNDS:=0}" "${KILLS:=0}" "${LOAD:=0}" "${SEED:=1}" "${POLICIES:=dest stripe}" "${DETECT_MS:=500}"
logs=${TB_LOG:-} # given: kept, one folder per testbed
kills=0
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_failover.sh
. test/smoke/_failover.sh

up() { # NAME POLICY RELAYS_A RELAYS_B PARTITION_S
	local i
	policy=$2 RELAYS=$3 RELAYS_B=$4
	TB_LOG=${logs:+$logs/$1}
	testbed_up || fail "$1: testbed: not built"
	testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "$1: wanem: does not start"
	testbed_server "$B" || fail "$1: impi-server: does not start"
	TB_RELAY_CONF="\"suci\": { \"liveness_ms\": $DETECT_MS, \"keepalive_ms\": $((DETECT_MS / 4)) },
	\"trunks\": { \"policy\": \"$2\", \"partition_timeout_s\": $5 }"
	relays=()
	for ((i = 0; i < $3; i++)); do relays+=("afe$i"); done
	for ((i = 0; i < $4; i++)); do relays+=("bfe$i"); done
	testbed_relayd "$B" "${relays[@]}" || fail "$1: relayd: does not start"
}

# --- what happens to relays -------------------------------------------------
die() { # FRONTEND
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$1")" && wait "$(cat "$TB_DIR/pid-relayd-$1")"; } 2>/dev/null
	kills=$((kills + 1))
}
back() { testbed_relayd "$B" "$1" || fail "$1 does not start again"; }
flap() { # FRONTEND
	local i
	for i in 1 2 3 4; do
		testbed_cable "$1" wan down
		sleep 0.3
		testbed_cable "$1" wan up
		sleep 0.3
	done
}

# planned NAME UNDO COMMAND FRONTEND: an event that nobody has to find out by silence: it stands
# still for less than a detection.  This machine stands still by itself at times, so one of
# three goes has to; what it is in truth `make sim SCENARIO=drain` knows.
planned() {
	local go
	for go in 1 2 3; do
		event "$1" "$3" "$4" || return
		((stall >= DETECT_MS)) || return 0
		((go == 3)) || event "$1 undone, for another go" "$2" "$4" || return
	done
	verdict "$policy $1: no stall" "it stood still $stall ms, the third time"
}
undrain() { ctl "$1" undrain; } # FRONTEND
drain() { # FRONTEND
	ctl "$1" drain --wait -d 10 >/dev/null || verdict "$policy drain of $1" "it does not get empty"
}
# SIGTERM: the relay leaves its jobs to the others, and ends well.
terminate() { # FRONTEND
	{ testbed_stop "relayd-$1" 8; } >/dev/null 2>&1 || verdict "$policy SIGTERM of $1" "status $?"
	grep -q 'left to the other relays' "$TB_LOG/relayd-$1.log" ||
		verdict "$policy SIGTERM of $1" "it does not leave its job to the others"
}

# fault KIND: one of them, from its beginning to its end.
fault() {
	case $1 in
	kill) event "kill of afe1" die afe1 && event "restart of afe1" back afe1 && takes_load afe1 ;;
	primary) event "kill of the primary" die afe0 && event "restart of the primary" back afe0 && takes_load afe0 ;;
	wan) event "WAN cable out of bfe1" testbed_cable bfe1 wan down && event "and in again" testbed_cable bfe1 wan up ;;
	lan) event "LAN cable out of bfe0" testbed_cable bfe0 lan down && event "and in again" testbed_cable bfe0 lan up ;;
	deaf) event "afe1 hears nothing of the WAN" testbed_deaf afe1 on && event "and hears again" testbed_deaf afe1 off ;;
	flap) event "WAN of afe0 flaps" flap afe0 ;;
	drain) planned "drain of afe1" undrain drain afe1 && planned "undrain of afe1" drain undrain afe1 && takes_load afe1 ;;
	term) planned "SIGTERM of bfe1" back terminate bfe1 && event "restart of bfe1" back bfe1 && takes_load bfe1 ;;
	termprimary) planned "SIGTERM of the primary" back terminate bfe0 && event "restart of the primary" back bfe0 && takes_load bfe0 ;;
	slow) event "bfe0 at 20 Mbit/s" testbed_slow bfe0 20mbit && event "and fast again" testbed_slow bfe0 off ;;
	esac
}

# random_kills N: of seeded relays, one at a time; each comes back before the next.
random_kills() {
	local i fe
	RANDOM=$((SEED * 2 + ${#policy}))
	for ((i = 1; i <= $1; i++)); do
		fe=${relays[RANDOM % ${#relays[@]}]}
		sleep "0.$((RANDOM % 1000))"
		event "kill $i: $fe" die "$fe" || return
		back "$fe"
		takes_load "$fe"
	done
}

# The primary dies, then a rank aborts.  Open MPI's mpirun ends some three seconds after its
# ranks, with relays or without.
no_ranks() {
	local n
	for n in a0 a1 b0 b1; do
		! ip netns pids "$TB_ID-$n" | xargs -rI{} cat /proc/{}/comm 2>/dev/null | grep -q '^failover' || return
	done
}
abort() {
	local at ms
	start
	die afe0
	sleep "$pause"
	at=${EPOCHREALTIME/[.,]/}
	touch "$TB_DIR/enough.abort"
	testbed_wait 8 "the ranks to end" no_ranks
	ms=$(((${EPOCHREALTIME/[.,]/} - at) / 1000))
	ended 10 1
	((ms <= 2000)) || WHY+="the ranks ended $ms ms later "
	echo "$policy MPI_Abort without the primary: all ranks ended $ms ms later, their launchers $(((${EPOCHREALTIME/[.,]/} - at) / 1000)) ms"
	verdict "MPI_Abort without the primary" "$WHY"
	back afe0
}

# A job begins while a relay of its cluster is down, goes over the others, and then over that
# one, too.
begin_without() {
	local at
	die afe1
	sleep 4 # until the primary knows: three seconds of silence
	at=${EPOCHREALTIME/[.,]/}
	start
	echo "$policy a job without afe1: runs $(((${EPOCHREALTIME/[.,]/} - at) / 1000)) ms after its start"
	event "return of afe1" back afe1
	takes_load afe1
	finish "a job that began without afe1"
}

# All relays of B die; A is told by its own relays, B finds out itself.
partition() { # PARTITION_S
	start
	die bfe0
	die bfe1
	ended $(($1 + 3 * DETECT_MS / 1000 + 6)) 1
	grep -qE 'no relay of cluster 1 .*10\.0\.0\.254.*10\.0\.0\.253' "$TB_LOG/job-b.log" ||
		WHY+="b does not name cluster and relays "
	grep -qE 'the job was ended: no relay of (client|cluster) 1 .*(198\.51\.100\.|fd00:57a6::)2[12]' "$TB_LOG/job-a.log" ||
		WHY+="a does not name cluster and relay "
	grep -h 'ending the job' "$TB_LOG"/job-[ab].log | sed 's/.*on rd[^:]*: /partition: /' | sort -u | head -2
	verdict "partition: both sides say what is gone" "$WHY"
}

# Many ranks open towards a relay that comes back, while it opens towards them: it dies again in the
# midst of that.  (What goes wrong there a few ranks do not show: make sim SCENARIO=kills.)
again() {
	local i
	RANDOM=$SEED
	start
	for i in 1 2; do
		die afe1
		back afe1
		sleep "0.$((RANDOM % 6))"
	done
	takes_load afe1
	finish "$((NODES * PPN)) ranks per cluster, a relay killed twice"
}

# KILLS: a relay, and again when it is back.  A job that ends is lost; then another one begins.
running() { ! gone job-a && ! gone job-b; }
job_lost() { # WHAT
	local s
	lost=$((lost + 1))
	echo "LOST: $1"
	tell_logs
	for s in a b; do testbed_stop job-$s 3 >/dev/null 2>&1; done
	start
}
kill_twice() { # FRONTEND: again within five seconds, if the machine lets it
	local at=${EPOCHREALTIME/[.,]/} gap
	die "$1"
	back "$1"
	sleep "0.$((RANDOM % 1000))"
	gap=$(((${EPOCHREALTIME/[.,]/} - at) / 1000))
	die "$1"
	back "$1"
	echo "kills $((kills - 1)) and $kills: $1, $gap ms apart"
	((gap <= 5000)) || late=$((late + 1))
}
load_begin() {
	local i
	loops=()
	for ((i = LOAD * $(nproc); i > 0; i--)); do
		setpriv --pdeathsig KILL bash -c 'while :; do :; done' &
		loops+=($!)
	done
}
load_end() { { [ ${#loops[@]} = 0 ] || { kill "${loops[@]}" && wait "${loops[@]}"; }; } 2>/dev/null; }
count_lost() {
	local fe at=$SECONDS
	RANDOM=$SEED lost=0 late=0
	up kills dest 2 2 10
	load_begin
	start
	while ((kills < KILLS)); do
		fe=${relays[RANDOM % ${#relays[@]}]}
		kill_twice "$fe"
		running && takes_load "$fe"
		running || job_lost "after kill $kills"
	done
	load_end
	finish "$((NODES * PPN)) ranks per cluster, $kills kills"
	[ -z "$WHY" ] || lost=$((lost + 1))
	left kills
	echo "mpi-failover: $kills kills, each relay twice, $late pairs more than 5 s apart; $lost jobs lost; $((SECONDS - at)) s, load$(cut -d' ' -f1-3 /proc/loadavg | sed 's/^/ /')"
	verdict "no job is lost" "$( ((lost == 0)) || echo "$lost are")"
}
if ((KILLS > 0)); then
	NODES=2 PPN=${PPN:-4}
	count_lost
	exit $rc
fi

NODES=2 PPN=${PPN:-1}
for p in $POLICIES; do
	# Unequal numbers under stripe.
	if [ "$p" = stripe ]; then up stripe stripe 3 2 4; else up "$p" "$p" 2 2 4; fi
	if ((ROUNDS > 0)); then
		start
		random_kills "$ROUNDS"
		finish "$p, $ROUNDS kills"
	else
		todo='kill wan lan flap drain term'
		[ "$p" != stripe ] || todo='primary deaf slow termprimary'
		[ -z "${ONLY:-}" ] || todo=$(printf '%s\n' kill primary wan lan deaf flap slow drain term termprimary | grep -E "$ONLY")
		start
		for f in $todo; do fault "$f" || break; done
		finish "$p"
		[[ ! without =~ ${ONLY:-.} ]] || { [[ -z ${ONLY:-} && $p = stripe ]] || begin_without; }
		if [[ -n ${ONLY:-} || $p = stripe ]]; then
			[[ ! abort =~ ${ONLY:-.} ]] || abort
			[[ ! partition =~ ${ONLY:-.} ]] || partition 4
		fi
	fi
	left "$p"
done
if ((ROUNDS == 0)) && [[ again =~ ${ONLY:-.} ]]; then
	PPN=4
	up again dest 2 2 4
	again
	left again
fi
echo "mpi-failover: $kills kills; stood still $worst ms at most, 3 x detection is $((3 * DETECT_MS)) ms; $over times over it"
exit $rc
