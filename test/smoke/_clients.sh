# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scenarios of two IMPI clients without relays: a job of both, from one impi-server.
# shellcheck shell=bash
#
# Needs B and tmp, a folder.  Sets server, for the scenario's trap.  What they say is in $tmp/c0,
# $tmp/c1, $tmp/server.log.  CLIENT_S: a client's limit.  A scenario whose clients are in namespaces
# of their own defines at_home NUMBER COMMAND... before it has sourced this.
server=
declare -F at_home >/dev/null || at_home() { "${@:2}"; }

# two_clients ADDRESS AT RANKS PROGRAM VARS0 VARS1: the server at ADDRESS, which the clients call AT,
# each with those ranks and that environment; false: a client failed, or did not say ok.
two_clients()
{
	local at pid rc0 rc1
	: >"$tmp/addr"
	at_home 0 "$B/bin/impi-server" -server 2 --bind "$1" >"$tmp/addr" 2>"$tmp/server.log" &
	server=$!
	for _ in $(seq 1200); do
		[ -s "$tmp/addr" ] && break
		sleep 0.05
	done
	at=$2:$(sed 's/.*://' "$tmp/addr")
	# shellcheck disable=SC2086
	at_home 0 env IMPI_CLIENT=0 IMPI_SERVER="$at" $5 timeout -k 5 "${CLIENT_S:-600}" \
		"$B/bin/mpirun" -n "$3" "$4" >"$tmp/c0" 2>&1 </dev/null &
	pid=$!
	# shellcheck disable=SC2086
	at_home 1 env IMPI_CLIENT=1 IMPI_SERVER="$at" $6 timeout -k 5 "${CLIENT_S:-600}" \
		"$B/bin/mpirun" -n "$3" "$4" >"$tmp/c1" 2>&1 </dev/null
	rc1=$?
	wait $pid
	rc0=$?
	kill "$server" 2>/dev/null
	server=
	[ $rc0 -eq 0 ] && [ $rc1 -eq 0 ] && grep -q '^ok' "$tmp/c0"
}
has() { grep -q "$1" "$tmp/c0" "$tmp/c1"; }
