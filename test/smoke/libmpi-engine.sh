#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# libmpi's engine without the MPI surface, under Open MPI's mpirun on this machine:
# every transport a single node has, the bound on unexpected messages, two IMPI
# clients through impi-server, a rank that dies, wrong settings.
# timeout: 170
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
prog=$B/test/lmpi_engine_test
tmp=$(mktemp -d)
server=
cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
tell_logs() { tail -n 20 "$tmp/$1"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0
export IMPI_AUTH_NONE=1
run()
{
	timeout -k 5 600 mpirun --oversubscribe "$@"
}

# name | ranks | environment
while IFS='|' read -r name ranks vars; do
	# shellcheck disable=SC2086
	env $vars timeout -k 5 600 mpirun --oversubscribe -np "$ranks" "$prog" >"$tmp/log" 2>&1 </dev/null &&
		grep -q "all passed on $ranks ranks" "$tmp/log"
	succeeded $? "$name" log
done <<-'ROWS'
	one rank|1|A=1
	shared memory, 4 ranks|4|A=1
	shared memory without reading memory of others|3|LIBMPI_CMA=0
	shared memory, 1 MB for unexpected messages|2|LIBMPI_UNEXPECTED_MB=1
	Suci over loopback, 3 ranks|3|LIBMPI_TRANSPORT=udp
	Suci over loopback, no copies kept|2|LIBMPI_TRANSPORT=udp LIBMPI_COPY_MB=0
	Suci over loopback, 1 MB for unexpected messages|2|LIBMPI_TRANSPORT=udp LIBMPI_UNEXPECTED_MB=1
ROWS

"$prog" >"$tmp/log" 2>&1 && grep -q "all passed on 1 ranks" "$tmp/log"
succeeded $? "without a launcher" log

start_server()
{
	# Emptied here: the server's own shell may come to it only after the first look below.
	: >"$tmp/addr"
	"$B/bin/impi-server" -server 2 --bind 127.0.0.1 >"$tmp/addr" 2>"$tmp/server.log" &
	server=$!
	for _ in $(seq 600); do
		[ -s "$tmp/addr" ] && break
		sleep 0.05
	done
	port=$(sed 's/.*://' "$tmp/addr")
}

two_clients() # RANKS WHAT
{
	IMPI_CLIENT=0 IMPI_SERVER=127.0.0.1:$port run -x IMPI_CLIENT -x IMPI_SERVER \
		-x IMPI_AUTH_NONE -np "$1" "$prog" "$2" >"$tmp/c0" 2>&1 &
	local a=$!
	IMPI_CLIENT=1 IMPI_SERVER=127.0.0.1:$port run -x IMPI_CLIENT -x IMPI_SERVER \
		-x IMPI_AUTH_NONE -np "$1" "$prog" "$2" >"$tmp/c1" 2>&1
	rc1=$?
	wait $a
	rc0=$?
	{
		echo "client 0: status $rc0, client 1: status $rc1; that said:"
		cat "$tmp/c1" "$tmp/server.log"
	} >>"$tmp/c0"
}

start_server
two_clients 2 check
[ $rc0 -eq 0 ] && [ $rc1 -eq 0 ] && grep -q "all passed on 4 ranks" "$tmp/c0" && wait "$server"
succeeded $? "two IMPI clients without relays" c0

start_server
two_clients 1 die
[ $rc0 -ne 0 ] && [ $rc0 -ne 124 ] && grep -q '^libmpi: rank 0 of 2.*ending the job' "$tmp/c0"
succeeded $? "a rank of another client dies: the job ends and says why" c0
kill "$server" 2>/dev/null
server=

start_server
IMPI_CLIENT=0 IMPI_SERVER=127.0.0.1:$port LIBMPI_JOIN_TIMEOUT_S=2 timeout 300 "$prog" >"$tmp/c0" 2>&1
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q 'waits for the other clients.*2 s after' "$tmp/c0" &&
	grep -q 'nothing more came within' "$tmp/c0"
succeeded $? "the other client never comes: says so, then gives up" c0
kill "$server" 2>/dev/null
server=

# what | environment | words of the message
while IFS='|' read -r name vars words; do
	# shellcheck disable=SC2086
	env $vars timeout 300 "$prog" >"$tmp/log" 2>&1 </dev/null
	status=$?
	[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "$words" "$tmp/log"
	succeeded $? "$name" log
done <<-'ROWS'
	server unreachable|IMPI_CLIENT=0 IMPI_SERVER=127.0.0.1:1|127.0.0.1:1: Connection refused
	server not host:port|IMPI_CLIENT=0 IMPI_SERVER=nonsense|IMPI_SERVER=nonsense
	half of the settings|IMPI_CLIENT=0|go together
	client number too large|IMPI_CLIENT=32 IMPI_SERVER=127.0.0.1:1|IMPI_CLIENT=32
	unknown transport|LIBMPI_TRANSPORT=pigeon|LIBMPI_TRANSPORT=pigeon
	unknown interface|LIBMPI_IFACE=nope0 IMPI_CLIENT=0 IMPI_SERVER=127.0.0.1:1|LIBMPI_IFACE=nope0
ROWS
