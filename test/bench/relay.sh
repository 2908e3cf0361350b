#!/usr/bin/env bash
# `make bench-relay` (root): one relayd worker against dpdk-testpmd's macswap on the same
# ports, and one relay hop against a kernel that routes and haproxy.  Taking turns in one
# run; ratios are taken round by round, medians printed.  Table, build/bench/relay.json and
# SVG.  Two CPUs: generator on the first, what is measured on the second.
#
#   ROUNDS (3)  MS (800) of a measurement   RT (1): a higher priority while measuring, so
#   that what else the machine does counts less   PARTS ("forward lanes hop series")
#   WINDOW (192) packets: 512 in custody are 1 MB, more than the second cache holds
#   PMD_BURST (64) frames a turn of testpmd, as many as relayd takes (its own default is 32)
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
ROUNDS=${ROUNDS:-3}
MS=${MS:-800}
RT=${RT:-1}
PMD_BURST=${PMD_BURST:-64}
WINDOW=${WINDOW:-192}
PARTS=${PARTS:-forward lanes hop series}
out=$PWD/build/bench
mkdir -p "$out"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root bench-relay
# Knobs of test/pktgen/lib.sh.
# shellcheck disable=SC2034
PG_MTU=1500
PG_IDLE=busy PG_SEGMENTS=8192
PG_SUCI=", \"private_cc\": \"fixed\", \"global_cc\": \"fixed\", \"private_window\": $WINDOW, \"global_window\": $WINDOW, \"credit\": 768"
# shellcheck source=test/pktgen/lib.sh
. test/pktgen/lib.sh
rt=()
rows=$TMP/rows
: >"$rows"

# scenario FILE HOSTS RELAYS PROCS LANES PATTERN PAYLOAD RATE MESSAGE SERIES; GEN: endpoint or
# template, WINDOW
scenario() {
	local order= # endpoints send again what was refused, later
	[ "${GEN:-endpoint}" = endpoint ] || order=', { "measure": "reordered", "max": 0 }'
	cat >"$TMP/$1.json" <<END
{ "name": "$1", "proves": "bench", "world": { "hosts": $2, "relays": $3, "procs_per_relay": $4, "series": ${10:-false} },
 "traffic": { "pattern": "$6", "direction": "out", "lanes": $5, "payload": $7, "window": $WINDOW, "cc": "fixed",
	"generator": "${GEN:-endpoint}", "rate_pps": ${8:-0}, "message": ${9:-0} },
 "run": { "warmup_ms": 200, "measure_ms": $MS, "drain_ms": 20000 },
 "expect": [ { "measure": "lost", "max": 0 }, { "measure": "damaged", "max": 0 }, { "measure": "wrong_ids", "max": 0 }$order ] }
END
}
# What is not measured stands still; what is comes before the rest of the machine.  Not at
# real-time priority: two polling loops at one would leave nothing to their own control.
wake() {
	boost -19
	kill -CONT "$1"
}
rest() {
	boost 0
	kill -STOP "$1"
}
# The scheduler shares CPUs among sessions first: the nice value of this one.
boost() { [ "$RT" = 0 ] || echo "$1" 2>/dev/null >/proc/$$/autogroup || true; }

