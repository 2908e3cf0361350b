#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Foreign IMPI clients over relays: PC-GC (one client behind a relay, the other with a
# global address), PC-PC (both behind relays of their own), and three clients mixed.
#
# test/interop/run calls this file once for each name that --list prints and counts its
# exit status.  By hand, as root (jobs with libmpi want `make build/gcc/test/interop-peer`):
#
#	test/interop/relayed.sh --list
#	test/interop/relayed.sh build/gcc pc_gc_lam_strict ...	(default: all)
#
# Knobs: those of tools/testbed/lib.sh (RELAYS, PMD, IDLE, TB_LOG, TB_KEEP), WAN_DELAY_MS,
# LIMIT_S of one job, START_S of a program's start, PYTHON.
#
#	 behind relay A          global addresses         behind relay B
#	 a0 10.0.0.1  -- afe0 -- srv 198.51.100.2 (server)  -- bfe0 -- b0 10.0.0.1
#	                         gc0 198.51.100.40 .. .43, gc1 .50 .. .53, gc2 .60 .. .63
#
# Each scenario is a function pc_*; it builds a testbed, runs one job, takes all down.  A
# client is "PLACE KIND PROCS [CHAOS]": PLACE a0, b0 (behind a relay) or gc0 .. gc2; KIND as
# `--behave` of foreign; PROCS "2" or "1+2" (hosts).  KIND libmpi (behind a relay only) is
# test/interop/peer*.c under mpirun, over two nodes, with LIBMPI_ENV ("NAME=VALUE ...").
# ARGS are the script's.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${WAN_DELAY_MS:=2}" "${LIMIT_S:=900}" "${START_S:=60}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
FOREIGN=$PWD/test/interop
GC_FIRST=40 # 198.51.100.40 and up

# gc_plan gcN: a namespace of foreign hosts with global addresses, on B's side of the WAN.
gc_plan() {
	local i
	_tb_ns "$1"
	_tb_link "$1" eth0 wan "$1" "$MTU_WAN"
	_tb_port wan wanB "$1"
	for i in 0 1 2 3; do _tb_address "$1" eth0 "$(place_address "$1" $i)/24"; done
}

# More addresses for a node, so that each host of a client has its own.
more_addresses() {
	local i
	for i in 1 2 3; do _tb_address "$1" eth0 "$TB_SUB_IN.$((100 + i))/24"; done
}

place_address() { # PLACE HOST: where host number HOST of a client there listens
	case $1 in
	gc*) echo "$TB_SUB_WAN.$((GC_FIRST + 10 * ${1#gc} + $2))" ;;
	*) (($2 == 0)) && testbed_addr "$1" || echo "$TB_SUB_IN.$((100 + $2))" ;;
	esac
}

place_server() { # PLACE: what a client there takes for the IMPI server
	case $1 in
	gc*) echo "$TB_SRV:7810" ;;
	*) echo "$(testbed_addr "${1:0:1}fe0"):7811" ;;
	esac
}

