#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Jobs in two private clusters with the same addresses, of different launchers and without a common
# daemon, meet over relays: examples/meet.c, its port, its clients; what goes wrong is said; the
# death of one job is an error of the other.
#
#	DELAY=10	of the WAN, in ms there and in ms back
#	ROUTED=1	relays know where to send, as behind a router; 0: they ask over the WAN (ARP)
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${DELAY:=10}" "${ROUTED:=1}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

NODES=1 RELAYS=1
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms "$DELAY" || fail "wanem: does not start"
with_neighbour() { # RELAY OTHER
	local mac
	mac=$(ip -n "$TB_ID-$2" -o link show glob0 | sed -n 's/.*ether \([0-9a-f:]*\) .*/\1/p')
	TB_RELAY_CONF='"doors": { "max": 1024 }'
	[ "$ROUTED" = 0 ] || TB_RELAY_CONF+=", \"neighbours\": { \"mac\": \"$(testbed_outside "$2")=$mac\" }"
	testbed_relayd "$B" "$1" || fail "relayd: does not start"
}
with_neighbour afe0 bfe0
with_neighbour bfe0 afe0

RELAY=10.0.0.254:7812
own=(env XDG_RUNTIME_DIR="$TB_DIR/tmp" LIBMPI_RELAY=$RELAY "$B/bin/mpirun" --launcher local)
gone() { ! testbed_alive "$1"; }
port_is() { PORT=$(sed -n 's/^port //p' "$TB_LOG/$1.log") && [ -n "$PORT" ]; }
# ends NAME: sets STATUS
ends() {
	testbed_wait 60 "the end of $1" gone "$1" || testbed_stop "$1" 3 >/dev/null 2>&1
	{ wait "$(cat "$TB_DIR/pid-$1")"; } 2>/dev/null
	STATUS=$?
}
serve() { # CLIENTS RANKS: in cluster A
	testbed_spawn a0 server "${own[@]}" -n "$2" "$B/examples/meet" server "$1"
	testbed_wait 30 "the port" port_is server || fail "the server opens no port"
}
says() { grep -q -- "$2" "$TB_LOG/$1.log" || WHY="$1 does not say: $2"; }

# ---- a server under our mpirun; clients of three launchers in the other cluster
serve 3 2
WHY=
testbed_spawn b0 client0 env LIBMPI_RELAY=$RELAY "$B/examples/meet" client "$PORT"
ends client0
[ $STATUS = 0 ] || WHY="a client without a launcher: status $STATUS"
# This one survives deaths, the server does not.
testbed_spawn b0 client1 "${own[@]}" --keep-going -n 2 "$B/examples/meet" client "$PORT"
ends client1
[ $STATUS = 0 ] || WHY="${WHY:-a client under our mpirun: status $STATUS}"
mapfile -t env < <(testbed_mpi_env b)
testbed_spawn b0 client2 env "${env[@]}" LIBMPI_RELAY=$RELAY mpirun -np 2 "$B/examples/meet" client "$PORT"
ends client2
[ $STATUS = 0 ] || WHY="${WHY:-a client under Open MPI: status $STATUS}"
ends server
[ $STATUS = 0 ] || WHY="${WHY:-the server: status $STATUS}"
says server ': right$'
# The first opens the trunk.
awk -v rtt=$((2 * DELAY)) '/^connected after/ { printf "%s%.1f ms, %.1f round trips", sep, $3, $3 / rtt; sep = "; " }
	END { print "" }' "$TB_LOG"/client[012].log | sed "s/^/DELAY=$DELAY ROUTED=$ROUTED: connected after /"
verdict "three jobs of three launchers meet one of another cluster" "$WHY" server 'client*' 'relayd-*'