# put WHAT ROUND JSON-OBJECT
put() { printf '%s %s %s\n' "$1" "$2" "$(tr -d '\n' <<<"$3")" >>"$rows"; }
# played WHAT ROUND SCENARIO LAB: measures of one scenario through relayd, awake already.  A
# port whose last other end is just gone may not take us at once.
played() {
	local k
	for k in 1 2 3 4 5 6; do
		timeout 60 "${rt[@]}" "$B/bin/relay-pktgen" --lab "$4" --json "$TMP/r.json" "$TMP/$3.json" \
			>"$TMP/play.log" 2>&1 && break
		if [ "$k" = 6 ] || ! grep -q ': start: ' "$TMP/play.log"; then
			cat "$TMP/play.log" >&2
			return 1
		fi
		sleep 0.5
	done
	put "$1" "$2" "$(python3 -c 'import json,sys; print(json.dumps(json.load(open(sys.argv[1]))[0]["measures"]))' "$TMP/r.json")"
}
# Segments the relay's worker has forwarded and seconds it had work, so far.
worked() {
	"$TMP/stats" | python3 -c 'import json,sys; w=json.load(sys.stdin)["workers"][0]; print(w["segments"], w["busy_s"])'
}
# loaded WHAT ROUND SCENARIO: the same over memif, and what the worker does in the time that it
# has work.
loaded() {
	local before after
	before=$(worked) && played "$1" "$2" "$3" "$TMP/lab.json" && after=$(worked) || return 1
	put "$1-busy" "$2" "$(awk -v a="$before" -v b="$after" 'BEGIN { split(a, x); split(b, y);
		printf "{ \"mpps\": %.6f }", (y[1] - x[1]) / (y[2] - x[2]) / 1e6 }')"
}
# blasted WHAT ROUND LAB ARG...
blasted() {
	local what=$1 round=$2 lab=$3 line
	shift 3
	for _ in 1 2 3 4 5 6; do # a port that has just been woken may not take us at once
		line=$(timeout 60 "${rt[@]}" "$B/bin/relay-pktgen" --lab "$lab" --ms "$MS" "$@" \
			2>"$TMP/play.log") && break
		sleep 0.5
	done
	[ -n "$line" ] || { cat "$TMP/play.log" >&2; return 1; }
	put "$what" "$round" "$line"
}

PMD_PID=
# pmd NETNS VDEV VDEV: macswap between two ports, until killed.
pmd() {
	[ -p "$TMP/pmd.in" ] || mkfifo "$TMP/pmd.in"
	exec 9<>"$TMP/pmd.in" # its end of file would be testpmd's end
	: >"$TMP/pmd.log"
	ip netns exec "$1" dpdk-testpmd --no-huge -m 192 --no-pci --no-telemetry \
		--file-prefix "$RUN-pmd" --lcores 0@0,1@1 --vdev "$2" --vdev "$3" -- -i \
		--forward-mode=macswap --burst="$PMD_BURST" --total-num-mbufs=16384 --rxd=1024 --txd=1024 \
		--auto-start <"$TMP/pmd.in" >"$TMP/pmd.log" 2>&1 &
	PMD_PID=$!
	disown
	for ((k = 0; k < 400; k++)); do
		grep -q '^testpmd>' "$TMP/pmd.log" && return 0
		kill -0 "$PMD_PID" 2>/dev/null || break
		sleep 0.05
	done
	tail -n 5 "$TMP/pmd.log" >&2
	return 1
}
pmd_stop() {
	[ -n "$PMD_PID" ] || return 0
	kill -CONT "$PMD_PID" 2>/dev/null
	kill -KILL "$PMD_PID" 2>/dev/null
	PMD_PID=
	rm -rf "/var/run/dpdk/$RUN-pmd"
}

# ---- memif: forwarding and lanes ------------------------------------------------------

# A testpmd of its own each time: it does not outlive the other end of its memif.
swapped() { # WHAT ROUND LAB BYTES
	rm -f "$TMP"/pmd?.sock
	pmd "$RUN-relayd" "$(pg_memif pmdp server 0)" "$(pg_memif pmdg server 1)" || return 1
	boost -19
	blasted "$1" "$2" "$3" --blast "$4" || return 1
	boost 0
	pmd_stop
}
memif_part() {
	local i pid gen wide="$TMP/pmd-lab.json"
	pg_lab || return 1
	pid=$(cat "$TMP/relayd.pid")
	rest "$pid"
	sed -e "s#/priv.sock#/pmdp.sock#" -e "s#/glob.sock#/pmdg.sock#" -e 's#"stats": "[^"]*", ##' \
		-e 's#"restart": "[^"]*", ##' "$TMP/lab.json" >"$wide"
	sed -i 's#"stats": "[^"]*", ##' "$TMP/lab.json"
	# From templates, as macswap's frames come, and from an endpoint for each path, which costs
	# the generator as much as the relay.
	for gen in template endpoint; do
		GEN=$gen scenario "$gen-64" 1 1 1 0 pairs 64
		GEN=$gen scenario "$gen-1400" 1 1 1 0 pairs 1400
		GEN=$gen WINDOW=64 scenario "$gen-lanes" 32 1 3125 100000 all 64
	done
	for ((i = 1; i <= ROUNDS; i++)); do
		echo "  memif, round $i of $ROUNDS" >&2
		wake "$pid"
		for gen in template endpoint; do
			loaded "relay-64-$gen" "$i" "$gen-64" && loaded "relay-1400-$gen" "$i" "$gen-1400" || return 1
			[[ $PARTS != *lanes* ]] || loaded "lanes-$gen" "$i" "$gen-lanes" || return 1
		done
		rest "$pid"
		# The same frames: 56 bytes of Suci headers before the payload.
		swapped macswap-64 "$i" "$wide" 120 && swapped macswap-1400 "$i" "$wide" 1456 || return 1
	done
	pmd_stop
	kill -CONT "$pid"
	pg_stop "$pid"
}

