#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The Wireshark dissectors: recorded streams of another IMPI 0.0 against their listings; what a
# job over two clusters with two relays each says, and one that meets another by a door, inside (in
# clear) and between them (sealed).
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
RELAYS=2 NODES=1
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root dissector
command -v tshark >/dev/null || { echo "SKIP dissector: tshark is not installed; run make deps"; exit 77; }
seen() { python3 test/smoke/_dissector.py "$@"; }
on_exit() {
	local status=$?
	rm -rf "$DIR"
	[ "$TB_UP" = 0 ] || testbed_down
	exit $status
}
DIR=$(mktemp -d)
trap on_exit EXIT

# show PCAP: $DIR/rows: all that the checks ask of each frame, in one pass.
show() {
	local f x=()
	for f in impi suci relayd; do x+=(-X "lua_script:tools/wireshark/$f.lua"); done
	for f in $(seen fields); do x+=(-e "$f"); done
	tshark "${x[@]}" -r "$1" -T fields 2>"$DIR/said" >"$DIR/rows" || WHY+="tshark: $(tail -1 "$DIR/said") "
	! grep -qv '^Running as user' "$DIR/said" || WHY+="$(grep -v '^Running as user' "$DIR/said" | head -3) "
}

# ---- recorded streams
WHY=
for list in test/data/interop/*.list; do
	name=$(basename "$list" .list)
	seen write "$name" "$DIR/in.pcap" || WHY+="no capture of $name "
	show "$DIR/in.pcap"
	WHY+=$(seen listing "$name" "$DIR/rows" 2>&1)
done
verdict "recorded streams of another IMPI are shown as listed" "$WHY"

# ---- a job over relays
testbed_up || fail "testbed: not built"
trap on_exit EXIT
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
listen() { # NODE PORT FILE: returns when it captures what goes through a switch's port
	testbed_spawn "$1" "dumpcap-$1" dumpcap -q -P -i "$2" -w "$3"
	testbed_wait 20 "a capture in $1" test -s "$3"
}
listen asw f0 "$TB_DIR/inside.pcap" || fail "no capture"
export TB_RELAY_CONF='"doors": { "max": 1024 }'
testbed_relayd "$B" afe0 afe1 bfe0 bfe1 || fail "relayd: does not start"
listen wan afe0 "$TB_DIR/outside.pcap" || fail "no capture"
testbed_job "$B" job "$B/test/mpi/probe"
ended() { ! testbed_alive job-a && ! testbed_alive job-b; }
testbed_wait 60 "the job's end" ended || fail "the job does not end"
door() { testbed_spawn "$1" "$2" env LIBMPI_RELAY=10.0.0.254:7812 "$B/examples/meet" "${@:3}"; }
port_is() { PORT=$(sed -n 's/^port //p' "$TB_LOG/server.log") && [ -n "$PORT" ]; }
door b0 server server 1
testbed_wait 30 "the port" port_is || fail "the server opens no port"
door a0 client client "$PORT"
met() { ! testbed_alive client && ! testbed_alive server; }
testbed_wait 60 "the end of the meeting" met || fail "those that meet do not end"
# A capture is whole when it holds a frame that was sent after the job's end.
whole() {
	testbed_exec a0 bash -c 'echo the-last-frame >/dev/udp/10.0.0.254/9'
	grep -qa the-last-frame "$TB_DIR/inside.pcap"
}
testbed_wait 20 "the capture's end" whole || fail "the capture of the private leg is not whole"
for n in asw wan; do testbed_stop "dumpcap-$n" 5; done

WHY=
show "$TB_DIR/inside.pcap"
WHY+=$(seen inside "$DIR/rows" 2>&1)
verdict "start-up, paths, blocks, notes and relays' frames inside a cluster" "$WHY"
tshark -X lua_script:tools/wireshark/suci.lua -r "$TB_DIR/inside.pcap" -T fields -e _ws.expert.message \
	>"$DIR/alone" 2>&1
verdict "suci.lua alone, too" "$(grep -m 1 'Lua Error' "$DIR/alone")"
WHY=
show "$TB_DIR/outside.pcap"
WHY+=$(seen outside "$DIR/rows" 2>&1)
verdict "sealed paths between clusters" "$WHY"
# shellcheck disable=SC2154 # of _tell.sh
exit $rc
