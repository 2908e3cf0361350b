#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Legs in VLANs, whose tags relayd sends and expects: ARP, ping up to the MTU, TCP through the TAP;
# untagged frames and those of other VLANs are dropped by name.  Then both legs at one interface,
# in two VLANs, and in two subnets without tags.
# ipv6: no, because tags are in front of either
# timeout: 90
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-vlan
make_net || { fail relayd-vlan-net "cannot make namespaces"; exit 1; }

in_node() { ip netns exec "$NODE" "$@"; }
in_wan() { ip netns exec "$WAN" "$@"; }
# vlan NAMESPACE INTERFACE ID ADDRESS [TO]: a VLAN of the wire's, in namespace TO.
vlan() {
	local to=${5:-$1} i
	ip netns exec "$1" timeout 120 python3 test/smoke/_vlan.py "$2" "$3" "$to" "$2.$3" 9000 &
	TAGGERS+=($!)
	for ((i = 0; i < 200; i++)); do ip -n "$to" addr add "$4" dev "$2.$3" 2>/dev/null && return; sleep 0.1; done
	return 1
}
TAGGERS=()
untag() { kill "${TAGGERS[@]}"; wait "${TAGGERS[@]}" 2>/dev/null; TAGGERS=(); }
speaks() { # NAME: the node and the WAN reach the relay
	check "$1-private" "no echo reply" in_node ping -q -c 3 -i 0.05 -W 2 10.0.0.1
	check "$1-global" "no echo reply" in_wan ping -q -c 3 -i 0.05 -W 2 198.51.100.1
	check "$1-tcp" "no TCP connection to the IMPI port" \
		in_node python3 -c 'import socket; socket.create_connection(("10.0.0.1", 7811), 5)'
}
drops() { stats && stat "s[\"legs\"][\"$1\"][\"rx_drops\"][\"vlan\"]"; }

ip -n "$NODE" addr flush dev p0
ip -n "$WAN" addr flush dev g0
vlan "$NODE" p0 10 10.0.0.10/24 && vlan "$WAN" g0 20 198.51.100.9/24 ||
	{ fail relayd-vlan-kernel "no VLANs"; exit 1; }
make_conf
sed -i -e 's/"interface": "priv0"/&, "vlan": 10/' -e 's/"interface": "glob0"/&, "vlan": 20/' "$TMP/conf.json"
start_relayd || { fail vlan-start "no ready line; log follows"; exit 1; }
speaks vlan
check vlan-jumbo "no echo reply of the whole MTU" in_node ping -q -M do -s 8972 -c 2 -i 0.05 -W 2 10.0.0.1
before=$(drops private)
ip -n "$NODE" addr add 10.0.0.11/24 dev p0
check vlan-untagged "an untagged ping was answered" bash -c "! ip netns exec $NODE ping -q -I p0 -c 2 -i 0.05 -W 1 10.0.0.1"
vlan "$NODE" p0 11 10.0.0.12/24
check vlan-other "a ping in another VLAN was answered" bash -c "! ip netns exec $NODE ping -q -I p0.11 -c 2 -i 0.05 -W 1 10.0.0.1"
after=$(drops private)
check vlan-drops "vlan was $before, is $after" [ "$after" -gt "$before" ]
stop_relayd
check vlan-exit "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]

# One port: the WAN's VLAN is on the node's wire.
ip -n "$NODE" addr flush dev p0
untag
vlan "$NODE" p0 10 10.0.0.10/24 && vlan "$NODE" p0 20 198.51.100.9/24 "$WAN" || fail vlan-one-wire "the VLAN is not moved"
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
sed -i -e 's/, "vlan": [0-9]*//' "$TMP/conf.json"
ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/conf.json" >"$TMP/out" 2>&1
check vlan-none-warned "$(cat "$TMP/out")" grep -q 'warning: /ports/global/vlan: both legs are at priv0 and in one VLAN' "$TMP/out"
start_relayd || { fail vlan-none-start "no ready line; log follows"; exit 1; }
check vlan-none-private "no echo reply" in_node ping -q -c 3 -i 0.05 -W 2 10.0.0.1
check vlan-none-global "no echo reply" in_node ping -q -I 198.51.100.9 -c 3 -i 0.05 -W 2 198.51.100.1
stop_relayd
exit "$FAILED"