# ---- namespaces: one hop ---------------------------------------------------------------

# veth NS IF NS IF: offloads off.
veth() {
	ip link add name "$2" netns "$1" type veth peer name "$4" netns "$3" || return 1
	ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up
	ip netns exec "$1" ethtool -K "$2" tx off rx off tso off gso off gro off >/dev/null 2>&1
	ip netns exec "$3" ethtool -K "$4" tx off rx off tso off gso off gro off >/dev/null 2>&1
}
# hop_lab FILE PRIVATE-IF GLOBAL-IF
hop_lab() {
	cat >"$TMP/$1" <<END
{ "private": { "port": "$2", "prefix_len": 16, "relay": "10.0.0.2", "relay_global": "198.18.0.2",
	"primary": "10.0.0.1", "first": "10.0.16.0" },
 "global": { "port": "$3", "prefix_len": 16, "relay": "198.18.0.2", "first": "198.18.16.0" },
 "lcores": "0@0", "file_prefix": "$RUN-gen" }
END
}
# tcp_hop WHAT ROUND ADDRESS: ping-pong of kernel sockets; its server takes one client.
tcp_hop() {
	local sv line
	ip netns exec "$RUN-s" "$B/test/netpp" server tcp 0.0.0.0 7900 >/dev/null 2>&1 &
	sv=$!
	sleep 0.3
	line=$(ip netns exec "$RUN-c" timeout 20 "$B/test/netpp" client tcp "$3" 7900 --block \
		--budget-ms "$MS" 120) || return 1
	put "$1" "$2" "$line"
	kill "$sv" 2>/dev/null
	wait "$sv" 2>/dev/null
	return 0
}
hop_part() {
	local i pid g=$RUN-g r=$RUN-hop k=$RUN-k s=$RUN-s
	for i in "$g" "$r" "$k" "$s"; do
		ip netns add "$i" && ip -n "$i" link set lo up || return 1
		PG_NS+=("$i")
	done
	veth "$g" r0 "$r" priv0 && veth "$g" r1 "$r" glob0 && veth "$g" w0 "$g" w1 &&
		veth "$g" t0 "$r" tp0 && veth "$g" t1 "$r" tp1 &&
		veth "$g" k0 "$k" kp0 && veth "$g" k1 "$k" kp1 || return 1
	# A kernel that routes between k0 and k1.
	ip -n "$k" addr add 10.0.0.2/16 dev kp0
	ip -n "$k" addr add 198.18.0.2/16 dev kp1
	ip netns exec "$k" sysctl -qw net.ipv4.ip_forward=1
	# haproxy between two stacks; beside it a wire between the same.
	veth "$s" c0 "$k" hp0 || return 1
	ip netns add "$RUN-c" && PG_NS+=("$RUN-c") && ip -n "$RUN-c" link set lo up
	veth "$RUN-c" h0 "$k" hp1 && veth "$RUN-c" d0 "$s" d1 || return 1
	ip -n "$s" addr add 192.0.2.1/24 dev c0
	ip -n "$k" addr add 192.0.2.2/24 dev hp0
	ip -n "$k" addr add 203.0.113.2/24 dev hp1
	ip -n "$RUN-c" addr add 203.0.113.1/24 dev h0
	ip -n "$RUN-c" addr add 198.51.100.1/24 dev d0
	ip -n "$s" addr add 198.51.100.2/24 dev d1
	cat >"$TMP/haproxy.cfg" <<END
global
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen hop
  bind 203.0.113.2:7900
  server s 192.0.2.1:7900
END
	taskset -c 1 ip netns exec "$k" haproxy -db -f "$TMP/haproxy.cfg" >"$TMP/haproxy.log" 2>&1 &
	local ha=$!
	disown
	pg_conf hop priv0 glob0 "0@0,1@1" 10.0.0.2 198.18.0.2 10.0.0.1
	sed -i 's/"device": "\(priv0\|glob0\)"/"interface": "\1"/' "$TMP/hop.json"
	pg_start hop || return 1
	pid=$(cat "$TMP/hop.pid")
	rest "$pid"
	local af="qpairs=1,framesz=2048,blocksz=8192,framecnt=1024"
	pmd "$r" "net_af_packet0,iface=tp0,$af" "net_af_packet1,iface=tp1,$af" || return 1
	rest "$PMD_PID"
	hop_lab wire-lab w0 w1
	hop_lab kernel-lab k0 k1
	hop_lab pmd-lab t0 t1
	hop_lab relay-lab r0 r1
	scenario hop 1 1 1 0 pairs 64 2000
	rt=(ip netns exec "$g")
	for ((i = 1; i <= ROUNDS; i++)); do
		echo "  one hop, round $i of $ROUNDS" >&2
		blasted hop-wire "$i" "$TMP/wire-lab" --blast 120 --rate-pps 2000 &&
			blasted hop-kernel "$i" "$TMP/kernel-lab" --blast 120 --rate-pps 2000 --router || return 1
		wake "$PMD_PID"
		blasted hop-macswap "$i" "$TMP/pmd-lab" --blast 120 --rate-pps 2000 || return 1
		rest "$PMD_PID"
		wake "$pid"
		played hop-relay "$i" hop "$TMP/relay-lab" || return 1
		rest "$pid"
		boost -19
		tcp_hop hop-tcp "$i" 198.51.100.2 && tcp_hop hop-haproxy "$i" 203.0.113.2 || return 1
		boost 0
	done
	rt=()
	pmd_stop
	kill "$ha" 2>/dev/null
	kill -CONT "$pid"
	pg_stop "$pid"
}

