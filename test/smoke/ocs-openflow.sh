#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# OpenFlow against Open vSwitch with its userspace datapath, in a namespace of its own: four
# fibres that are dark until lit, foreign entries, a switch that is killed in mid-batch.
# timeout: 120
set -u
. "$(dirname "$0")/_ocs.sh"
. test/smoke/_root.sh
need_root "$SCENARIO"ENARIO
need_openvswitch "$SCENARIO"
NS=ocsof$$
export OVS_RUNDIR=$OCS_DIR OVS_LOGDIR=$OCS_DIR OVS_DBDIR=$OCS_DIR OVS_SYSCONFDIR=$OCS_DIR
in_sw() { ip netns exec "$NS" "$@"; }
tear_down() {
	ocs_kill
	for i in 0 1 2 3; do ip netns del "$NS-$i" 2>/dev/null; done
	ip netns del "$NS" 2>/dev/null
	rm -rf "$OCS_DIR"
}
trap tear_down EXIT

vswitchd() {
	ip netns exec "$NS" ovs-vswitchd "unix:$OCS_DIR/db.sock" --pidfile="$OCS_DIR/vswitchd.pid" \
		--log-file="$OCS_DIR/vswitchd.log" >/dev/null 2>&1 &
	VSWITCHD=$!
}

set_up() {
	ip netns add "$NS" && in_sw ip link set lo up || fail "namespace"
	ovsdb-tool create "$OCS_DIR/conf.db" /usr/share/openvswitch/vswitch.ovsschema || fail "ovsdb-tool"
	ip netns exec "$NS" ovsdb-server "$OCS_DIR/conf.db" --remote="punix:$OCS_DIR/db.sock" \
		--pidfile="$OCS_DIR/ovsdb.pid" --log-file="$OCS_DIR/ovsdb.log" >/dev/null 2>&1 &
	wait_for 20 test -S "$OCS_DIR/db.sock" || fail "ovsdb-server"
	vswitchd
	VSCTL="ovs-vsctl --db=unix:$OCS_DIR/db.sock --timeout=20"
	$VSCTL add-br sw -- set bridge sw datapath_type=netdev protocols=OpenFlow13,OpenFlow14 \
		-- set-fail-mode sw secure || fail "ovs-vsctl add-br"
	for i in 0 1 2 3; do
		ip netns add "$NS-$i"
		ip link add "f$i" netns "$NS" type veth peer name e0 netns "$NS-$i" || fail "veth"
		in_sw ip link set "f$i" up
		ip -n "$NS-$i" link set e0 up
		ip -n "$NS-$i" addr add "10.9.0.$((i + 1))/24" dev e0
		in_sw ethtool -K "f$i" tx off >/dev/null 2>&1
		ip netns exec "$NS-$i" ethtool -K e0 tx off >/dev/null 2>&1
		$VSCTL add-port sw "f$i" -- set interface "f$i" ofport_request=$((i + 1)) ||
			fail "ovs-vsctl add-port"
	done
	$VSCTL set-controller sw tcp:127.0.0.1:6653 -- set controller sw connection_mode=out-of-band
}
# Open vSwitch waits eight seconds before it calls again, so after the first time we call.
AT=listen:127.0.0.1:6653
ctl() { timeout 400 ip netns exec "$NS" "$OCSCTL" -P openflow -a "$AT" -n 8 "$@"; }
lit() { ip netns exec "$NS-$1" ping -c 1 -i 0.3 -w 10 "10.9.0.$(($2 + 1))" >/dev/null 2>&1; }
dark() { ! ip netns exec "$NS-$1" ping -c 2 -i 0.2 -w 1 "10.9.0.$(($2 + 1))" >/dev/null 2>&1; }
ofctl() { in_sw ovs-ofctl -O OpenFlow14 "$1" sw "${@:2}"; }

set_up
out=$(ctl show) || fail "show: $out"
grep -q 'Open vSwitch.*4 x 4 ports; atomic_batch' <<<"$out" || fail "show: $out"
$VSCTL set-controller sw ptcp:6653:127.0.0.1 -- set controller sw connection_mode=out-of-band
AT=127.0.0.1:6653
pass "the switch calls us, and we call the switch"
dark 0 1 || fail "light before anything is set"
ctl set 0:1 1:0 >/dev/null || fail "set"
lit 0 1 || fail "no light between 0 and 1"
dark 0 2 || fail "light between 0 and 2"
pass "dark until lit, and then only where it was lit"

out=$(ctl set 2:0) && fail "displaced: $out"
grep -q '^2:0 a port of the circuit is in another' <<<"$out" || fail "busy: $out"
ctl clear 1:0 >/dev/null && ctl -A move 0:2 2:0 >/dev/null || fail "an atomic move"
lit 0 2 || fail "no light between 0 and 2"
dark 0 1 || fail "light between 0 and 1 after moving"
[ "$(shown)" = "0:2 2:0 " ] || fail "shown: $(shown)"
pass "moved in one bundle, never displaced"

# Held back: dark for that time, really.
ctl -o 0-3 -e 1500 -t 3 keep 0:1 1:0 >"$OCS_DIR/keep" &
keeper=$!
wait_for 10 grep -q online "$OCS_DIR/keep" || fail "keep: $(cat "$OCS_DIR/keep")"
dark 0 1 || fail "light before the switching time was over"
wait $keeper || fail "keep: $(cat "$OCS_DIR/keep")"
lit 0 1 || fail "no light after the switching time"
pass "an extra switching time is a dark time"

# What others have set: entries that are circuits, and one that is none.
ofctl add-flow 'in_port=4,actions=output:3' && ofctl add-flow 'in_port=3,tcp,actions=output:4' ||
	fail "ovs-ofctl"
ctl -o 0-1 -t 2 keep 0:1 1:0 >"$OCS_DIR/keep" || fail "keep: $(cat "$OCS_DIR/keep")"
out=$(ctl set 2:3) && fail "set on a port with somebody else's entry: $out"
[ "$(ofctl dump-flows | grep -c 'in_port=f[23]\|in_port=[34]')" = 2 ] || fail "foreign entries: $(ofctl dump-flows)"
pass "entries of others stay, their ports are taken"

# Killed in mid-batch: its flows are gone with it.
ctl -o 0-1 -t 3 -s 5 churn >"$OCS_DIR/churn" &
churn=$!
sleep 1
kill -9 "$VSWITCHD"
wait "$VSWITCHD" 2>/dev/null
vswitchd
wait $churn || fail "churn over a restart: $(cat "$OCS_DIR/churn")"
[ "$(field sessions "$OCS_DIR/churn")" -ge 2 ] || fail "was not cut: $(cat "$OCS_DIR/churn")"
ctl -o 0-1 -t 2 keep 0:1 1:0 >"$OCS_DIR/keep" || fail "keep: $(cat "$OCS_DIR/keep")"
lit 0 1 || fail "no light after the restart"
pass "the switch killed in mid-batch ($(field set_up "$OCS_DIR/churn") circuits set)"
