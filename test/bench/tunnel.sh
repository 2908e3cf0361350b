#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-tunnel` (root): one MPI job over two clusters, by what a site would use instead.  All
# stand at the same time in one testbed, behind the same WAN, and take turns (turns-mpi.py):
#
#   ours       libmpi, a relayd on each front end, sealed; both clusters have 10.0.0.0/24
#   wireguard  Open MPI over TCP through a WireGuard tunnel between the front ends (wireguard-go;
#              no kernel module here), which the clusters can route to each other by
#   routed     the same without a tunnel: front ends whose kernels route, nothing is sealed
#
# One rank in each cluster.  The machine is shared by ranks, relays or tunnel, and the WAN, so rates
# are those of its CPUs as soon as the WAN has more: WAN_RATE.
#
#   DELAYS ("0.1 5 20")   one way, ms      WAN_RATE (2e8) bit/s      LOSSES ("0 0.001") of datagrams
#   CCS ("cubic bbr")     congestion control of both: suci.global_cc, and the TCP of the peers' nodes
#   ROWS                  WHAT:BYTES, see mpibench.c
#   ROUNDS (9) SESSIONS (1) TURN_MS (300) LIMIT_S (30)
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
export ROUNDS=${ROUNDS:-9} SESSIONS=${SESSIONS:-1} TURN_MS=${TURN_MS:-300} LIMIT_S=${LIMIT_S:-30}
DELAYS=${DELAYS:-0.1 5 20}
LOSSES=${LOSSES:-0 0.001}
CCS=${CCS:-cubic bbr}
WAN_RATE=${WAN_RATE:-2e8}
ROWS=${ROWS:-pingpong:8 pingpong:65536 bandwidth:4096 bandwidth:65536 bandwidth:1048576 allreduce:1048576}
out=$PWD/build/bench
mkdir -p "$out" && rm -f "$out"/tunnel.json "$out"/raw-tunnel-*
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root bench-tunnel
# shellcheck disable=SC2034
CLUSTERS='a b c d e f' NODES=1 RELAYS=1 TB_LOG=$out/tunnel-log
mkdir -p "$TB_LOG"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

for p in wireguard-go wireguard-tools libopenmpi-dev openmpi-bin; do
	dpkg -s "$p" >/dev/null 2>&1 && continue
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$p" >"$out/tunnel-apt.log" 2>&1 || {
		echo "bench-tunnel: $p cannot be installed, see $out/tunnel-apt.log" >&2
		exit 1
	}
done
peers_fetch || exit 1

# compiled WHO: mpibench, as the mpicc of each would.
compiled() {
	peers_cc "$1" -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/mpibench-$1" test/bench/mpibench.c ||
		testbed_die "no mpibench of $1"
}

# launcher NAME COMMAND...: what turns-mpi.py starts, with its folder as the last argument.
launcher() {
	{
		echo '#!/bin/bash'
		printf ' %q' "${@:2}"
		# shellcheck disable=SC2016
		echo ' "$1"'
	} >"$TB_DIR/jobs/launch-$1"
	chmod +x "$TB_DIR/jobs/launch-$1"
}

# ours: two launchers, one in each cluster, as two users would start it.
launch_ours() {
	local c env
	{
		echo '#!/bin/bash'
		for c in b a; do
			mapfile -t env < <(testbed_mpi_env "$c")
			printf ' %q' "$TB_DIR/in" "${c}0" env "${env[@]}" "$(_tb_auth)" "$B/bin/impirun" \
				-client "$(_tb_index "$c")" "$(testbed_addr "${c}fe0"):7811" --launcher mpirun -np 1 \
				"$out/mpibench-ours"
			# shellcheck disable=SC2016
			echo ' "$1" &'
		done
		echo 'wait -n && wait -n'
	} >"$TB_DIR/jobs/launch-ours"
	chmod +x "$TB_DIR/jobs/launch-ours"
}

# launch_openmpi NAME CLUSTER CLUSTER
launch_openmpi() {
	printf '%s slots=1\n' "$TB_ID-${2}0" "$TB_ID-${3}0" >"$TB_DIR/hosts-$1"
	launcher "$1" "$TB_DIR/in" "${2}0" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		OMPI_MCA_orte_tmpdir_base="$TB_DIR/tmp" mpirun.openmpi --bind-to none --oversubscribe -np 2 \
		--hostfile "$TB_DIR/hosts-$1" --map-by slot --mca plm rsh --mca plm_rsh_agent "$TB_DIR/rsh-$2" \
		--mca oob_tcp_if_include eth0 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 \
		"$out/mpibench-openmpi"
}