# ---- two relays in series ----------------------------------------------------------------

# The trunk is paced to SERIES_MBPS, so that three programs on two CPUs are not what is
# measured; one relay to an emulated one, then two.
series_part() {
	local i rate=${SERIES_MBPS:-300}
	PG_IDLE=sleep
	PG_SLEEP=true
	PG_SUCI=", \"private_cc\": \"cubic\", \"global_cc\": \"fixed\", \"global_rate_mbps\": $rate"
	rm -f "$TMP"/*.sock "$TMP"/relayd.*
	pg_lab || return 1
	sed -i 's#"stats": "[^"]*", ##' "$TMP/lab.json"
	pg_conf first "$(pg_memif ap server 0)" "$(pg_memif ab server 1)" "0@1,1@1" 10.0.0.2 198.18.0.2 10.0.0.1
	pg_conf second "$(pg_memif bp server 0)" "$(pg_memif ab client 1)" "0@1,1@1" 10.1.0.2 198.18.0.3 10.1.0.1
	pg_start first && pg_start second || return 1
	cat >"$TMP/series.lab" <<END
{ "private": { "port": "$(pg_memif ap client 0)", "prefix_len": 16, "relay": "10.0.0.2",
	"relay_global": "198.18.0.2", "primary": "10.0.0.1", "first": "10.0.16.0" },
 "second": { "port": "$(pg_memif bp client 1)", "prefix_len": 16, "relay": "10.1.0.2",
	"relay_global": "198.18.0.3", "primary": "10.1.0.1", "first": "10.1.16.0" },
 "lcores": "0@0", "file_prefix": "$RUN-gen", "sleep": true }
END
	MS=$((MS * 2)) scenario one 1 1 1 0 pairs 1400 0 1048576
	MS=$((MS * 2)) scenario two 1 1 1 0 pairs 1400 0 1048576 true
	rt=()
	for ((i = 1; i <= ROUNDS; i++)); do
		echo "  series, round $i of $ROUNDS" >&2
		boost -19
		played series-1 "$i" one "$TMP/lab.json" && played series-2 "$i" two "$TMP/series.lab" || return 1
		boost 0
	done
	for i in relayd first second; do pg_stop "$(cat "$TMP/$i.pid")"; done
}

[[ $PARTS != *forward* && $PARTS != *lanes* ]] || memif_part || exit 1
[[ $PARTS != *hop* ]] || hop_part || exit 1
[[ $PARTS != *series* ]] || series_part || exit 1
cp "$rows" "$out/relay.rows"
test/bench/report-relay.py "$rows" "$out"