# client RANK SCRIPT KNOWN PLACE KIND PROCS [CHAOS]: one foreign client, in the background.
client() {
	local rank=$1 script=$2 known=$3 place=$4 kind=$5 procs=$6 chaos=${7:-} n i=0 env
	if [ "$kind" = libmpi ]; then
		mapfile -t env < <(testbed_mpi_env "${place:0:1}")
		# shellcheck disable=SC2086
		testbed_spawn "$place" "client-$rank" env "${env[@]}" ${LIBMPI_ENV:-} IMPI_AUTH_NONE=1 \
			"$B/bin/impirun" -client "$rank" "$(place_server "$place")" --launcher mpirun \
			-np "$procs" "$B/test/interop-peer" "$script" "clients=$CLIENTS" ${ARGS:-}
		return
	fi
	local cmd=(env PYTHONPATH="$FOREIGN" PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" -m foreign
		--client "$rank" --server "$(place_server "$place")" --behave "$kind"
		--script "scripts:$script" --deadline "$LIMIT_S" --trace "$TB_LOG/trace-$rank.txt")
	for n in ${procs//+/ }; do
		cmd+=(--host "$(place_address "$place" $i)/$n")
		i=$((i + 1))
	done
	for n in $known; do
		[ "${n%%=*}" = "$rank" ] || cmd+=(--known "$n")
	done
	for n in ${ARGS:-}; do cmd+=(--arg "$n"); done
	[ -z "$chaos" ] || cmd+=(--chaos "$chaos")
	testbed_spawn "$place" "client-$rank" "${cmd[@]}"
}

# client_status RANK: its exit status, 124 if it does not end.
client_status() {
	local pid end=$((SECONDS + LIMIT_S + 5))
	pid=$(<"$TB_DIR/pid-client-$1")
	while kill -0 "$pid" 2>/dev/null; do
		if ((SECONDS > end)); then
			kill -KILL -- "-$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
			return 124
		fi
		testbed_nap 0.1
	done
	wait "$pid" 2>/dev/null
}

# relayed_job SCRIPT "CLIENT 0" "CLIENT 1" ...: 0 if everybody ended well.  STATUSES: how.
# CLIENTS: procs of each, for the MPI program.
STATUSES='' CLIENTS=''
relayed_job() {
	local script=$1 known='' c kind procs rank=0 rc fe failed=0 i relays
	shift
	STATUSES='' CLIENTS=''
	testbed_plan || return 1
	rm -f "$TB_LOG"/{client,trace,relayd}-* # a TB_LOG of the caller's has those of the last job
	for c in gc0 gc1 gc2; do
		case " $*" in *" $c "*) gc_plan $c ;; esac
	done
	for c in a0 b0; do
		case " $*" in *" $c "*) more_addresses $c ;; esac
	done
	testbed_build || return 1
	testbed_wanem "$B/bin/wanem" --delay-ms "$WAN_DELAY_MS" || return 1
	testbed_spawn srv impi-server env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server $# -port 7810 -v
	testbed_wait "$START_S" "impi-server" grep -q ":7810" "$TB_LOG/impi-server.log" || return 1
	for c in a b; do
		case " $*" in *" ${c}0 "*) ;; *) continue ;; esac
		relays=${RELAYS:-1}
		for ((i = 0; i < relays; i++)); do
			testbed_relayd "$B" "${c}fe$i" || return 1
		done
	done
	for c in "$@"; do
		read -r _ kind procs _ <<<"$c"
		[ "${kind%%,*}" = strict ] || [ "$kind" = libmpi ] || known+="$rank=${kind%%,*} "
		CLIENTS+="${CLIENTS:+,}$((${procs//+/ + }))"
		rank=$((rank + 1))
	done
	rank=0
	for c in "$@"; do
		# shellcheck disable=SC2086
		client $rank "$script" "$known" $c
		rank=$((rank + 1))
	done
	for ((i = 0; i < rank; i++)); do
		client_status $i
		rc=$?
		STATUSES+="$rc "
		if [ $rc -ne 0 ]; then
			failed=1
			testbed_say "client $i ended with $rc:"
			tail -n 20 "$TB_LOG/client-$i.log" >&2
		fi
	done
	wait "$(<"$TB_DIR/pid-impi-server")" 2>/dev/null || {
		failed=1
		tail -n 12 "$TB_LOG/impi-server.log" >&2
	}
	if [ $failed = 1 ]; then
		for fe in "$TB_LOG"/relayd-*.log; do
			[ -e "$fe" ] && { echo "--- $fe" && tail -n 12 "$fe"; } >&2
		done
	fi
	return $failed
}

# --- PC-GC ------------------------------------------------------------------------------

