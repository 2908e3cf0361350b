#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A cluster whose process has a global address of its own, and no relay, in one job with a cluster
# behind a relay whose global leg is sealed: with the relay's key, another key, none.
# ipv6: no, because relays call processes of other clusters by IPv4 addresses
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root mpi-global
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
CLUSTERS=a NODES=1 RELAYS=1 PPN=1
testbed_up || fail "testbed: not built"
tell_logs() { tail -n 6 "$TB_LOG"/job-a.log "$TB_LOG"/job-g.log "$TB_LOG"/relayd-*.log; }

# job ENV...: client 0 behind relay a, client 1 in srv on the WAN; the exit status of client 1
job()
{
	testbed_spawn a0 job-a env IMPI_AUTH_NONE=1 IMPI_CLIENT=0 IMPI_SERVER=10.0.0.254:7811 \
		timeout -k 5 60 "$B/bin/mpirun" -n 1 "$B/test/mpi/p2p"
	testbed_spawn srv job-g env IMPI_AUTH_NONE=1 IMPI_CLIENT=1 IMPI_SERVER=$TB_SRV:7810 "$@" \
		timeout -k 5 60 "$B/bin/mpirun" -n 1 "$B/test/mpi/p2p"
	wait "$(cat "$TB_DIR/pid-job-g")"
	local rc=$?
	wait "$(cat "$TB_DIR/pid-job-a")"
	return $rc
}
said() { grep -q "$1" "$TB_LOG/job-g.log"; }

testbed_spawn srv impi-server env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 -port 7810 --persist -v
testbed_wait 20 "impi-server" grep -q ":7810" "$TB_LOG/impi-server.log" || fail "impi-server: does not start"
testbed_relayd "$B" afe0 || fail "relayd: does not start"

job LIBMPI_KEY_FILE="$TB_DIR/conf/psk" LIBMPI_STATS=1 && grep -q '^ok' "$TB_LOG/job-a.log" && said 'path.* sealed'
succeeded $? "the relay's key: the job runs, sealed"

(umask 077; echo "1 $(printf '%064d' 7)" >"$TB_DIR/conf/other")
job LIBMPI_KEY_FILE="$TB_DIR/conf/other"
[ $? -ne 0 ] && said '198.51.100.11.*does not answer.*the same as in sealing.key_file'
succeeded $? "another key: it says what to compare"

job A=1
[ $? -ne 0 ] && said '198.51.100.11.*does not answer.*set LIBMPI_KEY_FILE'
succeeded $? "no key: it says what to set"
testbed_down
exit $rc
