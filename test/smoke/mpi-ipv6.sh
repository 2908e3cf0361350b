#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that reach each other by IPv6, without relays: two clusters whose hosts have IPv6 alone,
# one cluster of both hosts by names and by impirun, jobs that meet at ports, jobs that start others;
# one host with both kinds beside it, and what is said where no kind is common.  Two namespaces on
# one link, an IMPI server in one of them.
# timeout: 160
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

# ---- launchers: the hosts are six0 and six1, which are names of IPv6 alone
printf '::1 localhost\nfd00:57a6::1 six0\nfd00:57a6::2 six1\n' >"$tmp/hosts"
# Its /etc/hosts is of its own: `ip netns exec` makes a mount namespace.
cat >"$tmp/node" <<END
#!/bin/sh
# node NAME COMMAND...
name=\$1
shift
exec ip netns exec $ns-\${name#six} unshare --uts sh -c \
	'hostname "\$0"; mount --bind $tmp/hosts /etc/hosts; exec "\$@"' "\$name" "\$@"
END
# What Open MPI says to a remote shell is one line for it.
printf '#!/bin/sh\nname=$1\nshift\nexec %s "$name" sh -c "$*"\n' "$tmp/node" >"$tmp/rsh"
chmod 755 "$tmp/node" "$tmp/rsh"
launch() { # COMMAND...: on six0
	timeout -k 5 60 "$tmp/node" six0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=rsh \
		OMPI_MCA_plm_rsh_agent="$tmp/rsh" OMPI_MCA_orte_tmpdir_base="$tmp" PMIX_MCA_ptl_tcp_if_include=lo \
		OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1 "$@" >"$tmp/c0" 2>&1 </dev/null
}
: >"$tmp/c1"
launch "$B/bin/mpirun" -n 4 -host six0:2,six1:2 --map-by node "$B/test/mpi/p2p" && has '^ok,' &&
	has 'path \[fd00:57a6::1\]:' && by_ipv6
succeeded $? "one job of both hosts, by names that are of IPv6 alone"
launch env LIBMPI_STREAM=131072 "$B/bin/mpirun" -n 2 -host six0,six1 --map-by node "$B/test/mpi/streams" &&
	has '^ok,' && has '\[1\] streams opened 1 .*sent [0-9]\{7\}'
succeeded $? "long messages both ways over TCP by IPv6, strangers at its port"
launch "$B/bin/mpirun" -n 4 -host six0:2,six1:2 --map-by node "$B/examples/mmp-all" - 5 300000 &&
	[ "$(grep -c 'all bytes right' "$tmp/c0")" = 4 ]
succeeded $? "a job of libmmp on both hosts"
! launch "$B/bin/mpirun" -n 2 -host '[fd00:57a6::1]:2,fd00:57a6::2' true &&
	has 'fd00:57a6::1 is an IPv6 address, and other launchers take those by name alone; fix: .*/etc/hosts'
succeeded $? "an address of another host: the fix"
launch "$B/bin/mpirun" -n 2 -host '[fd00:57a6::1]:2' sh -c 'echo "$(hostname) of $PMIX_RANK"' && has '^six0 of 1'
succeeded $? "an address of this host"
at_home 0 "$B/bin/impirun" -server 2 -host "$BIND" >"$tmp/addr" 2>"$tmp/server.log" &
server=$!
for _ in $(seq 100); do [ -s "$tmp/addr" ] && break; sleep 0.05; done
at_home 1 timeout -k 5 60 "$B/bin/impirun" -client 1 "$(cat "$tmp/addr")" --launcher "$B/bin/mpirun" -n 2 "$B/test/mpi/p2p" \
	>"$tmp/c1" 2>&1 </dev/null &
other=$!
launch "$B/bin/impirun" -client 0 "$(cat "$tmp/addr")" --launcher mpirun -n 2 -host six0,six1 --map-by node "$B/test/mpi/p2p"
rc=$?
wait $other && [ $rc -eq 0 ] && has '^ok,' && by_ipv6
succeeded $? "impirun: a cluster of both hosts, and one of the second"
kill "$server" 2>/dev/null
server=

# ---- ports, and jobs that start others
# meets VARS0 VARS1 RANKS: a job of two ranks on the first host, and one of the second with that many;
# if they are several then another one without a launcher; false: a client failed.
meets() {
	local port='' rc pid names clients=$((1 + ($3 > 1)))
	names=XDG_RUNTIME_DIR=$(mktemp -d -p "$tmp")
	: >"$tmp/c0"
	# shellcheck disable=SC2086
	ip netns exec "$ns-0" env "$names" $1 timeout -k 5 40 "$B/bin/mpirun" -n 2 "$B/examples/meet" server $clients >"$tmp/c0" 2>&1 </dev/null &
	pid=$!
	for _ in $(seq 400); do
		port=$(sed -n 's/^port //p' "$tmp/c0")
		[ -n "$port" ] && break
		sleep 0.05
	done
	# shellcheck disable=SC2086
	at_home 1 env $2 timeout -k 5 40 "$B/bin/mpirun" -n "$3" "$B/examples/meet" client "$port" >"$tmp/c1" 2>&1 </dev/null
	rc=$?
	# shellcheck disable=SC2086
	if [ $rc -eq 0 ] && [ $clients -gt 1 ]; then
		at_home 1 env $2 timeout -k 5 40 "$B/examples/meet" client "$port" >>"$tmp/c1" 2>&1 </dev/null
		rc=$?
	fi
	[ $rc -eq 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" && [ $rc -eq 0 ]
}
meets A=1 A=1 2 && has ': right$' && has 'path \[fd00:57a6::1\]:'
succeeded $? "jobs of two launchers, and one without, meet at a port"
launch env LIBMPI_TRANSPORT=udp "$B/bin/mpirun" -n 1 "$B/test/mpi/spawns" && has '^ok,' && has 'path \[fd00:57a6::1\]:'
succeeded $? "jobs that start others"

ip -n "$ns-0" addr add 10.0.0.1/24 dev e0
! meets A=1 A=1 1 && has 'the port is at 10.0.0.1, this process at fd00:57a6::2: they cannot talk; fix: LIBMPI_NET'
succeeded $? "a port of IPv4: who, where, and the fix"
meets LIBMPI_NET=fd00:57a6::/64 A=1 1 && has ': right$'
succeeded $? "LIBMPI_NET: the port is of IPv6"
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