pc_gc_strict() { relayed_job pingpong "a0 strict 2" "gc0 strict 2"; }
pc_gc_strict_lam() { relayed_job pingpong "a0 strict 2" "gc0 lam 2"; }
pc_gc_lam_strict() { relayed_job pingpong "a0 lam 2" "gc0 strict 1+1"; }
pc_gc_lam() { relayed_job pingpong "a0 lam 2" "gc0 lam 2"; }
gc_pc_lam() { relayed_job pingpong "gc0 lam 2" "a0 lam 2"; }
pc_gc_hosts() { relayed_job all_pairs "a0 strict 1+2" "gc0 strict 2+1+1"; }
# Labels that not everybody has, version lists, values of the user, through a relay.
pc_gc_labels() {
	relayed_job all_pairs "a0 strict,extra_label=28672,versions=2 1+1" "gc0 strict,versions=3 1"
}
pc_pc_labels() {
	ARGS="xsize=77 maxlinear=1 datalen=5000 tagub=40000" relayed_job attributes \
		"a0 strict,xsize=77,maxlinear=1,datalen=5000 1+1" \
		"b0 strict,xsize=77,maxlinear=1,tagub=40000 2"
}
pc_gc_sizes() { relayed_job sizes "a0 strict,datalen=1024 1" "gc0 lam 1"; }
pc_gc_flow_1() { relayed_job saturate "a0 strict,datalen=16,ackmark=1,hiwater=1 2" "gc0 strict 2"; }
pc_gc_flow_7() { relayed_job saturate "a0 strict,datalen=16,ackmark=7,hiwater=7 2" "gc0 lam 2"; }
pc_gc_stalled() {
	relayed_job stalled_receiver "a0 strict,datalen=64,ackmark=7,hiwater=7 2" "gc0 strict 2"
}
pc_gc_long() { relayed_job reverse_answers "a0 strict,datalen=100 1" "gc0 strict,interleave=1 1"; }
pc_gc_probe() { relayed_job probe "a0 strict 1" "gc0 strict 1"; }
pc_gc_cancel() { relayed_job cancel "a0 strict,datalen=16 1" "gc0 strict 1"; }
pc_gc_cancel_lam() { ARGS=always_no=1 relayed_job cancel "a0 strict,datalen=16 1" "gc0 lam 1"; }
pc_gc_collectives() { relayed_job collectives "a0 strict 2" "gc0 strict 1+1"; }
pc_gc_collectives_lam() {
	ARGS=world_only=1 relayed_job collectives "a0 lam 2" "gc0 strict 2"
}
pc_gc_fini_early() { relayed_job late_rank "a0 strict 2" "gc0 strict,fini_early=1 2"; }
pc_gc_last_minute() { relayed_job last_minute "a0 strict 2" "gc0 lam 2"; }
pc_gc_weather() { relayed_job mixture "a0 strict 2 weather:1" "gc0 strict 2 weather:2"; }
pc_gc_strangers() { relayed_job all_pairs "a0 strict 1" "gc0 strict 1 strangers:1"; }

# --- PC-PC ------------------------------------------------------------------------------

pc_pc_strict() { relayed_job pingpong "a0 strict 2" "b0 strict 2"; }
pc_pc_lam() { relayed_job pingpong "a0 lam 2" "b0 lam 2"; }
pc_pc_hosts() { relayed_job all_pairs "a0 strict 1+2" "b0 strict 2+1"; }
pc_pc_sizes() { relayed_job sizes "a0 strict,datalen=1024 1" "b0 lam 1"; }
pc_pc_flow_1() { relayed_job saturate "a0 strict,datalen=16,ackmark=1,hiwater=1 2" "b0 strict 2"; }
pc_pc_flow_7() { relayed_job saturate "a0 lam,datalen=16,ackmark=7,hiwater=7 2" "b0 strict 2"; }
pc_pc_stalled() {
	relayed_job stalled_receiver "a0 strict,datalen=64,ackmark=7,hiwater=7 2" "b0 strict 2"
}
pc_pc_long() { relayed_job reverse_answers "a0 strict,datalen=100 1" "b0 strict 1"; }
pc_pc_cancel() { relayed_job cancel "a0 strict,datalen=16 1" "b0 strict 1"; }
pc_pc_collectives() { relayed_job collectives "a0 strict 2" "b0 strict 1+1"; }
pc_pc_last_minute() { relayed_job last_minute "a0 lam 2" "b0 strict 2"; }
pc_pc_relays_3() { RELAYS=3 relayed_job all_pairs "a0 lam 3" "b0 strict 2+1"; }
pc_gc_relays_2() { RELAYS=2 relayed_job collectives "a0 strict 2+1" "gc0 strict 2"; }
pc_gc_relays_4() { RELAYS=4 relayed_job all_pairs "gc0 lam 2" "a0 strict,one_fifo=1 4"; }
pc_pc_weather() { relayed_job mixture "a0 strict 2 weather:1" "b0 strict 2 weather:2"; }
pc_pc_two_relays() { RELAYS=2 relayed_job all_pairs "a0 strict 3" "b0 strict 3"; }
pc_pc_four_relays() { RELAYS=4 relayed_job collectives "a0 strict 4" "b0 strict,one_fifo=1 4"; }

# --- libmpi and foreign -------------------------------------------------------------------

