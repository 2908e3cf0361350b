#!/usr/bin/env bash
# `make bench-mpi` (root): libmpi, MPICH and Open MPI in one run, taking turns, in the same
# namespaces: half round trip, bandwidth, message rate, Allreduce, Alltoall, Bcast, in the
# shared memory of one node and between two (one veth, offloads off).  One program
# (mpibench.c), compiled once for each.  Table, build/bench/mpi.json.
#
#   ROUNDS (3)       turns of each; ratios are taken turn by turn, medians printed
#   BUDGET_MS (25)   of a row in a turn      LIMIT_S (8)  of a launch; what has not come
#                    until then is "too slow", and not tried again
#   RANKS ("2 4 8")  of the collectives      MTUS ("1500 9000")  WHERE ("shm $MTUS")
#   PEERS ("mpich openmpi")
#   DISTURBED_PCT (4)  a launch beside which other programs took more of the CPUs is done again,
#   RETRIES (4)        at most so often in a turn; how many stayed disturbed is printed
#   PAIR, COLL       rows of pairs, of collectives: WHAT:BYTES, see mpibench.c
#
# MPICH and the headers of Open MPI are unpacked below build/peers, nothing is installed:
# installed, they would take part in what `mpicc` and `mpirun` mean on this machine.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
ROUNDS=${ROUNDS:-3}
BUDGET_MS=${BUDGET_MS:-25}
LIMIT_S=${LIMIT_S:-8}
RANKS=${RANKS:-2 4 8}
MTUS=${MTUS:-1500 9000}
WHERE=${WHERE:-shm $MTUS}
PEERS=${PEERS-mpich openmpi}
DISTURBED_PCT=${DISTURBED_PCT:-4}
RETRIES=${RETRIES:-4}
SENT_MIN=$((1 << 18)) # bytes, more than start-up sends
PAIR=${PAIR-pingpong:0 pingpong:8 pingpong:1024 pingpong:16384 pingpong:65536 pingpong:1048576 pingpong:4194304
	bandwidth:4096 bandwidth:65536 bandwidth:1048576 bandwidth:4194304 rate:8}
COLL=${COLL-allreduce:8 allreduce:65536 allreduce:1048576 alltoall:8 alltoall:65536 bcast:8 bcast:65536 bcast:1048576}
PACKAGES="mpich libmpich12 libmpich-dev libslurm38 libopenmpi-dev"
out=$PWD/build/bench
peers=$PWD/build/peers
arch=$(gcc -print-multiarch)
usr=$peers/root/usr
mkdir -p "$out" && rm -f "$out"/mpi.json "$out"/raw-mpi-*
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh

