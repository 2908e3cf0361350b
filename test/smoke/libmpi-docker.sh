#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two nodes that both have a docker0 with the same address, in front of eth0 in the kernel's order:
# a job over both runs by itself (neither a name nor a default route leads to the other node), whatever state docker0 is in; and does not where libmpi is told to
# use docker0, which is what it did by itself before it asked for routes and carriers.
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root libmpi-docker
export CLUSTERS="a b" NODES=2 PPN=1
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

# Nodes get docker0 before any other interface.
eval "$(declare -f _tb_ns | sed '1s/_tb_ns/_plain_ns/')"
_tb_ns()
{
	_plain_ns "$@"
	case $1 in
	[ab][0-9]) _tb_bridge "$1" docker0 1500 && _tb_address "$1" docker0 172.17.0.1/16 ;;
	esac
}
both() { local n; for n in a0 a1; do ip -n "$TB_ID-$n" "$@" || return; done; } # IP-WORDS...
gone() { ! testbed_alive "$1"; }

# job NAME SECONDS WORDS...: two ranks on two nodes; sets WHY, and AT to the addresses they used
job()
{
	local name=$1 limit=$2
	shift 2
	testbed_job_local "$B" "$name" 2 -x LIBMPI_STATS=1 "$@" "$B/test/mpi/p2p"
	WHY=
	testbed_wait "$limit" "the end of $name" gone "$name" 2>/dev/null || WHY="no end"
	gone "$name" || testbed_stop "$name" 2 >/dev/null 2>&1
	[ -n "$WHY" ] || grep -q '^ok' "$TB_LOG/$name.log" || WHY="does not say ok"
	AT=$(sed -n 's/.* path \([0-9.]*\):.*/\1/p' "$TB_LOG/$name.log" | sort -u | paste -sd' ')
}
want_eth0()
{
	[ -n "$WHY" ] || [ "$AT" = "$(testbed_addr a0) $(testbed_addr a1)" ] || WHY="paths go to '$AT'"
}

testbed_up || fail "no testbed"
[ "$(ip -n "$TB_ID-a0" -o -4 addr show | awk '$2 != "lo" { print $2; exit }')" = docker0 ] ||
	fail "docker0 is not the first"
job no-carrier 30
want_eth0
verdict "docker0 up, without carrier" "$WHY" no-carrier
both link set docker0 down
job down 30
want_eth0
verdict "docker0 down" "$WHY" down
both link set docker0 up
both link add c0 type veth peer name c1 && both link set c0 master docker0 && both link set c0 up &&
	both link set c1 up || fail "no container"
job container 30
want_eth0
verdict "docker0 with a container: it has a carrier" "$WHY" container
# The rows above can fail.
job forced 6 -x LIBMPI_IFACE=docker0
[ -n "$WHY" ] && WHY= || WHY="the job runs over docker0: nothing was tried here"
verdict "with LIBMPI_IFACE=docker0 it does not run" "$WHY" forced
testbed_down
exit $rc
