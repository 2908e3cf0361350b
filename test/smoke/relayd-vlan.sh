#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Legs in VLANs, whose tags relayd sends and expects: ARP and neighbour discovery, ping up to the MTU,
# TCP through the TAP, by IPv4 and IPv6; untagged frames and those of other VLANs are dropped by name.
# Then both legs at one interface, in two VLANs, and in two subnets without tags, where IPv6 is the
# global leg's.
# ipv6: always
# timeout: 120
export IPV6=1
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-vlan
make_net || { fail relayd-vlan-net "cannot make namespaces"; exit 1; }

in_node() { ip netns exec "$NODE" "$@"; }
in_wan() { ip netns exec "$WAN" "$@"; }
IN6=fd00:: OUT6=$SIX
# vlan NAMESPACE INTERFACE ID ADDRESS ADDRESS6 [TO]: a VLAN of the wire's, in namespace TO.
vlan() {
	local to=${6:-$1} i
	ip netns exec "$1" timeout 120 python3 test/smoke/_vlan.py "$2" "$3" "$to" "$2.$3" 9000 &
	TAGGERS+=($!)
	for ((i = 0; i < 200; i++)); do ip -n "$to" addr add "$4" dev "$2.$3" 2>/dev/null && break; sleep 0.1; done
	ip netns exec "$to" sh -c "echo 0 >/proc/sys/net/ipv6/conf/$2.$3/disable_ipv6" &&
		ip -n "$to" addr add "$5/64" dev "$2.$3" nodad
}
TAGGERS=()
untag() { kill "${TAGGERS[@]}"; wait "${TAGGERS[@]}" 2>/dev/null; TAGGERS=(); }
speaks() { # NAME: the node and the WAN reach the relay
	check "$1-private" "no echo reply" in_node ping -q -c 3 -i 0.05 -W 2 10.0.0.1
	check "$1-global" "no echo reply" in_wan ping -q -c 3 -i 0.05 -W 2 198.51.100.1
	check "$1-private6" "no echo reply by IPv6" in_node ping -6 -q -c 3 -i 0.05 -W 2 ${IN6}1
	check "$1-global6" "no echo reply by IPv6" in_wan ping -6 -q -c 3 -i 0.05 -W 2 ${OUT6}1
	for at in 10.0.0.1 ${IN6}1; do
		check "$1-tcp" "no TCP connection to the IMPI port at $at" \
			in_node python3 -c "import socket; socket.create_connection(('$at', 7811), 5)"
	done
}
drops() { stats && stat "s[\"legs\"][\"$1\"][\"rx_drops\"][\"vlan\"]"; }

ip -n "$NODE" addr flush dev p0
ip -n "$WAN" addr flush dev g0
vlan "$NODE" p0 10 10.0.0.10/24 ${IN6}10 && vlan "$WAN" g0 20 198.51.100.9/24 ${OUT6}9 ||
	{ fail relayd-vlan-kernel "no VLANs"; exit 1; }
make_conf
sed -i -e 's/"interface": "priv0"/&, "vlan": 10/' -e 's/"interface": "glob0"/&, "vlan": 20/' \
	-e "s#\"address\": \"10.0.0.1\"#&, \"ipv6\": \"${IN6}1/64\"#" "$TMP/conf.json"
start_relayd || { fail vlan-start "no ready line; log follows"; exit 1; }
speaks vlan
check vlan-jumbo "no echo reply of the whole MTU" in_node ping -q -M do -s 8972 -c 2 -i 0.05 -W 2 10.0.0.1
check vlan-jumbo6 "no echo reply of the whole MTU" in_node ping -6 -q -M do -s 8952 -c 2 -i 0.05 -W 2 ${IN6}1
before=$(drops private)
ip -n "$NODE" addr add 10.0.0.11/24 dev p0
check vlan-untagged "an untagged ping was answered" bash -c "! ip netns exec $NODE ping -q -I p0 -c 2 -i 0.05 -W 1 10.0.0.1"
vlan "$NODE" p0 11 10.0.0.12/24 ${IN6}12
check vlan-other "a ping in another VLAN was answered" bash -c "! ip netns exec $NODE ping -q -I p0.11 -c 2 -i 0.05 -W 1 10.0.0.1"
middle=$(drops private)
check vlan-other6 "a ping in another VLAN was answered" bash -c "! ip netns exec $NODE ping -6 -q -I p0.11 -c 2 -i 0.05 -W 1 ${IN6}1"
after=$(drops private)
check vlan-drops "vlan was $before, is $middle" [ "$middle" -gt "$before" ]
check vlan-drops6 "vlan was $middle, is $after" [ "$after" -gt "$middle" ]
stop_relayd
check vlan-exit "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]

# One port: the WAN's VLAN is on the node's wire.
ip -n "$NODE" addr flush dev p0
untag
vlan "$NODE" p0 10 10.0.0.10/24 ${IN6}10 && vlan "$NODE" p0 20 198.51.100.9/24 ${OUT6}9 "$WAN" || fail vlan-one-wire "the VLAN is not moved"
sed -i 's/"interface": "glob0"/"interface": "priv0"/' "$TMP/conf.json"
check vlan-one-check "--check refuses it" ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/conf.json"
start_relayd || { fail vlan-one-start "no ready line; log follows"; exit 1; }
speaks vlan-one
"$B/bin/relayctl" -s "$RUN" reset global >/dev/null
again() { "$B/bin/relayctl" -s "$RUN" --json ports | grep -q '"resets_done": 1'; }
for _ in $(seq 200); do again && break; sleep 0.1; done
speaks vlan-one-reset
stop_relayd
check vlan-one-exit "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]

# Two subnets without tags; the check warns.
untag
ip -n "$NODE" addr add 10.0.0.10/24 dev p0
ip -n "$NODE" addr add 198.51.100.9/24 dev p0
ip netns exec "$NODE" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/p0/disable_ipv6'
ip -n "$NODE" addr add ${OUT6}9/64 dev p0 nodad
sed -i -e 's/, "vlan": [0-9]*//' "$TMP/conf.json"
ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/conf.json" >"$TMP/out" 2>&1
check vlan-none-six "$(cat "$TMP/out")" grep -q '/ports/private/ipv6: both legs are at one port, in one VLAN: ' "$TMP/out"
sed -i "s#, \"ipv6\": \"${IN6}1/64\"##" "$TMP/conf.json"
ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/conf.json" >"$TMP/out" 2>&1
check vlan-none-warned "$(cat "$TMP/out")" grep -q 'warning: /ports/global/vlan: both legs are at priv0 and in one VLAN' "$TMP/out"
start_relayd || { fail vlan-none-start "no ready line; log follows"; exit 1; }
check vlan-none-private "no echo reply" in_node ping -q -c 3 -i 0.05 -W 2 10.0.0.1
check vlan-none-global "no echo reply" in_node ping -q -I 198.51.100.9 -c 3 -i 0.05 -W 2 198.51.100.1
check vlan-none-global6 "no echo reply by IPv6" in_node ping -6 -q -c 3 -i 0.05 -W 2 ${OUT6}1
stop_relayd
exit "$FAILED"
