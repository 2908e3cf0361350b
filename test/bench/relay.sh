#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-relay` (root): one relayd worker against dpdk-testpmd's macswap on the same
# ports, and one relay hop against a kernel that routes and haproxy.  All that is compared
# stands at the same time, each with its generator, and has short turns (relay-turns.py);
# ratios are of neighbouring turns.  Table, build/bench/relay.json and SVG.  Two CPUs:
# generators on the first, what is measured on the second.
#
#   SESSIONS (3)      times that all is started anew, for each size of payload
#   ROUNDS (20)       of turns in a session
#   TURN_MS (15)      HOP_TURN_MS (50), of the hop, where a turn is 2 segments a ms
#   RT (1)            a higher priority, so that what else the machine does counts less
#   PARTS ("forward lanes hop series workers")      SIZES ("64 1400") of payload
#   GENS ("template endpoint")   what plays to relayd: the bars are for templates, endpoints
#                     cost the generator as much as the relay
#   OTHER=PROGRAM     a second relayd beside this one: what a change gains
#   OTHER_GEN=PROGRAM plays to that second one, or to a second one of this relayd's
#   PG_SEALED (1)     1: a sealed global leg beside an unsealed one, of forwarding and hop; 0: unsealed only
#   WINDOW (192)      packets: 512 in custody are 1 MB, more than the second cache holds
#   PMD_BURST (64)    frames a turn of testpmd, as many as relayd takes (its own default is 32)
#   SERIES_MBPS (300) SERIES_ROUNDS (3) SERIES_MS (1600) of two relays in series
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
SESSIONS=${SESSIONS:-3}
ROUNDS=${ROUNDS:-20}
TURN_MS=${TURN_MS:-15}
HOP_TURN_MS=${HOP_TURN_MS:-50}
RT=${RT:-1}
PMD_BURST=${PMD_BURST:-64}
WINDOW=${WINDOW:-192}
PARTS=${PARTS:-forward lanes hop series workers}
SIZES=${SIZES:-64 1400}
GENS=${GENS:-template endpoint}
SEALED=${PG_SEALED:-1}
SERIES_MBPS=${SERIES_MBPS:-300}
SERIES_ROUNDS=${SERIES_ROUNDS:-3}
SERIES_MS=${SERIES_MS:-1600}
out=$PWD/build/bench
mkdir -p "$out"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root bench-relay
# Knobs of test/pktgen/lib.sh.  Who is stopped for a while is not dead.
# shellcheck disable=SC2034
PG_MTU=1500
PG_BSIZE=2048
PG_IDLE=busy PG_SEGMENTS=8192 PG_SEALED=0
PG_SUCI=", \"private_cc\": \"fixed\", \"global_cc\": \"fixed\", \"private_window\": $WINDOW, \"global_window\": $WINDOW, \"credit\": 768, \"liveness_ms\": 60000, \"keepalive_ms\": 15000"
# shellcheck source=test/pktgen/lib.sh
. test/pktgen/lib.sh
rows=$TMP/rows
: >"$rows"

# The scheduler shares CPUs among sessions first: the nice value of this one.
boost() { [ "$RT" = 0 ] || echo "$1" 2>/dev/null >/proc/$$/autogroup || true; }

