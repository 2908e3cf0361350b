#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A cluster whose process has a global address of its own, and no relay, in one job with a cluster
# behind a relay whose global leg is sealed: with the relay's key, another key, none.  With IPV6=1
# that process has IPv6 alone, and a name; it is refused without one.
# ipv6: yes
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
# shellcheck disable=SC2034 # the testbed's
[ -z "${IPV6:-}" ] || TB_SIX_MORE=$TB_SRV=$TB_SRV_SIX
testbed_up || fail "testbed: not built"
at=$TB_SRV:7810 relay=$(testbed_outside afe0) places=''
if [ -n "${IPV6:-}" ]; then
	at=[$TB_SRV_SIX]:7810 places=$TB_SRV=$TB_SRV_SIX,$(testbed_global_addr afe0)=$relay
	ip -n "$TB_ID-srv" -4 addr flush dev eth0 || fail "srv keeps its IPv4 address"
fi
tell_logs() { tail -n 6 "$TB_LOG"/job-a.log "$TB_LOG"/job-g.log "$TB_LOG"/relayd-*.log; }

# job ENV...: client 0 behind relay a, client 1 in srv on the WAN; the exit status of client 1
job()
{
	testbed_spawn a0 job-a env IMPI_AUTH_NONE=1 IMPI_CLIENT=0 IMPI_SERVER="$(testbed_inside afe0 7811)" \
		timeout -k 5 60 "$B/bin/mpirun" -n 1 "$B/test/mpi/p2p"
	testbed_spawn srv job-g env IMPI_AUTH_NONE=1 IMPI_CLIENT=1 IMPI_SERVER="$at" LIBMPI_PLACES="$places" "$@" \
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
if [ -n "$places" ]; then
	said "path \[$relay\]:"
	succeeded $? "and by IPv6"
	job LIBMPI_KEY_FILE="$TB_DIR/conf/psk" LIBMPI_PLACES=
	[ $? -ne 0 ] && grep -q "process 1 (client 1) is at $TB_SRV_SIX and has IPv6 alone, .* or a name" "$TB_LOG/relayd-afe0.log"
	succeeded $? "without a name it is refused"
	testbed_exec srv env LIBMPI_PLACES=198.51.100.11 timeout 20 "$B/bin/mpirun" -n 1 "$B/test/mpi/p2p" >"$TB_LOG/job-g.log" 2>&1
	[ $? -ne 0 ] && said "LIBMPI_PLACES: '198.51.100.11' is not an IPv4 address and an IPv6 address"
	succeeded $? "clear words for what is no name"
fi

(umask 077; echo "1 $(printf '%064d' 7)" >"$TB_DIR/conf/other")
job LIBMPI_KEY_FILE="$TB_DIR/conf/other"
[ $? -ne 0 ] && said "$relay.*does not answer.*the same as in sealing.key_file"
succeeded $? "another key: it says what to compare"

job A=1
[ $? -ne 0 ] && said "$relay.*does not answer.*set LIBMPI_KEY_FILE"
succeeded $? "no key: it says what to set"
testbed_down
exit $rc
