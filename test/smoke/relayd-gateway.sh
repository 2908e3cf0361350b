#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayd's gateway to foreign hosts: jobs of test/interop/relayed.sh, and what happens when a
# host dies, its machine vanishes, a stranger calls, a relay is told to stop; two jobs
# at a time; channels over the machine's own interfaces instead of the TAPs.
# ipv6: yes
# timeout: 400
# shellcheck source=test/interop/relayed.sh
. "$(dirname "$0")/../interop/relayed.sh"
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root relayd-gateway
LIMIT_S=60

tell_logs() { tail -n 12 "$TB_LOG"/{relayd,client,impi}*.log; }

part() { # FUNCTION...: in a shell of its own; the testbed ends with it
	(
		trap testbed_on_exit EXIT
		"$@"
		exit $rc
	) || rc=1
}
job_is_well() {
	relayed_job "$@"
	verdict "$JOB" "$([ $? -eq 0 ] || echo "statuses: $STATUSES")"
}

# Header and payload written apart, as LAM does it: its kernel holds the payload back until the header
# is acknowledged.
quick_acks() {
	local i why='' quick of
	ARGS="sizes=$(printf '8,%.0s' {1..39})8" job_is_well pingpong "a0 lam,header_apart=1 2" "gc0 lam,header_apart=1 2"
	for i in 0 1; do
		read -r quick of < <(sed -n 's/.*: \([0-9]*\) of \([0-9]*\) headers.*/\1 \2/p' "$TB_LOG/client-$i.log")
		((${of:-0} >= 40 && quick * 4 >= of * 3)) || why+="client $i: ${quick:-0} of ${of:-0} "
	done
	verdict "headers are acknowledged at once" "$why"
}

# One relay, one foreign client behind it (0), one with global addresses (1).
place() {
	testbed_plan && gc_plan gc0 && more_addresses a0 && testbed_build &&
		testbed_wanem "$B/bin/wanem" --delay-ms 2 || { verdict testbed "not built"; exit 1; }
}
server() { # NAME PORT
	testbed_spawn srv "$1" env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 -port "$2" -v
	testbed_wait 10 "$1" grep -q ":$2" "$TB_LOG/$1.log"
}
begin_endless() { # until packets have come back to client 0
	rm -f "$TB_LOG"/trace-*
	server impi-server 7810 &&
		client 0 endless '' a0 strict,datalen=64 2 &&
		client 1 endless '' gc0 strict 1 &&
		testbed_wait 20 "the job to run" packets 0
}
packets() { [ "$(grep -c DATA "$TB_LOG/trace-$1.txt")" -gt 20 ]; }
ctl() { "$B/bin/relayctl" -s "$TB_ID-afe0" "$@"; }
gateway() { # PYTHON-EXPRESSION over g, what relayctl says of the gateway
	ctl --json gateway | python3 -c 'import json,sys
g = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"
}
ended_ill() { # NAME PATTERN: client 0 ends with 1 in LIMIT_S, and relayd's log has the pattern
	local why=''
	client_status 0
	[ $? -eq 1 ] || why="client 0 did not end with 1 "
	grep -qE "$2" "$TB_LOG/relayd-afe0.log" || why+="relayd does not say '$2' "
	ctl status >/dev/null || why+="relayd does not answer"
	verdict "$1" "$why"
}
# call ADDRESS PORT HEX SECONDS: from srv; 0 if the other side closes within that time.
call() {
	testbed_exec srv python3 - "$@" <<'PY'
import socket, sys, time
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.sendall(bytes.fromhex(sys.argv[3]))
s.settimeout(float(sys.argv[4]))
try:
    sys.exit(1 if s.recv(1) else 0)
except ConnectionResetError:
    sys.exit(0)
except socket.timeout:
    sys.exit(1)
PY
}

# No descriptor is left for a caller: the gateway goes on, does not spin, and hears him later.
no_descriptors() { # ADDRESS:PORT
	local pid soft why='' n
	pid=$(cat "$TB_DIR/pid-relayd-afe0")
	soft=$(prlimit --pid "$pid" --nofile --noheadings --output SOFT)
	prlimit --pid "$pid" --nofile=3: || why="prlimit " # 0, 1 and 2 are always in use
	call "${1%:*}" "${1#*:}" ffffffff 2 && why+="a connection was taken without a descriptor "
	prlimit --pid "$pid" --nofile="$soft:"
	call "${1%:*}" "${1#*:}" ffffffff 5 || why+="deaf afterwards "
	n=$(gateway 'g["io/drop_accept"]') # one try a second
	((n >= 1 && n <= 5)) || why+="tried $n times"
	verdict "no descriptors left" "$why"
}

