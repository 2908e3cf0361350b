#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The lines of doc/howto/two-sites.md, in its order, by its readers: who runs the rendezvous, the
# administrators of two front ends, a user at each site.  Namespaces stand for machines, links for
# NICs; each front end has an /etc and a /run of its own.  With IPV6=1 by what the page says of IPv6, and
# nodes have that alone.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root two-sites
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
B=$(realpath "$B")
run=ts$$
work=$(mktemp -d) || exit 2
started=()
tell_logs() { tail -n 8 "$work"/*.log; }
on_exit()
{
	local p n
	for p in "${started[@]}"; do kill -TERM -- "-$p" 2>/dev/null; done
	wait
	[ -z "${IPV6:-}" ] || cat "$work"/relay-?.log | grep -c 'path to \[2001:db8::[12]1\].* up: ' >>"${SMOKE_SIX:-/dev/null}"
	for n in wan a-node a-relay b-node b-relay; do ip netns del "$run-$n" 2>/dev/null; done
	rm -rf "$work"
}
trap on_exit EXIT
trap 'exit 130' INT TERM

# lines PATTERN: the block of the document after the first line that matches.
lines()
{
	awk -v after="$1" '
		!found { found = index($0, after); next }
		/^    / { print substr($0, 5); in_block = 1; next }
		in_block && !NF { held = held "\n"; next }
		in_block { exit }' doc/howto/two-sites.md
}
# play WHERE FOLDER ENVIRONMENT... : standard input, as that person's shell.  Behind a pipe, as it
# becomes that shell, with a group of processes of its own.
play()
{
	local ns=$run-$1 folder=$2
	shift 2
	mkdir -p "$folder"
	exec setsid ip netns exec "$ns" unshare --mount env "PATH=$work/bin:$B/bin:$PATH" "HOME=$work/home" "$@" bash -euc '
		if [ -d "$0/etc" ]; then mount --bind "$0/etc" /etc; mount --bind "$0/run" /run; fi
		cd "$0"; . /dev/stdin' "$folder"
}

# ---- the machines
ip netns add $run-wan && ip -n $run-wan link add sw type bridge || fail "no namespaces"
ip -n $run-wan addr add 198.51.100.2/24 dev sw
ip -n $run-wan link set lo up
ip -n $run-wan link set sw up
if [ -n "${IPV6:-}" ]; then
	printf '%s\n' "in $run-wan" 'set net/ipv6/conf/sw/disable_ipv6 0' | "$B/test/inside" --settle
	ip -n $run-wan addr add 2001:db8::2/64 dev sw nodad
fi
ip netns exec $run-wan ethtool -K sw tx off >/dev/null
for s in a b; do
	ip netns add $run-$s-node
	ip netns add $run-$s-relay
	ip link add eth0 netns $run-$s-node type veth peer name priv0 netns $run-$s-relay
	ip link add glob0 netns $run-$s-relay type veth peer name site-$s netns $run-wan
	ip -n $run-wan link set site-$s master sw up
	if [ -n "${IPV6:-}" ]; then
		printf '%s\n' "in $run-$s-node" 'set net/ipv6/conf/lo/disable_ipv6 0' 'set net/ipv6/conf/eth0/disable_ipv6 0' |
			"$B/test/inside" --settle
		ip -n $run-$s-node addr add fd00::1/64 dev eth0 nodad
	else
		ip -n $run-$s-node addr add 10.0.0.1/24 dev eth0
	fi
	ip -n $run-$s-node link set lo up
	ip -n $run-$s-node link set eth0 mtu 9000 up
	ip netns exec $run-$s-node ethtool -K eth0 tx off >/dev/null
	ip -n $run-$s-relay link set lo up
	ip -n $run-$s-relay link set priv0 mtu 9000 up
	ip -n $run-$s-relay link set glob0 up
	mkdir -p "$work/$s"/{etc,run}
	cp -a /etc/. "$work/$s/etc" 2>/dev/null
done
# What would change this machine; relayd-setup has a scenario of its own.
mkdir "$work/bin" "$work/home"
for p in make relayd-setup; do
	printf '#!/bin/sh\necho "%s $*" >>%s/ran\n' $p "$work" >"$work/bin/$p"
	chmod +x "$work/bin/$p"
done
cat >"$work/app.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int rank, size, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d: the sum of the ranks is %d\n", rank, size, sum);
	return MPI_Finalize();
}
END

# Not of the document: links for NICs, one CPU that is shared, few pages, a launcher that is there
# (another one may be installed without a cluster); and at site b what it says.
as_here() { sed 's|"device": "0000:03:00.0"|"interface": "priv0"|; s|"device": "0000:03:00.1"|"interface": "glob0"|
	s|0@2,1@3|0@0,1@0|; s|"hugepages": true, "memory_mb": 1024|"hugepages": false, "memory_mb": 256|; s|"busy"|"sleep"|'; }
as_six() { # what the page says of IPv6, in the file that is there
	[ -z "${IPV6:-}" ] || { lines "reach each other and the server by IPv6" && lines "Nodes may have IPv6 alone"; } | as_b_six "$1" |
		python3 -c 'import json, sys
def add(to, more):
    for k, v in more.items():
        if isinstance(v, dict):
            add(to.setdefault(k, {}), v)
        else:
            to[k] = v
conf = json.load(open(sys.argv[1]))
text = sys.stdin.read()
while text.strip():
    more, end = json.JSONDecoder().raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    add(conf, more)
json.dump(conf, open(sys.argv[1], "w"), indent=1)' "$work/$1/etc/relayd/site.json"
}
as_b_six() { if [ "$1" = b ]; then sed 's|::11/64|::21/64|; s|198.51.100.21=2001:db8::21|198.51.100.11=2001:db8::11|'; else cat; fi; }
as_b() { if [ "$1" = b ]; then sed 's|"name": "a"|"name": "b"|; s|198\.51\.100\.11|198.51.100.21|'; else cat; fi; }

# ---- 1. the rendezvous
lines 'makes the IMPI key once' | play wan "$work/server" >"$work/server.log" 2>&1
succeeded $? "the rendezvous' key"
lines 'starts the server' | play wan "$work/server" >>"$work/server.log" 2>&1 &
started+=($!)

# ---- 2. the keys: made at a, brought to b
lines 'is made once, on one front end' | play a-relay "$work/a" >"$work/keys.log" 2>&1
succeeded $? "the key of the front ends"
mkdir -p "$work/b/etc/relayd"
cp -p "$work/a/etc/relayd/psk" "$work/b/etc/relayd/psk"
for s in a b; do cp -p "$work/server/impi-key" "$work/$s/etc/relayd/impi-key"; done
cp -p "$work/server/impi-key" "$work/home/impi-key"

# ---- 3. a relay on each front end
for s in a b; do
	{
		lines 'Once, from this tree'
		lines 'The configuration of site a' | as_here | as_b $s
	} | play $s-relay "$work/$s" >"$work/relay-$s.log" 2>&1 && as_six $s && {
		lines 'hugepages and drivers above all'
		lines 'Reboot if it says' | sed '$d'
	} | play $s-relay "$work/$s" >>"$work/relay-$s.log" 2>&1
	succeeded $? "site $s: configured and checked"
	lines 'Reboot if it says' | sed -n '$p' | play $s-relay "$work/$s" >>"$work/relay-$s.log" 2>&1 &
	started+=($!)
done
why=
grep -qx 'make install PREFIX=/usr/local' "$work/ran" || why+="no make install; "
grep -qx 'relayd-setup /etc/relayd/site.json' "$work/ran" || why+="no relayd-setup; "
verdict "what would change the machine was asked for" "$why"
for s in a b; do
	for ((i = 0; i < 400; i++)); do grep -q '^relayd: ready$' "$work/relay-$s.log" && break; sleep 0.05; done
	succeeded $? "site $s: the relay is ready"
done

# ---- 4. the job
as_user_six() { # how a user names the relay then, as the page has it
	if [ -n "${IPV6:-}" ]; then
		sed "s|10.0.0.254:7811|$(grep -o "'\[fd00::fe\]:7811'" doc/howto/two-sites.md)|"
	else
		cat
	fi
}
jobs=()
for s in a b; do
	mkdir "$work/user-$s"
	cp "$work/app.c" "$work/user-$s/"
	lines 'on a login node of site a' | sed "s|-np 64|--launcher mpirun -np 2|; $([ $s = a ] || echo 's|-client 0|-client 1|')" | as_user_six |
		play $s-node "$work/user-$s" >"$work/job-$s.log" 2>&1 &
	jobs+=($!)
done
why=
for j in "${jobs[@]}"; do wait "$j" || why+="status $?; "; done
n=$(cat "$work"/job-?.log | grep -c 'of 4: the sum of the ranks is 6')
[ "$n" = 4 ] || why+="$n of 4 lines"
verdict "one job over both sites" "$why"
[ -z "${IPV6:-}" ] || verdict "whose nodes have IPv6 alone" "$(ip -n $run-a-node -4 addr show dev eth0)"
grep -q 'sealed\|seal' "$work/relay-a.log" || true
exit $rc