libmpi_gc_strict() { relayed_job pingpong "a0 libmpi 2" "gc0 strict 2"; }
gc_libmpi_strict() { relayed_job all_pairs "gc0 strict 1+1" "a0 libmpi 2"; }
libmpi_gc_sizes() { ARGS=datalen=1024 relayed_job sizes "a0 libmpi 2" "gc0 strict,datalen=1024 1"; }
libmpi_gc_types() { relayed_job types "a0 libmpi 1" "gc0 strict 1"; }
libmpi_gc_types_lam() { relayed_job types "a0 libmpi 1" "gc0 lam 1"; }
libmpi_gc_collectives() {
	ARGS=world_only=1 relayed_job collectives "a0 libmpi 2" "gc0 strict 1+1"
}
libmpi_gc_collectives_lam() {
	ARGS=world_only=1 relayed_job collectives "a0 libmpi 2" "gc0 lam 2"
}
libmpi_gc_profile() { relayed_job profile "a0 libmpi 2" "gc0 strict 1+1"; }
libmpi_gc_mixture_lam() { ARGS=datalen=65536 relayed_job mixture "gc0 lam 2" "a0 libmpi 2"; }
# LAM writes before it reads.
libmpi_gc_blocking_lam() {
	ARGS=datalen=65536 relayed_job mixture "a0 libmpi 2" "gc0 lam,blocking_writes=1 2"
}
pc_pc_blocking_lam() {
	relayed_job reverse_answers "a0 lam,blocking_writes=1 2" "b0 lam,blocking_writes=1 2"
}
libmpi_gc_all_types() { ARGS=times=9 relayed_job all_types "a0 libmpi 1" "gc0 strict 1"; }
libmpi_gc_all_types_lam() { ARGS=times=9 relayed_job all_types "gc0 lam 1" "a0 libmpi 1"; }
libmpi_gc_long8() {
	ARGS=times=9 LIBMPI_ENV=IMPI_PEERS=1:long8 relayed_job all_types "a0 libmpi 1" \
		"gc0 strict,data=x32l8 1"
}
libmpi_gc_flow_1() {
	relayed_job saturate "a0 libmpi 2" "gc0 strict,datalen=16,ackmark=1,hiwater=1 2"
}
libmpi_gc_stalled() {
	ARGS=hiwater=7 relayed_job stalled_receiver "a0 libmpi 2" \
		"gc0 strict,datalen=64,ackmark=7,hiwater=7 2"
}
libmpi_gc_probe() { ARGS=datalen=10 relayed_job probe "gc0 strict,datalen=10 1" "a0 libmpi 1"; }
libmpi_gc_cancel() { ARGS=datalen=16 relayed_job cancel "a0 libmpi 1" "gc0 strict,datalen=16 1"; }
gc_libmpi_cancel() { ARGS=datalen=16 relayed_job cancel "gc0 strict,datalen=16 1" "a0 libmpi 1"; }
libmpi_gc_last_minute() { relayed_job last_minute "a0 libmpi 2" "gc0 lam 2"; }
gc_libmpi_late_rank() { relayed_job late_rank "gc0 strict 2" "a0 libmpi 2" "b0 strict 1"; }
# Each direction of a pair over another of the cluster's relays.
libmpi_gc_relays_2() { RELAYS=2 relayed_job all_pairs "a0 libmpi 3" "gc0 strict 2+1"; }
libmpi_gc_relays_4() { RELAYS=4 relayed_job mixture "a0 libmpi 4" "gc0 strict 2"; }
libmpi_pc_relays_2() { RELAYS=2 relayed_job collectives "a0 libmpi 2" "b0 strict 1+1"; }
libmpi_pc_relays_3() {
	RELAYS=3 ARGS=datalen=65536 relayed_job mixture "b0 lam 3" "a0 libmpi 3"
}
libmpi_pc_strict() { relayed_job all_pairs "a0 libmpi 2" "b0 strict 2"; }
libmpi_pc_lam() { relayed_job pingpong "b0 lam 2" "a0 libmpi 2"; }
libmpi_pc_collectives() {
	ARGS=world_only=1 relayed_job collectives "a0 libmpi 2" "b0 strict 1+1"
}
# Both ends ours: what the harness does today, without the gateway.
libmpi_libmpi() { relayed_job collectives "a0 libmpi 2" "b0 libmpi 2"; }

# --- three clients ------------------------------------------------------------------------

pc_pc_gc() { relayed_job collectives "a0 strict 2" "b0 strict 1" "gc0 strict 1+1"; }
pc_gc_pc_lam() { ARGS=world_only=1 relayed_job collectives "a0 lam 2" "gc0 strict 1" "b0 lam 2"; }

libmpi_pc_gc() { relayed_job all_pairs "a0 libmpi 2" "b0 strict 2" "gc0 strict 1+1"; }
libmpi_pc_lam_gc_lam() {
	ARGS=world_only=1 relayed_job collectives "b0 lam 2" "a0 libmpi 2" "gc0 lam 1"
}
libmpi_libmpi_gc() { relayed_job mixture "a0 libmpi 2" "gc0 strict 2" "b0 libmpi 2"; }

# --- four and five clients --------------------------------------------------------------------

