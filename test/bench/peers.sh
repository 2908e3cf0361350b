# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The MPI libraries that benches measure beside each other: their packages, compilers, launchers.
# Source it from the root of the tree, with B the build folder, out that of the results.
#
# Libraries: ours (libmpi), before (libmpi as in the file BEFORE), mmp (libmmp), mpich, openmpi.
#
# MPICH and the headers of Open MPI are unpacked below build/peers, nothing is installed:
# installed, they would take part in what `mpicc` and `mpirun` mean on this machine.
PEERS_PACKAGES="mpich libmpich12 libmpich-dev libslurm38 libopenmpi-dev"
peers=$PWD/build/peers
peers_arch=$(gcc -print-multiarch)
peers_usr=$peers/root/usr

# peers_fetch: the packages of the others, unpacked; once.
peers_fetch() {
	local log=$out/mpi-peers.log
	[ ! -e "$peers/unpacked" ] || return 0
	mkdir -p "$peers" && rm -rf "$peers/root" "$peers"/*.deb
	# shellcheck disable=SC2086
	(cd "$peers" && { apt-get download $PEERS_PACKAGES || { apt-get update && apt-get download $PEERS_PACKAGES; }; } &&
		for p in *.deb; do dpkg -x "$p" root || exit; done && : >unpacked) >"$log" 2>&1 || {
		tail -n 3 "$log" >&2
		return 1
	}
}

# peers_begin NAME: a bench of test/bench/NAME.c.  Sets out and TB_DIR, and who=(those of ours and PEERS
# for whom it was built), as $out/NAME-WHO.  Rows of before are gone.
peers_begin() {
	out=$PWD/build/bench TB_DIR=$PWD/build/bench/$1.d
	rm -rf "$TB_DIR" "$out/$1"-*.rows
	mkdir -p "$TB_DIR/tmp"
	peers_fetch || PEERS=
	who=()
	local w
	for w in ours $PEERS; do
		peers_cc "$w" -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/$1-$w" "test/bench/$1.c" 2>"$out/$1.log" &&
			who+=("$w")
	done
}

# peers_cc WHO ARGUMENTS...: as the mpicc of each would, which for the others is at another place.
peers_cc() {
	local who=$1
	shift
	case $who in
	ours) MPICC_CC=gcc "$B/bin/mpicc" "$@" ;;
	mpich) gcc "$@" -w -I"$peers_usr/include/$peers_arch/mpich" -L"$peers_usr/lib/$peers_arch" -lmpich \
		-Wl,-rpath,"$peers_usr/lib/$peers_arch" ;;
	openmpi) command -v mpirun.openmpi >/dev/null &&
		gcc "$@" -I"$peers_usr/lib/$peers_arch/openmpi/include" -l:libmpi.so.40 ;;
	esac
}

# peers_run WHO WHERE RANKS [FIRST]: run=(what starts so many, in front of the program).  WHERE is shm:
# all in one node; NODESx..: so many in each of a0, a1, ... of testbed_up; else half of them, or FIRST,
# in the first node of testbed_pair, the others in the second.  PEERS_BTL: how those of one node
# reach each other with Open MPI then.
peers_run() {
	local n=$3 first=${4:-$((($3 + 1) / 2))} rest i nodes=() hosts
	rest=$((n > first ? n - first : 1))
	case $2 in
	*x*) for ((i = 0; i < ${2%%x*}; i++)); do nodes+=("$TB_ID-a$i" $(((n + ${2%%x*} - 1) / ${2%%x*}))); done ;;
	*) nodes=("$TB_ID-l" "$first" "$TB_ID-r" $rest) ;;
	esac
	printf '%s slots=%d\n' "${nodes[@]}" >"$TB_DIR/hosts"
	hosts=$(printf ',%s:%d' "${nodes[@]}")
	local omp=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		OMPI_MCA_orte_tmpdir_base="$TB_DIR/tmp" mpirun.openmpi --bind-to none --oversubscribe
		--mca mpi_yield_when_idle $((n > $(nproc))) -np "$n")
	local omp_two=(--hostfile "$TB_DIR/hosts" --map-by slot --mca plm rsh
		--mca plm_rsh_agent "$TB_DIR/rsh-a" --mca oob_tcp_if_include eth0)
	case $1-$2 in
	ours-shm | before-shm | mmp-shm) run=("$B/bin/mpirun" -n "$n") ;;
	ours-* | before-* | mmp-*) run=("${omp[@]}" "${omp_two[@]}") ;;
	openmpi-shm) run=("${omp[@]}" --mca pml ob1) ;;
	# Its shared memory stays on for those of one node.
	openmpi-*) run=("${omp[@]}" "${omp_two[@]}" --mca pml ob1 --mca btl "${PEERS_BTL:-tcp,vader,self}"
		--mca btl_tcp_if_include eth0) ;;
	mpich-shm) run=(env LD_LIBRARY_PATH="$peers_usr/lib/$peers_arch" "$peers_usr/bin/mpiexec.hydra" -n "$n") ;;
	# UCX would find the other node to be in reach of shared memory, which it is.
	mpich-*) run=(env LD_LIBRARY_PATH="$peers_usr/lib/$peers_arch" UCX_TLS="tcp,self" UCX_NET_DEVICES=eth0
		"$peers_usr/bin/mpiexec.hydra" -launcher rsh -launcher-exec "$TB_DIR/rsh-a" -iface eth0
		-hosts "${hosts#,}" -n "$n") ;;
	esac
}
