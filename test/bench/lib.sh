# SPDX-License-Identifier: BSD-2-Clause
# What run-bench measures.  Each function builds a testbed, takes turns between ours and
# the peer, writes raw JSON per round and one report.

SIZES="8 1024 65536 1048576"

# bench_netpp PROTO NODE_SERVER ADDR NODE_CLIENT OUT SIZES...: one ping-pong over sockets.
bench_netpp() {
	local proto=$1 server=$2 addr=$3 client=$4 json=$5
	shift 5
	testbed_spawn "$server" "netpp-$proto" "$PWD/$B/test/netpp" server "$proto" "$addr" 7900
	sleep 0.2
	testbed_exec "$client" "$PWD/$B/test/netpp" client "$proto" "$addr" 7900 --busy \
		--budget-ms "$BUDGET_MS" "$@" >"$json" || testbed_die "netpp $proto failed"
	local rc=$?
	testbed_stop "netpp-$proto" 2 >/dev/null 2>&1
	return $rc
}

# pingpong measures powers of two from 0; its budget is shared by all sizes.
BENCH_PINGPONG=(--max 1048576 --budget-ms $((BUDGET_MS * 6)))

# bench_wait SECONDS NAME...: spawned jobs end well, or their logs are shown.
bench_wait() {
	local end=$((SECONDS + $1)) n
	shift
	for n in "$@"; do
		while testbed_alive "$n" && ((SECONDS < end)); do sleep 0.1; done
		if testbed_alive "$n" || ! wait "$(cat "$TB_DIR/pid-$n")"; then
			testbed_die "$n failed or did not end in time:"
			tail -n 5 "$TB_LOG/$n.log" >&2
			return 1
		fi
	done
}

bench_turn() { printf '  round %d of %d\n' "$1" "$ROUNDS" >&2; }

bench_in_cluster() {
	local i b=$PWD/$B
	echo "in one cluster: two nodes, one bridge, MTU 9000, offloads off"
	testbed_up || return 1
	for ((i = 1; i <= ROUNDS; i++)); do
		bench_turn "$i"
		testbed_job_local "$b" pingpong 2 "$b/examples/pingpong" --json "$PWD/$out/raw-in-ours-$i" \
			"${BENCH_PINGPONG[@]}"
		bench_wait 60 pingpong || return 1
		# shellcheck disable=SC2086
		bench_netpp tcp a1 "$(testbed_addr a1)" a0 "$PWD/$out/raw-in-tcp-$i" $SIZES || return 1
	done
	testbed_down
	# shellcheck disable=SC2086
	test/bench/report.py "$out/in-cluster.json" "libmpi over Suci / kernel TCP, in one cluster" \
		"ping-pong, both busy-polled" "$out/raw-in-ours-*" tcp "$out/raw-in-tcp-*" $SIZES
}

# bench_relayed DELAY_MS: across two relays, against sockets over wanem alone (a host on
# either WAN bridge): UDP for the bare wire, TCP for what hosts with global addresses
# would get.
bench_relayed() {
	local delay=$1 i b=$PWD/$B NODES=1
	echo
	echo "across two relays: WAN MTU 1500, 1 Gb/s, $delay ms one way"
	testbed_up && bench_far_host && testbed_wanem "$b/bin/wanem" --delay-ms "$delay" --rate 1e9 &&
		testbed_server "$b" && testbed_relayd "$b" afe0 && testbed_relayd "$b" bfe0 || return 1
	for ((i = 1; i <= ROUNDS; i++)); do
		bench_turn "$i"
		testbed_job "$b" pingpong "$b/examples/pingpong" --json "$PWD/$out/raw-wan$delay-ours-$i" \
			"${BENCH_PINGPONG[@]}"
		bench_wait 90 pingpong-a pingpong-b || return 1
		bench_netpp udp far $BENCH_FAR srv "$PWD/$out/raw-wan$delay-udp-$i" 8 1024 || return 1
		# shellcheck disable=SC2086
		bench_netpp tcp far $BENCH_FAR srv "$PWD/$out/raw-wan$delay-tcp-$i" $SIZES || return 1
	done
	testbed_down
	test/bench/report.py "$out/relayed-$delay-ms-udp.json" \
		"libmpi over two relays / UDP over wanem alone, $delay ms" "ping-pong" \
		"$out/raw-wan$delay-ours-*" udp "$out/raw-wan$delay-udp-*" 8 1024
	# shellcheck disable=SC2086
	test/bench/report.py "$out/relayed-$delay-ms-tcp.json" \
		"libmpi over two relays / TCP over wanem alone, $delay ms" "ping-pong" \
		"$out/raw-wan$delay-ours-*" tcp "$out/raw-wan$delay-tcp-*" $SIZES
}

# A host on bridge wanB, as srv is one on wanA.
BENCH_FAR=198.51.100.3
bench_far_host() {
	_tb_ns far && _tb_link far eth0 wan far "$MTU_WAN" && _tb_port wan wanB far &&
		_tb_address far eth0 $BENCH_FAR/24 && testbed_build
}

# The long protocol: 256 KB messages with DATALEN 64 KB, ranks behind two relays against
# the same ranks with global addresses on the same WAN (the relay paper: 0.67).
bench_rendezvous() {
	local delay=${1:-5} i b=$PWD/$B NODES=1 c n env
	echo
	echo "long messages, DATALEN 64 KB: WAN MTU 1500, 1 Gb/s, $delay ms one way"
	testbed_up && bench_far_host && testbed_wanem "$b/bin/wanem" --delay-ms "$delay" --rate 1e9 &&
		testbed_server "$b" || return 1
	export IMPI_DATALEN=65536
	local job=("$b/examples/pingpong" --max 262144 --budget-ms $((BUDGET_MS * 4)))
	for ((i = 1; i <= ROUNDS; i++)); do
		bench_turn "$i"
		testbed_relayd "$b" afe0 && testbed_relayd "$b" bfe0 || return 1
		testbed_job "$b" long "${job[@]}" --json "$PWD/$out/raw-long-ours-$i"
		bench_wait 90 long-a long-b || return 1
		# They poll; the other arm needs none.
		testbed_stop relayd-afe0 >/dev/null 2>&1
		testbed_stop relayd-bfe0 >/dev/null 2>&1
		for c in 1:far 0:srv; do
			n=${c#*:}
			mapfile -t env < <(testbed_mpi_env a | grep -v hostfile)
			testbed_spawn "$n" "direct-$n" env "${env[@]}" IMPI_AUTH_NONE=1 "$b/bin/impirun" \
				-client "${c%:*}" $TB_SRV:7810 --launcher mpirun -np 1 "${job[@]}" \
				--json "$PWD/$out/raw-long-direct-$i"
		done
		bench_wait 90 direct-srv direct-far || return 1
	done
	unset IMPI_DATALEN
	testbed_down
	test/bench/report.py "$out/rendezvous.json" \
		"libmpi over two relays / libmpi with global addresses, $delay ms (throughput is 1/ratio)" \
		"ping-pong" "$out/raw-long-ours-*" direct "$out/raw-long-direct-*" 262144
}
