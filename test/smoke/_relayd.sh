# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the relayd scenarios: namespaces of this run, relayd in one of them.
# shellcheck shell=bash
#
#   node (rn) --veth-- relay (rr) --veth-- wan (rw)
#   10.0.0.10/24       10.0.0.1 | 198.51.100.1       198.51.100.9/24
#                                 fd00:57a6::1       fd00:57a6::9/64      with IPV6=1
#
# SERVER_AT is where the IMPI server of the configuration is, OWN_AT where relayd calls it from.
#
# Names carry $RUN, so runs side by side do not meet; cleanup is a trap.

set -u
: "${B:=build/gcc}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
RUN=rd$$
NODE=$RUN-n RELAY=$RUN-r WAN=$RUN-w
TMP=$(mktemp -d)
SIX=fd00:57a6::
SERVER_AT=198.51.100.9 OWN_AT=198.51.100.1
[ -z "${IPV6:-}" ] || SERVER_AT="[${SIX}9]" OWN_AT="[${SIX}1]"
RELAYD_PID=
FAILED=0

pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; FAILED=1; }
# check NAME WHY COMMAND...: PASS if the command succeeds.
check()
{
	local name=$1 why=$2
	shift 2
	if "$@"; then pass "$name"; else fail "$name" "$why"; fi
}

cleanup()
{
	local rc=$?
	trap - EXIT INT TERM
	if [ -n "$RELAYD_PID" ] && kill -0 "$RELAYD_PID" 2>/dev/null; then
		kill -TERM "$RELAYD_PID" 2>/dev/null
		for _ in $(seq 300); do kill -0 "$RELAYD_PID" 2>/dev/null || break; sleep 0.1; done
		kill -KILL "$RELAYD_PID" 2>/dev/null
	fi
	printf 'netns del %s\n' "$NODE" "$RELAY" "$WAN" | ip -force -batch - 2>/dev/null
	[ "$FAILED" -eq 0 ] || { echo "--- relayd.log"; cat "$TMP/relayd.log" 2>/dev/null; }
	rm -rf "$TMP" "/var/run/dpdk/$RUN" "/run/relayd/$RUN.sock"
	exit $rc
}

# The three namespaces; offloads off, so frames are what a NIC would see.
make_net()
{
	ip -batch - <<-END && "$B/test/inside" --settle <<-END2 || return 1
		netns add $NODE
		netns add $RELAY
		netns add $WAN
		link add p0 mtu 9000 netns $NODE type veth peer name priv0 mtu 9000 netns $RELAY
		link add g0 netns $WAN type veth peer name glob0 netns $RELAY
	END
		in $NODE
		plain p0
		in $RELAY
		plain priv0
		plain glob0
		in $WAN
		plain g0
	END2
	printf 'link set %s up\n' lo priv0 glob0 | ip -n "$RELAY" -batch - &&
		printf '%s\n' 'link set lo up' 'link set p0 up' 'addr add 10.0.0.10/24 dev p0' |
		ip -n "$NODE" -batch - &&
		printf '%s\n' 'link set lo up' 'link set g0 up' 'addr add 198.51.100.9/24 dev g0' |
		ip -n "$WAN" -batch - || return
	[ -n "${IPV6:-}" ] || return 0
	printf '%s\n' "in $WAN" 'set net/ipv6/conf/g0/disable_ipv6 0' \
		'set net/ipv6/conf/g0/keep_addr_on_down 1' | "$B/test/inside" --settle
	ip -n "$WAN" addr add "${SIX}9/64" dev g0 nodad
}

# The example configuration with this run's names.
make_conf()
{
	sed -e "s/\"file_prefix\": \"[^\"]*\"/\"file_prefix\": \"$RUN\"/" \
		-e "s#\"stats_file\": \"\"#\"stats_file\": \"$TMP/stats.json\"#" \
		-e "s#\"pidfile\": \"\"#\"pidfile\": \"$TMP/relayd.pid\"#" \
		-e "s#\"key_file\": \"/etc/relayd/psk\"#\"key_file\": \"$TMP/psk\"#" \
		conf/relayd-example.json >"$TMP/conf.json"
	[ -z "${IPV6:-}" ] || sed -i -e "s#\"address\": \"198[^\"]*\"#&, \"ipv6\": \"${SIX}1/64\"#" \
		-e "s#\"server\": \"198[^:]*#\"server\": \"$SERVER_AT#" "$TMP/conf.json"
	(umask 077; echo "1 $(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')" >"$TMP/psk")
}

# What run-smoke wants to see of IPV6=1: no other relay is here, so that this one answers.
six_seen()
{
	[ -z "${IPV6:-}" ] || ! ip netns exec "$WAN" ping -6 -q -c 1 -W 5 "${SIX}1" >/dev/null ||
		echo 1 >>"${SMOKE_SIX:-/dev/null}"
}

# start_relayd: 0 when it is ready, 1 when it ended or did not come up in 20 s.
start_relayd()
{
	# Whoever runs the scenario may have been started by nohup, which relayd would heed.
	ip netns exec "$RELAY" env --default-signal=HUP "$B/bin/relayd" "$TMP/conf.json" >"$TMP/relayd.log" 2>&1 &
	RELAYD_PID=$!
	for _ in $(seq 1200); do
		grep -q '^relayd: ready$' "$TMP/relayd.log" && { six_seen; return 0; }
		kill -0 "$RELAYD_PID" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# stop_relayd: TERM; its exit status, 124 if it does not end.
stop_relayd()
{
	local rc
	kill -TERM "$RELAYD_PID"
	for _ in $(seq 600); do
		kill -0 "$RELAYD_PID" 2>/dev/null || break
		sleep 0.1
	done
	if kill -0 "$RELAYD_PID" 2>/dev/null; then return 124; fi
	wait "$RELAYD_PID"
	rc=$?
	RELAYD_PID=
	return $rc
}

# stats: a fresh stats file.
stats()
{
	rm -f "$TMP/stats.json"
	kill -USR1 "$RELAYD_PID"
	for _ in $(seq 300); do [ -s "$TMP/stats.json" ] && return 0; sleep 0.1; done
	return 1
}

# stat PYTHON-EXPRESSION over s, the parsed stats file.
stat()
{
	python3 -c 'import json,sys
s = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$TMP/stats.json" "$1"
}

trap cleanup EXIT
trap 'exit 130' INT TERM
