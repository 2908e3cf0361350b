# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# One gateway hop against haproxy in TCP mode, sourced by run-bench.  A host a0 inside
# the cluster and a host gc outside talk IMPI packets (impipp) four ways, in turn, in the
# same namespaces:
#
#	direct    routed by the kernel of the front end: what all others add to
#	haproxy   through haproxy on the front end
#	host      through relayd's gateway, sockets on the front end's own interfaces
#	leg       through relayd's gateway, sockets on the TAPs of its legs
#
#	 a0 10.0.0.1 ------ legs 10.0.0.254 -- relayd -- 198.51.100.11 ------ 198.51.100.40 gc
#	 a0 10.0.1.1 ------ mpriv 10.0.1.254 - front end - 203.0.113.11 mglob ---- 203.0.113.40 gc

GW_IN=10.0.1 GW_OUT=203.0.113 GW_SIZES="0 1024 65536"

testbed_gates() { # of the relays: for the arm `host` the management address
	[ -z "${GW_HOST_ARM:-}" ] || echo $GW_IN.254
}

_gw_up() {
	local fe=afe0
	testbed_plan && _tb_ns gc && _tb_link gc eth0 wan gc "$MTU_WAN" && _tb_port wan wanA gc &&
		_tb_address gc eth0 198.51.100.40/24 &&
		_tb_address gc eth0 $GW_OUT.40/24 &&
		_tb_address a0 eth0 $GW_IN.1/24 &&
		_tb_link $fe mpriv asw fm "$MTU_IN" && _tb_port asw br0 fm &&
		_tb_link $fe mglob wan fm "$MTU_WAN" && _tb_port wan wanA fm &&
		_tb_address $fe mpriv $GW_IN.254/24 &&
		_tb_address $fe mglob $GW_OUT.11/24 && testbed_build &&
		ip -n "$TB_ID-a0" route add $GW_OUT.0/24 via $GW_IN.254 &&
		ip -n "$TB_ID-gc" route add $GW_IN.0/24 via $GW_OUT.11 &&
		testbed_exec $fe sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

_gw_haproxy() {
	cat >"$TB_DIR/haproxy.cfg" <<EOF
global
	nbthread 1
defaults
	mode tcp
	timeout connect 5s
	timeout client 60s
	timeout server 60s
frontend in
	bind $GW_IN.254:7990
	default_backend out
backend out
	server gc $GW_OUT.40:7991
EOF
	testbed_spawn afe0 haproxy haproxy -db -f "$TB_DIR/haproxy.cfg"
	sleep 0.5
	testbed_alive haproxy || testbed_die "haproxy did not start: $(tail -n 3 "$TB_LOG/haproxy.log")"
}

# _gw_bare ARM ADDRESS PORT LISTEN_PORT OUT: a0 connects to ADDRESS:PORT, gc listens.
_gw_bare() {
	testbed_spawn gc "gw-$1" "$PWD/$B/test/impipp" listen $GW_OUT.40 "$4"
	sleep 0.3
	# shellcheck disable=SC2086
	testbed_exec a0 "$PWD/$B/test/impipp" connect "$2" "$3" --budget-ms "$BUDGET_MS" $GW_SIZES \
		>"$5" || testbed_die "impipp $1 failed"
	local rc=$?
	testbed_stop "gw-$1" 2 >/dev/null 2>&1
	return $rc
}

# _gw_job ARM A_ADDRESS GC_ADDRESS OUT: two IMPI clients, one behind the relay.
_gw_job() {
	testbed_spawn gc "gw-$1" env IMPI_AUTH_NONE=1 "$PWD/$B/test/impipp" join $TB_SRV:7810 1 "$3"
	# shellcheck disable=SC2086
	testbed_exec a0 env IMPI_AUTH_NONE=1 timeout 120 "$PWD/$B/test/impipp" join \
		"$(testbed_addr afe0):7811" 0 "$2" --budget-ms "$BUDGET_MS" $GW_SIZES >"$4" ||
		testbed_die "impipp $1 failed: $(tail -n 3 "$TB_LOG/gw-$1.log" "$TB_LOG/relayd-afe0.log")"
}

# _gw_relayd ARM: relayd as the arm wants it, or the one that runs already.
_gw_relayd() {
	local via
	[ "$1" != "${GW_RUNNING:-}" ] || return 0
	[ -z "${GW_RUNNING:-}" ] || testbed_stop relayd-afe0 >/dev/null 2>&1
	GW_RUNNING=$1 GW_HOST_ARM='' TB_GATE_GLOBAL='' via=leg
	if [ "$1" = host ]; then GW_HOST_ARM=1 TB_GATE_GLOBAL=$GW_OUT.11 via=host; fi
	TB_RELAY_CONF="\"gateway\": { \"poll_us\": ${GW_POLL_US:-50}, \"private_via\": \"$via\", \"global_via\": \"$via\" }" \
		testbed_relayd "$PWD/$B" afe0
}

bench_gateway() {
	local i arm pre=$PWD/$out/raw-gw NODES=1 RELAYS=1 GW_RUNNING=''
	echo
	echo "one gateway hop: a host inside, a host outside, no delay; receives block in the kernel"
	_gw_up && testbed_server "$PWD/$B" && _gw_haproxy || return 1
	for ((i = 1; i <= ROUNDS; i++)); do
		bench_turn "$i"
		_gw_bare direct $GW_OUT.40 7992 7992 "$pre-direct-$i" &&
			_gw_bare haproxy $GW_IN.254 7990 7991 "$pre-haproxy-$i" || return 1
		for arm in host leg; do
			_gw_relayd $arm || return 1
			if [ $arm = host ]; then
				_gw_job $arm $GW_IN.1 $GW_OUT.40 "$pre-$arm-$i" || return 1
			else
				_gw_job $arm 10.0.0.1 198.51.100.40 "$pre-$arm-$i" || return 1
			fi
		done
		# relayd stops polling while the others are measured.
		testbed_stop relayd-afe0 >/dev/null 2>&1
		GW_RUNNING=''
	done
	testbed_down
	unset TB_GATE_GLOBAL GW_HOST_ARM
	# shellcheck disable=SC2086
	test/bench/report-hop.py "$out/gateway.json" "$pre" "$ROUNDS" $GW_SIZES
}