# ---- what goes wrong, and a death
far() { # NODE NAME ROLE [PORT...]
	testbed_spawn "$1" "$2" env LIBMPI_RELAY=$RELAY "${FAR_ENV[@]}" "$B/test/mpi/far" "${@:3}"
}
ports_are() { read -ra PORTS < <(sed -n 's/^ports //p' "$TB_LOG/far.log") && [ ${#PORTS[@]} = 3 ]; }
FAR_ENV=()
far a0 far server
testbed_wait 30 "the ports" ports_are || fail "far opens no ports"
WHY=
FAR_ENV=(LIBMPI_REALM=other)
far b0 stranger stranger "${PORTS[0]}"
ends stranger
[ $STATUS = 0 ] || WHY="a stranger: status $STATUS"
FAR_ENV=()
far b0 client client "${PORTS[@]}"
ends client
says client '^ok so far'
ends far
[ $STATUS != 0 ] || WHY="${WHY:-the server does not hear of the death}"
says far 'a job that this one is connected to (10.0.0.1:[0-9]* in its cluster) is gone'
verdict "wrong ports are told, and a death" "$WHY" far stranger client 'relayd-*'

# ---- who ended it is told: an abort with its code; pairs of which one job outlives the other
pair() { # SERVER-ROLE CLIENT-ROLE: FAR_ENV of the client
	local far_env=("${FAR_ENV[@]}")
	rm -f "$TB_LOG/far.log" "$TB_LOG/$2.log" # the ports of the one before are in it
	FAR_ENV=("${SERVER_ENV[@]}")
	far a0 far "$1"
	testbed_wait 30 "the ports" ports_are || fail "far opens no ports"
	FAR_ENV=("${far_env[@]}")
	if [ "$2" = client ]; then far b0 "$2" "$2" "${PORTS[@]}"; else far b0 "$2" "$2" "${PORTS[0]}"; fi
	ends "$2"
	CLIENT=$STATUS
	ends far
}
WHY=
SERVER_ENV=() FAR_ENV=()
pair server aborter
[ $STATUS = 42 ] || WHY="a job connected to one that aborts with 42: status $STATUS"
says far 'is gone: MPI_Abort(MPI_COMM_WORLD, 42) called by rank 0 of MPI_COMM_WORLD'
SERVER_ENV=(LIBMPI_KEEP_GOING=1)
pair survivor client
[ $STATUS = 0 ] || WHY="${WHY:-one that survives deaths, connected to one that does not: status $STATUS}"
says far '^ok'
SERVER_ENV=() FAR_ENV=(LIBMPI_KEEP_GOING=1)
pair server client
[ $STATUS != 0 ] || WHY="${WHY:-a plain job does not end with a dead one that survives deaths}"
says far 'a job that this one is connected to (10.0.0.1:[0-9]* in its cluster) is gone'
FAR_ENV=()
verdict "who aborted is told, and one of two jobs outlives the other" "$WHY" far aborter client 'relayd-*'

# ---- one job over both clusters that opens ports, starts programs, and is joined by others
testbed_server "$B" || fail "impi-server: does not start"
RANKS=2
both() { # PROGRAM OPTION-OF-MPIRUN
	local c name
	name=both-$(basename "$1")$2
	for c in b a; do
		testbed_spawn "${c}0" "$name-$c" env PMIX_MCA_ptl_tcp_if_include=lo IMPI_AUTH_NONE=1 \
			XDG_RUNTIME_DIR="$TB_DIR/tmp" LIBMPI_RELAY=$RELAY "$B/bin/impirun" \
			-client "$(_tb_index "$c")" "$(testbed_addr "${c}fe0"):7811" \
			--launcher "$B/bin/mpirun" ${2:+"$2"} -n "$RANKS" "$1"
	done
	WHY=
	for c in a b; do
		ends "$name-$c"
		[ $STATUS = 0 ] || WHY="${WHY:-cluster $c: status $STATUS}"
	done
	cat "$TB_LOG/$name"-?.log | grep -q '^ok' || WHY="${WHY:-does not say ok}"
	verdict "$(basename "$1") over two clusters${2:+ with $2}" "$WHY" "$name-a" "$name-b" 'relayd-*'
}
both "$B/test/mpi/dyn" ''
both "$B/test/mpi/dyn" --keep-going
[ ! -x "$B/test/mpi/fortran_dyn" ] || both "$B/test/mpi/fortran_dyn" ''

# ---- jobs that end as soon as their pairs have parted, some with words of a root still under way
RANKS=4
for ((i = 0; i < 8; i++)); do both "$B/test/mpi/partings" ''; done
exit $rc