# fetched: the packages of the others, unpacked; once.
fetched() {
	local log=$out/mpi-peers.log
	[ ! -e "$peers/unpacked" ] || return 0
	mkdir -p "$peers" && rm -rf "$peers/root" "$peers"/*.deb
	# shellcheck disable=SC2086
	(cd "$peers" && { apt-get download $PACKAGES || { apt-get update && apt-get download $PACKAGES; }; } &&
		for p in *.deb; do dpkg -x "$p" root || exit; done && : >unpacked) >"$log" 2>&1 || {
		tail -n 3 "$log" >&2
		return 1
	}
}

# compiled WHO: as the mpicc of each would, which for the others is at another place.
compiled() {
	local cc=(gcc -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/mpibench-$1" test/bench/mpibench.c)
	case $1 in
	ours) MPICC_CC=gcc "$B/bin/mpicc" "${cc[@]:1}" ;;
	mpich) "${cc[@]}" -w -I"$usr/include/$arch/mpich" -L"$usr/lib/$arch" -lmpich \
		-Wl,-rpath,"$usr/lib/$arch" ;;
	openmpi) command -v mpirun.openmpi >/dev/null &&
		"${cc[@]}" -I"$usr/lib/$arch/openmpi/include" -l:libmpi.so.40 ;;
	esac
}

# launch WHO WHERE RANKS ARG...: half of the ranks in either node, or all in one.
launch() {
	local who=$1 where=$2 n=$3 each=$((($3 + 1) / 2)) run
	shift 3
	printf '%s slots=%d\n' "$TB_ID-l" $each "$TB_ID-r" $each >"$TB_DIR/hosts"
	local omp=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		OMPI_MCA_orte_tmpdir_base="$TB_DIR/tmp" mpirun.openmpi --bind-to none --oversubscribe
		--mca mpi_yield_when_idle $((n > $(nproc))) -np "$n")
	local omp_two=(--hostfile "$TB_DIR/hosts" --map-by slot --mca plm rsh
		--mca plm_rsh_agent "$TB_DIR/rsh-a" --mca oob_tcp_if_include eth0)
	case $who-$where in
	ours-shm) run=("$B/bin/mpirun" -n "$n") ;;
	ours-*) run=("${omp[@]}" "${omp_two[@]}") ;;
	openmpi-shm) run=("${omp[@]}" --mca pml ob1) ;;
	# Its shared memory stays on for those of one node.
	openmpi-*) run=("${omp[@]}" "${omp_two[@]}" --mca pml ob1 --mca btl "tcp,vader,self"
		--mca btl_tcp_if_include eth0) ;;
	mpich-shm) run=(env LD_LIBRARY_PATH="$usr/lib/$arch" "$usr/bin/mpiexec.hydra" -n "$n") ;;
	# UCX would find the other node to be in reach of shared memory, which it is.
	mpich-*) run=(env LD_LIBRARY_PATH="$usr/lib/$arch" UCX_TLS="tcp,self" UCX_NET_DEVICES=eth0
		"$usr/bin/mpiexec.hydra" -launcher rsh -launcher-exec "$TB_DIR/rsh-a" -iface eth0
		-hosts "$TB_ID-l:$each,$TB_ID-r:$each" -n "$n") ;;
	esac
	testbed_exec l timeout -k 2 "$LIMIT_S" "${run[@]}" "$out/mpibench-$who" "$BUDGET_MS" "$@"
}

# So many bytes have left the first node.
sent() { ip -n "$TB_ID-l" -s -j link show eth0 | sed 's/.*"tx":{"bytes":\([0-9]*\).*/\1/'; }

# undisturbed FILE LAUNCH...: its status, FILE what it prints; done again while others worked beside it.
undisturbed() {
	local file=$1 rc i pct
	shift
	for ((i = 0; i <= RETRIES; i++)); do
		launch "$@" >"$file" 2>"$out/mpi-launch.log" </dev/null
		rc=$?
		pct=$(sed -n 's/^others //p' "$file")
		((rc == 0 && ${pct:-0} > DISTURBED_PCT)) || return $rc
	done
	disturbed=$((disturbed + 1))
}

declare -A slow
launches=0 disturbed=0
# turn WHO WHERE RANKS ROUND: one launch.
turn() {
	local key="$1-$2-$3" json=$out/raw-mpi-$2-$3-$1-$4 rows=$COLL before rc
	[ -z "${slow[$key]:-}" ] || return 0
	[ "$3" != 2 ] || rows="$PAIR $COLL"
	before=$(sent)
	launches=$((launches + 1))
	# shellcheck disable=SC2086
	undisturbed "$json" "$1" "$2" "$3" $rows
	rc=$?
	case $rc in
	0) ;;
	124 | 137) slow[$key]=1 ;;
	*)
		testbed_die "$1, $3 ranks, $2: exit status $rc"
		tail -n 5 "$out/mpi-launch.log" >&2
		return 1
		;;
	esac
	if [ "$2" = shm ] || [ $rc != 0 ]; then return 0; fi
	(($(sent) - before > SENT_MIN)) || testbed_die "$1 between two nodes did not use the network"
}

all=ours
fetched && all="ours $PEERS" || echo "no packages of MPICH and Open MPI, see $out/mpi-peers.log" >&2
who=''
for p in $all; do
	if compiled "$p" >"$out/mpi-build-$p.log" 2>&1; then
		who+=" $p"
	else
		echo "$p is left out, see $out/mpi-build-$p.log" >&2
	fi
done
begin=$SECONDS
for w in $WHERE; do
	testbed_pair "${w/shm/1500}" || exit 1
	for ((i = 1; i <= ROUNDS; i++)); do
		printf '  %s, round %d of %d\n' "${w/#[0-9]/MTU &}" "$i" "$ROUNDS" >&2
		for n in $RANKS; do
			for p in $who; do turn "$p" "$w" "$n" "$i" || exit 1; done
		done
	done
	testbed_down
done
# shellcheck disable=SC2086
test/bench/report-mpi.py "$out/mpi.json" "$out" "$WHERE" "$RANKS" $who
echo "$((SECONDS - begin)) s, $ROUNDS rounds, $disturbed of $launches launches disturbed, load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs, $(uname -r)"