pc_gc_pc_gc_gc() {
	RELAYS=2 relayed_job collectives "a0 strict 2" "gc0 strict 1" "b0 strict 2" "gc1 strict 1" \
		"gc2 strict 1+1"
}
libmpi_gc_pc_gc_gc() {
	relayed_job mixture "a0 libmpi 2" "gc0 strict 1" "b0 lam,protoack_queues=0 1" \
		"gc1 strict 1" "gc2 strict 1"
}
pc_pc_gc_gc() {
	RELAYS=2 relayed_job mixture "a0 strict 2" "gc0 strict,datalen=100 1" \
		"b0 lam,protoack_queues=0 1" "gc1 strict 1+1"
}

# --- a peer that breaks the protocol: the job ends, the relay stays -------------------------

# broken_job KIND [SCRIPT [CLIENT CLIENT]]: everybody must end with status 1, and relayd
# must still answer.
broken_job() {
	local said rc=0
	said=$(mktemp) || return 1
	relayed_job "${2:-endless}" "${3:-a0 strict,datalen=64 2}" "${4:-gc0 strict 1 $1:1:20}" \
		2>"$said" && rc=1
	[ "$STATUSES" = "1 1 " ] || rc=1
	[ -s "$TB_LOG/trace-0.txt" ] || rc=1 # it never came to packets
	[ $rc = 0 ] || cat "$said" >&2
	rm -f "$said"
	[ $rc = 0 ] || return 1
	"$B/bin/relayctl" -s "$TB_ID-afe0" status >/dev/null
}
pc_gc_unknown_type() { broken_job unknown-type; }
pc_gc_wrong_src() { broken_job wrong-src; }
pc_gc_wrong_dest() { broken_job wrong-dest; }
pc_gc_overlong() { broken_job overlong; }
pc_gc_cut() { broken_job cut; }
pc_gc_garbage() { broken_job garbage; }
# A damaged packet in eight; whoever notices first ends the job.
fuzzed_job() { # SEED CLIENT
	local said rc=0
	said=$(mktemp) || return 1
	ARGS="long=1 datalen=64" relayed_job endless "a0 $2 2" "gc0 strict,datalen=64 1 fuzz:$1:150" 2>"$said" && rc=1
	case $STATUSES in 124* | *" 124 "* | 3* | *" 3 "*) rc=1 ;; esac # it hung
	grep -q " signal \|Sanitizer\|runtime error:" "$TB_LOG"/{client,relayd}-*.log && rc=1
	"$B/bin/relayctl" -s "$TB_ID-afe0" status >/dev/null || rc=1
	[ $rc = 0 ] || cat "$said" >&2
	rm -f "$said"
	return $rc
}
pc_gc_fuzz_1() { fuzzed_job 1 strict,datalen=64; }
pc_gc_fuzz_2() { fuzzed_job 2 strict,datalen=64; }
pc_gc_fuzz_3() { fuzzed_job 3 lam,datalen=64; }
libmpi_gc_fuzz_1() { fuzzed_job 4 libmpi; }
libmpi_gc_fuzz_2() { fuzzed_job 5 libmpi; }
# Only a receiver that gives no credit lets a sender show that it wants none.
pc_gc_no_flow_control() {
	broken_job no-flow-control stalled_receiver \
		"a0 strict,datalen=64,ackmark=2,hiwater=4 2 no-flow-control:1" "gc0 strict 2" || return 1
	grep -q '(HIWATER) from process 0 to 2 without an acknowledgement' "$TB_LOG/relayd-afe0.log"
}

relayed_list() { compgen -A function | grep -E '^(pc|gc|libmpi)_(pc|gc|libmpi)'; }

# The harness itself, without a relay: test/interop/relayed.sh BUILD_DIR selfcheck
selfcheck() { relayed_job mixture "gc0 strict,datalen=100 2" "gc1 lam 1+1"; }

main() {
	local name failed=0 job
	if [ "${1:-}" = --list ]; then
		relayed_list
		return 0
	fi
	B=$(realpath "${1:?build directory}") || return 2
	shift
	local names=("$@")
	[ $# -gt 0 ] || mapfile -t names < <(relayed_list)
	trap '[ -z "${job:-}" ] || { kill -TERM "$job"; wait "$job"; } 2>/dev/null; exit 143' INT TERM HUP
	for name in "${names[@]}"; do
		# A shell of its own: the testbed ends with it, whatever happens.  Who ends us ends it.
		(trap 'testbed_on_exit' EXIT && "$name") &
		job=$!
		if wait "$job"; then
			echo "well: $name"
		else
			echo "ill: $name"
			failed=1
		fi
	done
	return $failed
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@" # others source this for their own jobs