faults() {
	local why gate
	place
	testbed_relayd "$B" afe0 || { verdict relayd "does not start"; exit 1; }
	begin_endless || { verdict endless "the job does not run"; exit 1; }

	why=$(gateway 'sorted((c["state"], c["remote"].split(":")[0]) for c in g["channel"])')
	[ "$why" = "[('up', '10.0.0.1'), ('up', '198.51.100.40')]" ] && why=
	verdict "channels are shown" "$why"
	verdict "relayctl gateway" "$(ctl gateway | grep -q '^channel .*rx_packets' || echo 'no table')"
	gate=$(gateway '[c["local"] for c in g["channel"] if not c["connects"]][0]')
	why=
	call "${gate%:*}" "${gate#*:}" ffffffff 5 || why="a stranger is not closed"
	call "${gate%:*}" "${gate#*:}" 00000001 5 || why+=" a second host 1 is not closed"
	call "${gate%:*}" "${gate#*:}" 0000 14 || why+=" one that says nothing is not closed"
	ctl drops >"$TB_DIR/drops"
	grep -qE 'gateway/strangers +2( |$)' "$TB_DIR/drops" || why+=" strangers are not counted"
	grep -qE 'gateway/drop_guest_late +1( |$)' "$TB_DIR/drops" || why+=" late guests are not counted"
	grep -q 'is no host expected there' "$TB_LOG/relayd-afe0.log" || why+=" no line about them"
	verdict "strangers are closed and counted" "$why"
	packets 0 && [ "$(gateway 'len([c for c in g["channel"] if c["up"]])')" = 2 ]
	verdict "the job goes on meanwhile" "$([ $? -eq 0 ] || echo 'a channel is down')"

	no_descriptors "$gate"

	kill -KILL -- "-$(cat "$TB_DIR/pid-client-1")"
	ended_ill "a foreign host dies" 'host 1 of client 1 \(198.51.100.40:[0-9]+\).*(FIN|reset|lost)'
	testbed_stop impi-server 2 2>/dev/null

	begin_endless || { verdict endless "the next job does not run"; exit 1; }
	testbed_wait 5 "packets" packets 0
	kill -KILL -- "-$(cat "$TB_DIR/pid-client-0")"
	for ((i = 0; i < 100; i++)); do
		grep -q 'host 0 of client 0' "$TB_LOG/relayd-afe0.log" && break
		sleep 0.1
	done
	client_status 1
	verdict "a foreign host of the own cluster dies" "$([ $? -eq 1 ] || echo 'client 1 went on')"
	testbed_stop impi-server 2 2>/dev/null

	begin_endless || { verdict endless "the third job does not run"; exit 1; }
	# What it sends to the relay is lost on its way; the server hears it as before.
	ip -n "$TB_ID-gc0" neigh replace "$(testbed_global_addr afe0)" lladdr 02:00:00:00:00:99 dev eth0 \
		nud permanent
	ended_ill "a foreign host's machine is cut off" \
		'host 1 of client 1 \(198.51.100.40:[0-9]+\).*(answer|timed out)'
	kill -KILL -- "-$(cat "$TB_DIR/pid-client-1")"
	ip -n "$TB_ID-gc0" neigh del "$(testbed_global_addr afe0)" dev eth0
	testbed_stop impi-server 2 2>/dev/null

	begin_endless || { verdict endless "the fourth job does not run"; exit 1; }
	testbed_stop relayd-afe0 15
	why=$?
	[ $why -eq 0 ] && why= || why="status $why"
	grep -q 'packet buffers are back' "$TB_LOG/relayd-afe0.log" || why+=" buffers are missing"
	grep -q 'do not add up' "$TB_LOG/relayd-afe0.log" && why+=" counters do not add up"
	client_status 0
	[ $? -eq 1 ] || why+=" client 0 went on"
	verdict "SIGTERM in a job" "$why"
	verdict "stats file" "$(python3 -c 'import json,sys
g = json.load(open(sys.argv[1]))["gateway"]
assert g["consistent"] and g["rx_tcp"] > 0 and g["io"]["accepted"] >= 6, g' "$TB_DIR/afe0.json" 2>&1)"
}

# What the configuration does not allow ends at the start, with a line that says what to do.
refused() { # NAME PATTERN CLIENT...
	local name=$1 why='' i
	LIMIT_S=20
	relayed_job pingpong "${@:3}" 2>/dev/null && why="the job ran"
	grep -qE "$2" "$TB_LOG/relayd-afe0.log" || why+=" relayd does not say '$2'"
	verdict "$name" "$why"
}
without_gateway() {
	TB_RELAY_CONF='"gateway": { "enable": false }'
	refused "no gateway" 'has no IMPI/TCP gateway' "a0 strict 1" "gc0 strict 1"
}
too_few_gates() {
	testbed_gates() { :; }
	refused "too few gates" 'cluster.relays\[0\].gates' "a0 strict 1" "gc0 strict 1" "gc1 strict 1"
}

