#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance programs of test/mpi as jobs over two clusters: through one relay a
# side, through two a side over a WAN that loses frames, and inside one cluster over two
# nodes without a relay; those with collectives again under the profile of IMPI 0.0, as if
# the other cluster were another MPI.  Many jobs, one after another, through the same
# relays: none may leave anything behind. Only here several ranks share a node or a cluster and
# others are elsewhere, as the forms of collectives for nodes and clusters want it.
#
#	ONLY='clusters ops'	only rows whose name matches
#	JOBS=15			short jobs in a row for the memory row
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${ONLY:=}" "${JOBS:=15}"
logs=${TB_LOG:-} # given: kept, one folder per testbed
quick=$B/test/mpi/probe # what the memory row runs
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

# Rows of test/mpi/rows for 2 ranks or more, settings that choose a transport left out
# (here the topology chooses), each once: "PROGRAM SECONDS SETTINGS".
rows() {
	local program ranks limit settings s left seen=' '
	while read -r program ranks limit settings; do
		case $program in '' | \#*) continue ;; esac
		((ranks >= 2)) || continue
		left=
		for s in $settings; do
			case $s in LIBMPI_TRANSPORT=* | LIBMPI_CMA=*) ;; *) left+=" $s" ;; esac
		done
		case $seen in *" $program$left/"*) continue ;; esac
		# Open MPI's mpirun does not start programs over two nodes here, and these relays carry no
		# doors: mpi-connect has these.
		# streams counts connections, which ranks of a node and of other clusters do not need.
		case "$program$left" in
		partings* | joins* | dyn | "dyn "* | fortran_dyn* | *LIBMPI_STREAM=4096\ LIBMPI_EAGER*) continue ;;
		esac
		seen+="$program$left/ "
		echo "$program $limit$left"
	done <test/mpi/rows
}

gone() { ! testbed_alive "$1"; }

# ended NAME SECONDS SIDE...: sets WHY to why the job NAME did not do well, or to nothing.
# Not for a subshell: the jobs are children of this shell.
ended() {
	local name=$1 limit=$2 s st
	shift 2
	WHY=
	for s in "$@"; do
		testbed_wait "$limit" "the end of $name$s" gone "$name$s"
		if gone "$name$s"; then
			{ wait "$(cat "$TB_DIR/pid-$name$s")"; } 2>/dev/null
			st=$?
			[ $st = 0 ] || WHY=${WHY:-status $st}
		else
			WHY="no end within $limit s"
		fi
	done
	for s in "$@"; do
		gone "$name$s" || testbed_stop "$name$s" 3 >/dev/null 2>&1
	done
	[ -n "$WHY" ] || grep -qs '^ok' "$TB_LOG/$name"*.log || WHY="does not say ok"
}

wanted() { [[ -z $ONLY || $* =~ $ONLY ]]; }

