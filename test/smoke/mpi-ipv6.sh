#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that reach each other by IPv6, without relays: two clusters whose hosts have IPv6 alone,
# one with both kinds beside it, and what is said where no kind is common.  Two namespaces on one
# link, an IMPI server in one of them.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
B=$(realpath "${B:-build/gcc}")
need_root mpi-ipv6
tmp=$(mktemp -d)
ns=smoke-six-$$
at_home() { ip netns exec "$ns-$1" "${@:2}"; }
# shellcheck source=test/smoke/_clients.sh
. test/smoke/_clients.sh
trap '[ -z "$server" ] || kill "$server" 2>/dev/null
	for n in $ns-0 $ns-1; do ip netns del "$n" 2>/dev/null; done; rm -rf "$tmp"' EXIT
export TMPDIR=$tmp IMPI_AUTH_NONE=1 LIBMPI_STATS=1 LIBMPI_JOIN_TIMEOUT_S=30

for i in 0 1; do
	ip netns add "$ns-$i" && ip -n "$ns-$i" link set lo up || fail "no namespace"
done
ip -n "$ns-0" link add e0 type veth peer name e0 netns "$ns-1" || fail "no link"
for i in 0 1; do
	ip -n "$ns-$i" addr add "fd00:57a6::$((i + 1))/64" dev e0 nodad && ip -n "$ns-$i" link set e0 up ||
		fail "no address"
done
tell_logs() { tail -n 15 "$tmp/c0" "$tmp/c1" "$tmp/server.log"; }
wait_carrier() { grep -q 1 <(at_home 0 cat /sys/class/net/e0/carrier) && at_home 0 ping -6 -c 1 -W 1 fd00:57a6::2 >/dev/null 2>&1; }
for _ in $(seq 50); do wait_carrier && break; sleep 0.1; done

# job PROGRAM RANKS VARS0 VARS1: a client in each namespace; false: one failed.  They meet at AT.
AT='[fd00:57a6::1]' BIND='fd00:57a6::1' CLIENT_S=60
job() { two_clients "$BIND" "$AT" "$2" "$B/test/mpi/$1" "$3" "$4"; }
by_ipv6() { has 'path \[fd00:57a6::2\]:' && ! has 'path [0-9]'; }

job p2p 2 A=1 A=1 && by_ipv6
succeeded $? "two clusters with IPv6 alone"
job coll 2 LIBMPI_TRANSPORT=udp LIBMPI_TRANSPORT=udp && by_ipv6 && has 'path \[fd00:57a6::1\]:'
succeeded $? "collectives, also inside a cluster by IPv6"
job rma 2 A=1 A=1 && by_ipv6
succeeded $? "windows"

(umask 077; echo "7 $(printf '%02x' $(seq 1 32))" >"$tmp/key")
job p2p 1 "LIBMPI_KEY_FILE=$tmp/key" "LIBMPI_KEY_FILE=$tmp/key" && by_ipv6 && has 'path.* sealed'
succeeded $? "sealed"

ip -n "$ns-0" addr add 10.0.0.1/24 dev e0
job p2p 1 A=1 A=1 && by_ipv6
succeeded $? "one of them has IPv4, too: a server of IPv6 decides"
! job p2p 1 LIBMPI_NET=10.0.0.0/24 A=1 && has 'rank 0 is at 10.0.0.1, this process at fd00:57a6::2: they cannot talk; fix: LIBMPI_NET'
succeeded $? "nothing is common: who, where, and the fix"
ip -n "$ns-1" addr add 10.0.0.2/24 dev e0
job p2p 1 LIBMPI_NET=10.0.0.0/24 LIBMPI_NET=10.0.0.0/24 && has 'path 10.0.0.2:' && ! has 'path \['
succeeded $? "LIBMPI_NET: by IPv4, from a server of IPv6"
AT=10.0.0.1 BIND=10.0.0.1
job p2p 1 LIBMPI_NET=fd00:57a6::/64 LIBMPI_NET=fd00:57a6::/64 && by_ipv6
succeeded $? "LIBMPI_NET: by IPv6, from a server of IPv4"
job p2p 1 A=1 A=1 && has 'path 10.0.0.2:' && ! has 'path \['
succeeded $? "both kinds, a server of IPv4: as before"