# scenario NAME HOSTS RELAYS PROCS LANES PATTERN PAYLOAD RATE MESSAGE SERIES; GEN: endpoint or
# template, WINDOW
scenario() {
	local order= # endpoints send again what was refused, later
	[ "${GEN:-endpoint}" = endpoint ] || order=', { "measure": "reordered", "max": 0 }'
	cat >"$TMP/$1.scenario" <<END
{ "name": "$1", "proves": "bench", "world": { "hosts": $2, "relays": $3, "procs_per_relay": $4, "series": ${10:-false} },
 "traffic": { "pattern": "$6", "direction": "out", "lanes": $5, "payload": $7, "window": $WINDOW, "cc": "fixed",
	"generator": "${GEN:-endpoint}", "rate_pps": ${8:-0}, "message": ${9:-0} },
 "run": { "warmup_ms": 200, "measure_ms": $SERIES_MS, "drain_ms": 20000 },
 "expect": [ { "measure": "lost", "max": 0 }, { "measure": "damaged", "max": 0 }, { "measure": "wrong_ids", "max": 0 }$order ] }
END
}
# lab NAME PRIVATE-PORT GLOBAL-PORT: for a generator beside other ones.
lab() {
	local key=
	[ "${PG_SEALED:-0}" = 0 ] || key=", \"key_file\": \"$TMP/psk\""
	cat >"$TMP/$1.lab" <<END
{ "private": { "port": "$2", "prefix_len": 16, "relay": "10.0.0.2", "relay_global": "198.18.0.2",
	"primary": "10.0.0.1", "first": "10.0.16.0" },
 "global": { "port": "$3", "prefix_len": 16, "relay": "198.18.0.2", "first": "198.18.16.0" },
 "lcores": "0@0", "file_prefix": "$RUN-gen-$1"$key }
END
}
pid_of() { cat "$TMP/$1.pid"; }
# contend NAME PIDS STATS-FILE PEER COMMAND...: one more for the next turns.
contend() {
	python3 -c 'import json, sys
name, pids, stats, peer, *command = sys.argv[1:]
print(json.dumps({"name": name, "pids": [int(p) for p in pids.split()], "stats": stats,
                  "peer": peer == "peer", "command": command}))' "$@" >>"$TMP/contenders"
}
# turns SESSION NAME...: rounds of that order.
turns() {
	local rc
	boost -19
	SESSION=$1 ROUNDS=$ROUNDS TURN_MS=$TURN_MS test/bench/relay-turns.py "$TMP/contenders" "$rows" "${@:2}"
	rc=$?
	boost 0
	rm -f "$TMP/contenders"
	return $rc
}

PMD_PID=
# pmd NETNS VDEV VDEV: macswap between two ports, stopped.
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
		grep -q '^testpmd>' "$TMP/pmd.log" && kill -STOP "$PMD_PID" && return 0
		kill -0 "$PMD_PID" 2>/dev/null || break
		sleep 0.05
	done
	tail -n 5 "$TMP/pmd.log" >&2
	return 1
}
pmd_stop() {
	[ -n "$PMD_PID" ] || return 0
	kill -KILL "$PMD_PID" 2>/dev/null
	PMD_PID=
	rm -rf "/var/run/dpdk/$RUN-pmd"
}

# ---- memif: forwarding and lanes ------------------------------------------------------