# run WHERE RANKS PATTERN: the rows that match, where: clusters, impi-0.0 (there, under that
# profile), lossy or one-cluster.
run() {
	local where=$1 ranks=$2 pattern=$3 program limit settings s name x
	while read -r program limit settings; do
		[[ "$program $settings" =~ $pattern ]] && wanted "$where $program $settings" || continue
		x=()
		for s in $settings; do x+=(-x "$s"); done
		[ "$where" != impi-0.0 ] || x+=(-x LIBMPI_COLL_PROFILE=impi-0.0)
		name=$where-$program${settings:+-${settings//[^A-Za-z0-9]/_}}
		if [ "$where" = one-cluster ]; then
			testbed_job_local "$B" "$name" "$ranks" "${x[@]}" "$B/test/mpi/$program"
			ended "$name" "$limit" ''
			verdict "$where: $program $settings" "$WHY" "$name"
		else
			testbed_job "$B" "$name" "${x[@]}" "$B/test/mpi/$program"
			ended "$name" "$limit" -a -b
			verdict "$where: $program $settings" "$WHY" \
				"$name-a" "$name-b" impi-server "${relays[@]/#/relayd-}"
		fi
	done < <(rows)
}

up() { # NAME OPTIONS OF WANEM...: server, WAN and relays of a fresh testbed
	local i
	TB_LOG=${logs:+$logs/$1}
	shift
	testbed_up || fail "testbed: not built"
	testbed_wanem "$B/bin/wanem" --delay-ms 1 "$@" || fail "wanem: does not start"
	testbed_server "$B" || fail "impi-server: does not start"
	relays=()
	for ((i = 0; i < RELAYS; i++)); do relays+=("afe$i" "bfe$i"); done
	testbed_relayd "$B" "${relays[@]}" || fail "relayd: does not start"
}

# What a daemon has allocated.  Not the pools of DPDK (RssShmem): their size is fixed, but
# pages count only once the first packet lay in them.
rss_kb() { awk '/^RssAnon/ { print $2 }' "/proc/$(daemon_pid "$1")/status"; }
daemon_pid() { # LOGNAME: the program itself, below what testbed_spawn started
	local p=$1 child
	p=$(cat "$TB_DIR/pid-$1")
	while child=$(pgrep -P "$p" | head -1) && [ -n "$child" ]; do p=$child; done
	echo "$p"
}

# busy: what the relays still hold of jobs; nothing if all have forgotten everything.
busy() {
	local fe
	for fe in "${relays[@]}"; do
		"$B/bin/relayctl" -s "$TB_ID-$fe" --json status --check >"$TB_DIR/q-status" &&
			"$B/bin/relayctl" -s "$TB_ID-$fe" --json jobs >"$TB_DIR/q-jobs" &&
			"$B/bin/relayctl" -s "$TB_ID-$fe" --json paths >"$TB_DIR/q-paths" ||
			{ echo "$fe does not answer"; continue; }
		python3 - "$fe" "$TB_DIR"/q-{status,jobs,paths} <<-'PY'
			import json, sys
			fe = sys.argv[1]
			status, jobs, paths = (json.load(open(p)) for p in sys.argv[2:])
			rows = list(paths['paths'].values()) if isinstance(paths, dict) else paths
			jobs = list(jobs['jobs'].values()) if isinstance(jobs, dict) else jobs
			local = [r for r in rows if r['kind'] != 'trunk']
			if jobs or status['jobs']:
			    print(f'{fe}: {len(jobs)} jobs')
			if local:
			    print(f'{fe}: paths that are no trunks: {local}')
			if status['custody']:
			    print(f"{fe}: {status['custody']} segments in custody")
			if not status['consistent']:
			    print(f'{fe}: counters do not add up')
		PY
	done
}

settled() { [ -z "$(busy 2>&1)" ]; }

nothing_left() { # WHERE
	local fe why=""
	wanted "$1 nothing left" || return 0
	testbed_wait 5 "the relays to forget all jobs" settled || why=$(busy | head -4 | tr '\n' ' ')
	verdict "$1: relays have forgotten all jobs" "$why" "${relays[@]/#/relayd-}"
	for fe in "${relays[@]}"; do
		why=
		{ testbed_stop "relayd-$fe"; } >/dev/null 2>&1 || why="status $?"
		[ -n "$why" ] || why=$(python3 - "$TB_DIR/$fe.json" <<-'PY'
			import json, sys
			s = json.load(open(sys.argv[1]))
			f, n = s['forwarding'], []
			if f['held']: n.append(f"held {f['held']}")
			if s['suci']['held']: n.append(f"suci held {s['suci']['held']}")
			if not s['consistent']: n.append('counters do not add up')
			if f['jobs_aborted']: n.append(f"{f['jobs_aborted']} jobs aborted")
			if f['jobs_added'] != f['jobs_finished']: n.append('jobs that did not finish')
			print(', '.join(n))
		PY
		)
		verdict "$1: $fe stops clean" "$why" "relayd-$fe"
	done
}

# memory: many short jobs; what the daemons use does not grow, labels come back.
memory() {
	local i d why="" room=512 names=("${relays[@]/#/relayd-}" impi-server)
	local -A before
	wanted memory || return 0
	[[ $B != *asan* ]] || room=65536 # it keeps what was freed
	for ((i = 0; i < JOBS; i++)); do
		# The first ones fill caches and touch buffers for the first time.
		if ((i == JOBS / 3)); then
			for d in "${names[@]}"; do before[$d]=$(rss_kb "$d"); done
		fi
		testbed_job "$B" "short$i" "$quick"
		ended "short$i" 20 -a -b
		[ -z "$WHY" ] || { why="job $i: $WHY"; break; }
	done
	for d in "${names[@]}"; do
		[ -z "$why" ] || break
		i=$(rss_kb "$d")
		echo "$d: ${before[$d]} kB, $i kB $((JOBS - JOBS / 3)) jobs later"
		((i <= before[$d] + room)) || why="$d grew from ${before[$d]} to $i kB"
	done
	verdict "memory: $JOBS jobs in a row" "$why" impi-server "${names[@]}"
}

# sealed: what went between the relays was, what they have to their processes was not.
sealed() {
	local fe why=
	for fe in "${relays[@]}"; do
		{ "$B/bin/relayctl" -s "$TB_ID-$fe" status; "$B/bin/relayctl" -s "$TB_ID-$fe" drops; } |
			awk -v fe="$fe" '
			{ n[$1] = $2 }
			END {
				if (n["global/tx_sealed"] < 1 || n["global/tx_sealed"] > n["global/tx_frames"])
					print fe ": sealed " n["global/tx_sealed"] " of " n["global/tx_frames"]
				if (n["private/tx_sealed"])
					print fe ": sealed towards processes"
				if (n["suci/drop_seal"] + n["suci/drop_unsealed"])
					print fe ": seals that do not open, or none"
			}' >"$TB_DIR/q-sealed"
		[ ! -s "$TB_DIR/q-sealed" ] || why=$(head -1 "$TB_DIR/q-sealed")
	done
	verdict "sealed: between the relays" "$why" "${relays[@]/#/relayd-}"
}

NODES=2 RELAYS=1 PPN=1
up clusters
run clusters 4 .
sealed
run impi-0.0 4 '^(coll|collv|comms|ops|attrs|order|requests) $'
run one-cluster 4 .
memory
nothing_left clusters
testbed_down
verdict "clusters: no process or namespace is left" "$(testbed_leftovers)"

if [[ -z $ONLY || $ONLY == *lossy* ]]; then
	RELAYS=2 PPN=2
	up lossy --loss 0.01
	run lossy 8 '^(p2p|order|coll|collv|comms|rma) $'
	nothing_left lossy
	testbed_down
	verdict "lossy: no process or namespace is left" "$(testbed_leftovers)"
fi
exit $rc