server() { # for a and b
	testbed_spawn srv impi-server env "$(_tb_auth)" "$B/bin/impi-server" -server 2 -port 7810 --persist
	testbed_wait 10 "impi-server ($TB_LOG/impi-server.log)" grep -q ":7810" "$TB_LOG/impi-server.log"
}

# Those who route have to tell the clusters' addresses apart: the first keeps 10.0.0.0/24, the second
# has 10.9.0.0/24.  MTU is that of what leads from one to the other.  TCP's congestion control is
# set, because kernels differ: some have bbr by default.
addresses() { # CLUSTER CLUSTER MTU
	local n
	testbed_kernel_address "${1}fe0" && testbed_kernel_address "${2}fe0" &&
		ip -n "$TB_ID-${2}0" addr flush dev eth0 && ip -n "$TB_ID-${2}0" addr add 10.9.0.1/24 dev eth0 &&
		ip -n "$TB_ID-${2}fe0" addr del 10.0.0.254/24 dev priv0 &&
		ip -n "$TB_ID-${2}fe0" addr add 10.9.0.254/24 dev priv0 &&
		ip -n "$TB_ID-${1}0" route add 10.9.0.0/24 via 10.0.0.254 mtu "$3" congctl "$cc" &&
		ip -n "$TB_ID-${2}0" route add 10.0.0.0/24 via 10.9.0.254 mtu "$3" congctl "$cc" || return 1
	for n in "${1}fe0" "${2}fe0"; do
		ip netns exec "$TB_ID-$n" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
	done
}
routes() {
	addresses e f 1500 &&
		ip -n "$TB_ID-efe0" route add 10.9.0.0/24 via "$(testbed_global_addr ffe0)" &&
		ip -n "$TB_ID-ffe0" route add 10.0.0.0/24 via "$(testbed_global_addr efe0)" &&
		testbed_wait 10 "the route" testbed_exec e0 ping -c1 -W1 10.9.0.1
}

# One end of the tunnel.  wireguard-go's control sockets lie in one folder for all namespaces.
tunnel_end() { # FRONTEND PEER NETWORKS-OF-PEER
	local fe=$1 peer=$2 name=wg$$${1:0:1}
	testbed_spawn "$fe" "wireguard-$fe" wireguard-go -f "$name"
	testbed_wait 10 "wireguard-go on $fe ($TB_LOG/wireguard-$fe.log)" test -S "/var/run/wireguard/$name.sock" || return 1
	testbed_exec "$fe" wg set "$name" listen-port 51820 private-key "$TB_DIR/conf/wg-$fe" \
		peer "$(wg pubkey <"$TB_DIR/conf/wg-$peer")" allowed-ips "$3" \
		endpoint "$(testbed_global_addr "$peer"):51820" &&
		ip -n "$TB_ID-$fe" link set "$name" mtu 1420 up && ip -n "$TB_ID-$fe" route add "$3" dev "$name"
}
tunnel() {
	local fe
	for fe in cfe0 dfe0; do (umask 077; wg genkey >"$TB_DIR/conf/wg-$fe"); done
	addresses c d 1420 && tunnel_end cfe0 dfe0 10.9.0.0/24 && tunnel_end dfe0 cfe0 10.0.0.0/24 || return 1
	testbed_wait 10 "the tunnel" testbed_exec c0 ping -c1 -W1 10.9.0.1
}

compiled ours && compiled openmpi || exit 1
begin=$SECONDS
for delay in $DELAYS; do
	for at in $(for loss in $LOSSES; do printf "$loss,%s\n" $CCS; done); do
		loss=${at%,*} cc=${at#*,}
		# shellcheck disable=SC2034
		TB_RELAY_CONF="\"suci\": { \"global_cc\": \"$cc\" }"
		testbed_up &&
			testbed_wanem "$B/bin/wanem" --delay-ms "$delay" --rate "$WAN_RATE" --loss "$loss" &&
			server && testbed_relayd "$B" afe0 bfe0 && tunnel && routes || exit 1
		mkdir -p "$TB_DIR/jobs"
		launch_ours
		launch_openmpi wireguard c d
		launch_openmpi routed e f
		echo "  WAN of $delay ms one way, $WAN_RATE bit/s, loss $loss, $cc" >&2
		test/bench/turns-mpi.py "$out/raw-tunnel-$delay-$loss-$cc" "$TB_DIR/jobs" 2 "$ROWS" ours wireguard routed || exit 1
		testbed_down
	done
done
test/bench/report-tunnel.py "$out/tunnel.json" "$out" "$DELAYS" "$LOSSES" "$CCS" "$WAN_RATE" ours wireguard routed
echo "$((SECONDS - begin)) s, load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs, $(uname -r)"
