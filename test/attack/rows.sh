# SPDX-License-Identifier: BSD-2-Clause
# Sourced by test/attack/run: the rows, a function each.  S is how long an attack lasts.
# shellcheck shell=bash

A0=198.51.100.11 A1=198.51.100.12 B0=198.51.100.21

# one NAME PATTERN NODE ATTACK ARGUMENT...: one attacker beside the running job.
one()
{
	local name=$1 pattern=$2 did rc
	shift 2
	row_begin
	did=$(evil "$@" 2>&1)
	rc=$?
	sleep "$settle"
	row_end "$name" "$(tail -1 <<<"$did")" "$pattern" "$([ $rc -eq 0 ] || echo "; the attack had its way or did not run: $did" | tail -1)"
}

wan_arp() { one wan-arp '' ew forge_arp eth0 "$S" $A0 $A1 $B0; }
lan_arp() { one lan-arp '' el forge_arp eth0 "$S" 10.0.0.254 10.0.0.253; }
# What kernels of nodes believe of each other is not the relay's to mend; nobody may die of it.
node_arp() { may_stall=1 one node-arp '' el forge_arp eth0 "$S" 10.0.0.1 10.0.0.2 10.0.0.254; }
wan_icmp() { one wan-icmp '' wan icmp afe0 "$S" $A0 $B0; }
lan_icmp() { one lan-icmp '' asw icmp f0 "$S" 10.0.0.254 10.0.0.1; }
node_icmp() { one node-icmp '' asw icmp p0 "$S" 10.0.0.1 10.0.0.254; }
wan_hello() { one wan-hello '' ew hello eth0 "$S" $A0 "$(leg_mac afe0 glob0)" 1500; }
lan_hello() { one lan-hello '' el hello eth0 "$S" 10.0.0.254 "$(leg_mac afe0 priv0)" 1500; }
wan_garbage() { one wan-garbage 'suci|unknown|version|drop' ew garbage eth0 "$S" $A0 "$(leg_mac afe0 glob0)"; }
lan_garbage() { one lan-garbage 'suci|unknown|version|drop' el garbage eth0 "$S" 10.0.0.254 "$(leg_mac afe0 priv0)"; }
# What passed the WAN from the beginning is in the file, the handshakes first.
recorded()
{
	testbed_wait 20 "a recording" eval '[ "$(stat -c %s "$TB_DIR/record")" -gt 200000 ]'
	kill "$recorder" 2>/dev/null
}
replays()
{
	local how
	recorded
	for how in as-was reflected spliced; do
		one "replay-$how" '' wan replay bfe0 "$TB_DIR/record" $B0 "$(leg_mac bfe0 glob0)" $how "$S"
	done
	one replay-readdressed '' wan replay afe1 "$TB_DIR/record" $A1 "$(leg_mac afe1 glob0)" readdressed "$S"
}

# More datagrams than a relay could be unlucky with; most of them must be named by a counter.
forged()
{
	local n=20000 rate=10000 before after
	[ "$S" -lt "$LONG_S" ] || n=1000000 rate=20000
	recorded
	before=$(dropped bfe0)
	one forged 'suci/drop_seal' wan forge bfe0 "$TB_DIR/record" $B0 "$(leg_mac bfe0 glob0)" $n $rate
	after=$(dropped bfe0)
	verdict "most of $n forged datagrams are counted" "$( ((after - before > n / 2)) || echo "$((after - before)) are")"
}
dropped() { ctl "$1" drops --all | awk '$2 ~ /^suci\/drop_/ { n += $1 } $1 ~ /^suci\/drop_/ { n += $2 } END { print n + 0 }'; }
reset_oracle()
{
	one reset-oracle 'suci/drop_reflected' wan oracle afe0 afe1 "$S" $A0 "$(leg_mac afe0 glob0)" $A1 "$(leg_mac afe1 glob0)"
}

# A service of the front end's kernel is not to be seen through either leg.
ports()
{
	local why=
	row_begin
	evil afe0 listen 2222 >/dev/null 2>&1 &
	local listener=$!
	sleep 1
	evil ew scan $A0 2222 7811 7813 >"$TB_DIR/scan.w" || why+="; from the WAN $(cat "$TB_DIR/scan.w")"
	evil el scan 10.0.0.254 2222 >"$TB_DIR/scan.l" || why+="; by a tenant $(cat "$TB_DIR/scan.l")"
	kill "$listener" 2>/dev/null
	row_end ports "scanned both legs" '' "$why"
}

# delayed NAME FROM ADDR PORT FLOODER FLOOD-ADDR FLOOD-PORT: a client's start beside silent connections.
delayed()
{
	local name=$1 from=$2 addr=$3 port=$4 flooder=$5 what=$6 fport=$7 k worst why= sources=()
	row_begin
	for ((k = 100; k < 120; k++)); do
		[ "$flooder" = el ] && sources+=("10.0.0.$k") || sources+=("198.51.100.$k")
	done
	evil "$flooder" hold "$what" "$fport" "$((S + 3))" 300 "${sources[@]}" >"$TB_DIR/hold" 2>&1 &
	k=$!
	sleep 1
	worst=$(evil "$from" probe "$addr" "$port" "$S")
	wait "$k"
	awk -v w="$worst" 'BEGIN { exit !(w <= 2) }' || why="; a start was delayed by $worst s"
	row_end "$name" "$(tail -1 "$TB_DIR/hold"), starts delayed by $worst s" '' "$why"
}
tcp_relay() { delayed tcp-7811 a1 10.0.0.254 7811 el 10.0.0.254 7811; }
tcp_server() { delayed tcp-7810 b0 10.0.0.254 7811 ew 198.51.100.2 7810; }
tcp_peer() { delayed tcp-7813 a1 10.0.0.254 7811 el 10.0.0.254 7813; }
squatters()
{
	# One that waits for its clients: while a job runs the other one listens to nobody.
	testbed_spawn srv squatted env "$(_tb_auth)" "$B/bin/impi-server" -server 2 -port 7830
	testbed_wait 10 "a second impi-server" grep -q ':7830' "$TB_LOG/squatted.log"
	one squat-server '' ew squat 198.51.100.2 7830 "$S" 12345
	testbed_stop squatted 5 >/dev/null 2>&1
	one squat-relay '' el squat 10.0.0.254 7811 "$S" 12345
}

control_socket() { one control-json '' afe0 rpc "/run/relayd/$TB_ID-afe0.sock" "$S" "${SEED:-1}"; }