# Two relays, each the primary of one job at the same time; each has a part in both.
two_jobs() {
	local i why=
	RELAYS=2
	place
	for i in 0 1; do
		TB_SERVER_AT=$TB_SRV:$((7810 + i)) testbed_relayd "$B" afe$i ||
			{ verdict relayd "does not start"; exit 1; }
		server impi-server-$i $((7810 + i)) || { verdict impi-server "does not start"; exit 1; }
	done
	place_server() {
		case $1 in
		gc*) echo "$TB_SRV:$((7810 + N))" ;;
		*) echo "$(testbed_addr "afe$N"):7811" ;;
		esac
	}
	# client names its files by rank; the second job's ranks are renamed after the start.
	for N in 0 1; do
		client 0 mixture '' a0 strict,datalen=100 2
		client 1 mixture '' gc0 strict 1+1
		mv "$TB_DIR/pid-client-0" "$TB_DIR/pid-client-$((10 + N))"
		mv "$TB_DIR/pid-client-1" "$TB_DIR/pid-client-$((20 + N))"
	done
	for i in 10 20 11 21; do
		client_status $i
		[ $? -eq 0 ] || why+="client $i ended with $? "
	done
	for i in 0 1; do
		for ((k = 0; k < 50; k++)); do
			[ "$(grep -c finished "$TB_LOG/relayd-afe$i.log")" -ge 2 ] && break
			sleep 0.1
		done
		[ "$(grep -c finished "$TB_LOG/relayd-afe$i.log")" -ge 2 ] || why+="relay $i: a job is left "
		grep -q 'not everything was delivered' "$TB_LOG/relayd-afe$i.log" && why+="relay $i: gave up "
		testbed_stop relayd-afe$i || why+="relay $i: status $? "
	done
	verdict "two jobs, two primaries" "$why"
}

# A relay whose gateway has a part in the job dies: the other one ends it.
relay_dies() {
	RELAYS=2
	place
	testbed_relayd "$B" afe0 && testbed_relayd "$B" afe1 || { verdict relayd "does not start"; exit 1; }
	begin_endless || { verdict endless "the job does not run"; exit 1; }
	kill -KILL "$(cat "$TB_DIR/pid-relayd-afe1")"
	ended_ill "a relay with a part in the job dies" 'relay 10.0.0.253 of cluster a is gone'
	client_status 1
	verdict "the other client learns of it" "$([ $? -eq 1 ] || echo 'client 1 went on')"
}

# The channels on a network of their own, 192.0.2.0/24; the legs see none of them.
own_interfaces() {
	place
	local n
	_tb_bridge wan mgmt 1500
	for n in afe0:1 a0:10 gc0:40; do
		_tb_link "${n%:*}" mgmt0 wan "m${n%:*}" 1500
		_tb_port wan mgmt "m${n%:*}"
		_tb_address "${n%:*}" mgmt0 "192.0.2.${n#*:}/24"
	done
	_tb_address afe0 mgmt0 192.0.2.2/24
	testbed_build || { verdict "management network" "not built"; exit 1; }
	testbed_gates() { echo 192.0.2.1; }
	place_address() { case $1 in gc0) echo 192.0.2.40 ;; *) echo 192.0.2.10 ;; esac; }
	TB_GATE_GLOBAL=192.0.2.2
	TB_RELAY_CONF='"gateway": { "private_via": "host", "global_via": "host" }'
	testbed_relayd "$B" afe0 || { verdict relayd "does not start"; exit 1; }
	local why='' before after
	before=$(ctl --json status | python3 -c 'import json,sys; print(json.load(sys.stdin)["private/rx_tap"])')
	server impi-server 7810
	client 0 mixture 1=lam a0 strict,datalen=100 2
	client 1 mixture '' gc0 lam 2
	for n in 0 1; do
		client_status $n
		[ $? -eq 0 ] || why+="client $n ended with $? "
	done
	after=$(ctl --json status | python3 -c 'import json,sys; print(json.load(sys.stdin)["private/rx_tap"])')
	# The client's connection to the relay, some tens of frames, is all there is on the leg.
	[ $((after - before)) -lt 100 ] || why+="$((after - before)) frames went over the leg"
	[ "$(gateway 'g["rx_tcp"] >= 20')" = True ] || why+=" no packets came over the gateway"
	verdict "channels over own interfaces" "$why"
}

for JOB in "one side strict" "LAM on both sides" "two gateways" "over lanes, 2 relays a side"; do
	case $JOB in
	"one side strict") part job_is_well all_pairs "a0 strict 1+2" "gc0 strict 2" ;;
	"LAM on both sides") part quick_acks ;;
	"two gateways") part job_is_well sizes "a0 strict,datalen=1024 1" "b0 lam 1" ;;
	*) RELAYS=2 part job_is_well all_pairs "a0 strict 3" "b0 strict 3" ;;
	esac
done
JOB="libmpi to global addresses" part job_is_well pingpong "a0 libmpi 2" "gc0 strict 2"
JOB="libmpi to a private cluster" part job_is_well all_pairs "a0 libmpi 2" "b0 strict 2"
part faults
part without_gateway
part too_few_gates
part two_jobs
part relay_dies
part own_interfaces
exit $rc