# stand NAME: a relayd of that name, stopped, and a generator that plays the scenario NAME.
stand() { # this relayd and generator, or RELAYD and GENERATOR
	pg_conf "$1" "$(pg_memif "$1-p" server 0)" "$(pg_memif "$1-g" server 1)" "0@0,1@1" \
		10.0.0.2 198.18.0.2 10.0.0.1
	rm -f "$TMP/$1.log" # an earlier session's says "ready"
	pg_start "$1" || return 1
	kill -STOP "$(pid_of "$1")"
	lab "$1" "$(pg_memif "$1-p" client 0)" "$(pg_memif "$1-g" client 1)"
	contend "$1" "$(pid_of "$1")" "$TMP/$1-stats.json" "" \
		"${GENERATOR:-$B/bin/relay-pktgen}" --lab "$TMP/$1.lab" --turns "$TMP/$1.scenario"
}
memif_session() { # SESSION BYTES
	local gen name sealed names=() macswap=macswap-$2
	for gen in $GENS; do
		name=relay-$2-$gen
		GEN=$gen scenario "$name" 1 1 1 0 pairs "$2"
		stand "$name" || return 1
		names+=("$macswap" "$name") # a neighbour for each
		if [ "$SEALED" = 1 ]; then
			sealed=sealed-$2-$gen
			GEN=$gen scenario "$sealed" 1 1 1 0 pairs "$2"
			PG_SEALED=1 stand "$sealed" || return 1
			names+=("$sealed")
			name=$sealed
		fi
		if [ -n "${OTHER:-}${OTHER_GEN:-}" ]; then # sealed, if anything is
			GEN=$gen scenario "other-$name" 1 1 1 0 pairs "$2"
			PG_SEALED=$SEALED RELAYD=${OTHER:-} GENERATOR=${OTHER_GEN:-} stand "other-$name" || return 1
			names+=("other-$name")
		fi
		[[ $PARTS == *lanes* && $2 = 64 ]] || continue
		GEN=$gen WINDOW=64 scenario "lanes-$gen" 32 1 3125 100000 all 64
		stand "lanes-$gen" || return 1
		names+=("lanes-$gen")
	done
	pmd "$RUN-$name" "$(pg_memif pmd-p server 0)" "$(pg_memif pmd-g server 1)" || return 1
	lab "$macswap" "$(pg_memif pmd-p client 0)" "$(pg_memif pmd-g client 1)"
	# The same frames: 56 bytes of Suci headers before the payload.
	contend "$macswap" "$PMD_PID" "" peer \
		"$B/bin/relay-pktgen" --lab "$TMP/$macswap.lab" --turns --blast $(($2 + 56))
	turns "$1" "${names[@]}" || return 1
	pmd_stop
	for name in "${names[@]}"; do
		[ "$name" = "$macswap" ] || pg_stop "$(pid_of "$name")"
	done
	rm -f "$TMP"/*.sock "$TMP"/*.pid
}
memif_part() {
	local i n
	for ((i = 0; i < SESSIONS; i++)); do
		for n in $SIZES; do
			echo "  memif, $n B, session $((i + 1)) of $SESSIONS" >&2
			memif_session "$i" "$n" || return 1
		done
	done
}

# A peer that this bench would have where it can: said, so that nobody looks for the row.
if ! ip link add name "$RUN-wg" type wireguard 2>/dev/null; then
	echo "  this kernel has no WireGuard: no row beside a WireGuard router" >&2
else
	ip link del "$RUN-wg"
	echo "  this kernel has WireGuard, but there is no row beside it yet" >&2
fi

# ---- namespaces: one hop ---------------------------------------------------------------

# veth NS IF NS IF: offloads off.
veth() {
	ip link add name "$2" netns "$1" type veth peer name "$4" netns "$3" || return 1
	ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up
	ip netns exec "$1" ethtool -K "$2" tx off rx off tso off gso off gro off >/dev/null 2>&1
	ip netns exec "$3" ethtool -K "$4" tx off rx off tso off gso off gro off >/dev/null 2>&1
}
# blast_hop NAME PIDS ARG...: a contender that sends plain frames.
blast_hop() {
	lab "$1" a0 a1
	contend "hop-$1" "$2" "" peer ip netns exec "$RUN-g$1" "$B/bin/relay-pktgen" --lab "$TMP/$1.lab" \
		--turns --blast 120 --rate-pps 2000 "${@:3}"
}
# tcp_hop NAME PORT ADDRESS: ping-pong of kernel sockets; its server takes one client.
SERVERS=()
tcp_hop() {
	ip netns exec "$RUN-s" "$B/test/netpp" server tcp 0.0.0.0 "$2" >/dev/null 2>&1 &
	SERVERS+=($!)
	contend "hop-$1" "" "" "" ip netns exec "$RUN-c" "$B/test/netpp" client tcp "$3" "$2" --block --turns 120
}
# A namespace for each user of af_packet: the driver numbers its fanout groups by process id and
# interface, and two of one namespace may get the same.
hop_nets() {
	local i g=$RUN-g r=$RUN-hop k=$RUN-k s=$RUN-s c=$RUN-c p=$RUN-pmd
	for i in "${g}wire" "${g}relay" "${g}macswap" "${g}kernel" "$r" "$p" "$k" "$s" "$c"; do
		ip netns add "$i" && ip -n "$i" link set lo up || return 1
		PG_NS+=("$i")
	done
	veth "${g}relay" a0 "$r" priv0 && veth "${g}relay" a1 "$r" glob0 &&
		veth "${g}wire" a0 "${g}wire" a1 &&
		veth "${g}macswap" a0 "$p" tp0 && veth "${g}macswap" a1 "$p" tp1 &&
		veth "${g}kernel" a0 "$k" kp0 && veth "${g}kernel" a1 "$k" kp1 || return 1
	# A kernel that routes between a0 and a1.
	ip -n "$k" addr add 10.0.0.2/16 dev kp0
	ip -n "$k" addr add 198.18.0.2/16 dev kp1
	ip netns exec "$k" sysctl -qw net.ipv4.ip_forward=1
	# haproxy between two stacks; beside it a wire between the same.
	veth "$s" c0 "$k" hp0 && veth "$c" h0 "$k" hp1 && veth "$c" d0 "$s" d1 || return 1
	ip -n "$s" addr add 192.0.2.1/24 dev c0
	ip -n "$k" addr add 192.0.2.2/24 dev hp0
	ip -n "$k" addr add 203.0.113.2/24 dev hp1
	ip -n "$c" addr add 203.0.113.1/24 dev h0
	ip -n "$c" addr add 198.51.100.1/24 dev d0
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
  bind 203.0.113.2:7901
  server s 192.0.2.1:7901
END
}
hop_session() { # SESSION
	local ha k=$RUN-k af="qpairs=1,framesz=2048,blocksz=8192,framecnt=1024"
	taskset -c 1 ip netns exec "$k" haproxy -db -f "$TMP/haproxy.cfg" >"$TMP/haproxy.log" 2>&1 &
	ha=$!
	disown
	pg_conf hop priv0 glob0 "0@0,1@1" 10.0.0.2 198.18.0.2 10.0.0.1
	sed -i 's/"device": "\(priv0\|glob0\)"/"interface": "\1"/' "$TMP/hop.json"
	rm -f "$TMP/hop.log"
	pg_start hop || return 1
	kill -STOP "$(pid_of hop)"
	pmd "$RUN-pmd" "net_af_packet0,iface=tp0,$af" "net_af_packet1,iface=tp1,$af" || return 1
	GEN=template scenario hop 1 1 1 0 pairs 64 2000
	lab hop a0 a1
	contend hop-relay "$(pid_of hop)" "" "" ip netns exec "$RUN-grelay" "$B/bin/relay-pktgen" \
		--lab "$TMP/hop.lab" --turns "$TMP/hop.scenario"
	blast_hop wire ""
	blast_hop macswap "$PMD_PID"
	blast_hop kernel "" --router
	tcp_hop tcp 7900 198.51.100.2
	tcp_hop haproxy 7901 203.0.113.2
	TURN_MS=$HOP_TURN_MS turns "$1" hop-kernel hop-relay hop-wire hop-macswap hop-tcp hop-haproxy || return 1
	pmd_stop
	kill "$ha" "${SERVERS[@]}" 2>/dev/null
	SERVERS=()
	pg_stop "$(pid_of hop)"
	rm -f "$TMP"/hop.pid
}
hop_part() {
	local i
	hop_nets || return 1
	for ((i = 0; i < SESSIONS; i++)); do
		echo "  one hop, session $((i + 1)) of $SESSIONS" >&2
		hop_session "$i" || return 1
	done
}

# ---- two relays in series ----------------------------------------------------------------

# played NAME NUMBER LAB: measures of one scenario, for its whole time.  A port whose last
# other end is just gone may not take us at once.
played() {
	local k
	for k in 1 2 3 4 5 6; do
		timeout 60 "$B/bin/relay-pktgen" --lab "$3" --json "$TMP/r.json" "$TMP/$1.scenario" \
			>"$TMP/play.log" 2>&1 && break
		if [ "$k" = 6 ] || ! grep -q ': start: ' "$TMP/play.log"; then
			cat "$TMP/play.log" >&2
			return 1
		fi
		sleep 0.5
	done
	python3 -c 'import json, sys
print(json.dumps({"session": 0, "number": int(sys.argv[1]), "name": sys.argv[2],
                  **json.load(open(sys.argv[3]))[0]["measures"]}))' "$2" "$1" "$TMP/r.json" >>"$rows"
}

# The trunk is paced to SERIES_MBPS, so that three programs on two CPUs are not what is
# measured; one relay to an emulated one, then two.
series_part() {
	local i
	PG_IDLE="sleep"
	PG_SLEEP=true
	PG_SUCI=", \"private_cc\": \"cubic\", \"global_cc\": \"fixed\", \"global_rate_mbps\": $SERIES_MBPS"
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
	scenario series-1 1 1 1 0 pairs 1400 0 1048576
	scenario series-2 1 1 1 0 pairs 1400 0 1048576 true
	for ((i = 0; i < SERIES_ROUNDS; i++)); do
		echo "  series, round $((i + 1)) of $SERIES_ROUNDS" >&2
		boost -19
		played series-1 $((2 * i)) "$TMP/lab.json" && played series-2 $((2 * i + 1)) "$TMP/series.lab" ||
			return 1
		boost 0
	done
	for i in relayd first second; do pg_stop "$(pid_of "$i")"; done
}

# ---- two workers -------------------------------------------------------------------------
# shellcheck source=test/bench/relay-workers.sh
. test/bench/relay-workers.sh

[[ $PARTS != *forward* && $PARTS != *lanes* ]] || memif_part || exit 1
[[ $PARTS != *workers* ]] || workers_part || exit 1
[[ $PARTS != *hop* ]] || hop_part || exit 1
[[ $PARTS != *series* ]] || series_part || exit 1
cp "$rows" "$out/relay.rows"
test/bench/report-relay.py "$rows" "$out"
