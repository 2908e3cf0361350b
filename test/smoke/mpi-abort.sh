#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# MPI_Abort(comm, 42) in one site ends the launcher of every site with 42: over relays, from a rank
# that is not the client's first; beside a process without a relay; and between two such sites.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root mpi-abort
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
CLUSTERS='a b' NODES=1 RELAYS=1 PPN=2
testbed_up || fail "testbed: not built"
tell_logs() { tail -n 6 "$TB_LOG"/job-*.log "$TB_LOG"/relayd-*.log; }

cat >"$TB_DIR/abort.c" <<'C'
	#include <mpi.h>
	#include <stdlib.h>
	int main(int argc, char **argv) {
		int rank;
		MPI_Init(&argc, &argv);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == atoi(argv[1]))
			MPI_Abort(MPI_COMM_WORLD, 42);
		MPI_Barrier(MPI_COMM_WORLD); /* the others wait */
		MPI_Finalize();
		return 0;
	}
C
"$B/bin/mpicc" -o "$TB_DIR/abort" "$TB_DIR/abort.c" || fail "mpicc"

# part NAMESPACE NAME CLIENT SERVER RANK: two ranks of the job
part() {
	testbed_spawn "$1" "job-$2" env IMPI_AUTH_NONE=1 LIBMPI_KEY_FILE="$TB_DIR/conf/psk" \
		timeout -k 5 60 "$B/bin/impirun" -client "$3" "$4" --launcher "$B/bin/mpirun" \
		-n 2 "$TB_DIR/abort" "$5"
}
ended() { # WHAT: both parts, with that status
	local p status=
	for p in job-a job-b; do
		wait "$(cat "$TB_DIR/pid-$p")"
		status+=" $?"
	done
	[ "$status" = ' 42 42' ]
	succeeded $? "$1: status$status"
}

testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
testbed_relayd "$B" afe0 bfe0 || fail "relayd: does not start"
for rank in 0 3; do
	part a0 a 0 10.0.0.254:7811 $rank
	part b0 b 1 10.0.0.254:7811 $rank
	ended "over relays, rank $rank aborts"
done
for rank in 1 2; do
	part a0 a 0 10.0.0.254:7811 $rank
	part srv b 1 "$TB_SRV:7810" $rank
	ended "one site without a relay, rank $rank aborts"
done
for rank in 0 1 3; do # 1 and 3 have no path to the other site before they open one to say it
	part srv a 0 "$TB_SRV:7810" $rank
	part srv b 1 "$TB_SRV:7810" $rank
	ended "no relays, rank $rank aborts"
done
# Ranks that end before they join: the other site does not wait for them.
said() { # SITE WORDS WHAT
	testbed_wait 60 "job-$1 to end" eval "! testbed_alive job-$1" && grep -q "$2" "$TB_LOG/job-$1.log"
	succeeded $? "$3: $(tail -1 "$TB_LOG/job-$1.log")"
}
joined() { grep -c 'joined, 1 of 2' "$TB_LOG/impi-server.log"; }
gone='client [01] is gone before it joined: its launcher (mpirun) ended with status 1'
for way in "srv $TB_SRV:7810" "b0 10.0.0.254:7811"; do
	read -r node at <<<"$way"
	before=$(joined)
	part a0 a 0 10.0.0.254:7811 0
	testbed_wait 30 "job-a to join" eval '[ "$(joined)" -gt "$before" ]'
	testbed_exec "$node" env IMPI_AUTH_NONE=1 timeout 60 "$B/bin/impirun" -client 1 "$at" --launcher "$B/bin/mpirun" -n 2 false \
		>"$TB_LOG/false.log" 2>&1
	[ $? -eq 1 ]
	succeeded $? "the launcher's own status"
	said a "$gone" "site b ends before it joins, at ${at%:*}"
done
grep -q "the job failed: $gone" "$TB_LOG/impi-server.log"
succeeded $? "the server says so"
testbed_down
exit $rc
