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

# Nothing comes after this one; a row that may stall comes after the next.
wan_arp() { settle=3 one wan-arp '' ew forge_arp eth0 "$S" $A0 $A1 $B0; }
lan_arp() { settle=3 one lan-arp '' el forge_arp eth0 "$S" 10.0.0.254 10.0.0.253; }
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

# --- doors: processes of a tenant beside a pair of another one that was there before and goes on.  Who
# comes meanwhile may be refused, for the tenants of a cluster share the places of its relay; he is told so
# and does not hang, and who comes afterwards is served.
RELAY_IN=10.0.0.254:7812
DOORS_OF=8
DOORS_SAY='door_(proc_full|malformed|here|guesses_own|unknown|token|realm)' # by both relays, each of these
door_address() { grep -m1 '^door:' "$TB_LOG/door-$1.log"; }
door_client() # NAME ADDRESS ROUNDS
{
	timeout 60 "$TB_DIR/in" a0 "$B/bin/suci-perf" client "$2" --relay $RELAY_IN --realm 7 --mode pingpong \
		--size 1000 --warmup 0 --count "$3" >"$TB_LOG/door-$1.log" 2>&1
}
# What the relays count for what they refuse must be no less than what the flood was told.
doors_counted() # TOLD
{
	rose_since "$TB_DIR/counters.0" "$TB_DIR/counters.1" |
		awk -v told="$1" -v say="^relay/$DOORS_SAY\$" '$1 ~ /^relay\/door_/ { n += $2 } $1 ~ say && !seen[$1]++ { named++ }
			END { if (named < 7) print "; " named + 0 " of 7 counters rose"; if (n < told) print "; " told " refused, " n + 0 " counted" }'
}
doors_flood()
{
	local why='' did='' who pair flood n=0 late=0 us
	for who in stale good other; do
		testbed_spawn b0 door-$who "$B/bin/suci-perf" server --door --relay $RELAY_IN --realm 7
	done
	for who in stale good other; do testbed_wait 30 "the address of door-$who" door_address $who; done
	testbed_stop door-stale 5 >/dev/null 2>&1
	row_begin
	door_client pair "$(door_address good)" $((S * 200 + 100)) &
	pair=$!
	testbed_wait 10 "the pair" grep -q '^#' "$TB_LOG/door-pair.log"
	testbed_exec el "$B/test/doors_flood" $RELAY_IN $S $DOORS_OF "$(door_address good)" \
		"$(door_address stale)" >"$TB_DIR/flood" 2>&1 &
	flood=$!
	while kill -0 $flood 2>/dev/null && ((n < S + 1)); do
		((++n))
		door_client late "$(door_address other)" 3
		case $? in
		0) ((++late)) ;;
		124) why+="; a client that came meanwhile hung" ;;
		*) grep -q refused "$TB_LOG/door-late.log" || why+="; a client meanwhile: $(tail -1 "$TB_LOG/door-late.log")" ;;
		esac
	done
	wait $flood || why+="; the flood had its way or did not run"
	wait $pair || why+="; the pair: $(tail -1 "$TB_LOG/door-pair.log")"
	us=$(awk '$1 == 1000 { print int($6) }' "$TB_LOG/door-pair.log")
	((${us:-0} > 0 && us <= $(while_loaded "$STALL_MS") * 500)) || why+="; the pair's answers take ${us:-no} us each way"
	did=$(tail -1 "$TB_DIR/flood")
	counters >"$TB_DIR/counters.1"
	why+=$(doors_counted "$(awk '{ print $10 }' <<<"$did")")
	door_client after "$(door_address other)" 3 || why+="; afterwards: $(tail -1 "$TB_LOG/door-after.log")"
	for who in good other; do testbed_stop door-$who 5 >/dev/null 2>&1; done
	row_end doors "$did; $late of $n clients meanwhile; the pair's p99 $us us" door_ "$why"
}
