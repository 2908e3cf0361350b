# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the scenarios light-*.sh share: circuits that a job's collective calls ask for.  Two
# clusters of two relays, Open vSwitch between the light ports of the first ones, one of them the
# controller.  In mid-run the switch, the controller and the other relay are killed and started
# again: the job goes on, right in every byte, light comes back, and at the end no circuit is left.
# Switch and controller are killed in mid-batch each time: the switch is stopped first, and the kill waits
# until the controller has asked it for a change.
#
#	B=... ; . test/smoke/_light.sh ; light_scenario "switch relay controller"
#
# LIGHT_PROTOCOL: how the controller speaks to the switch (tools/testbed/light.sh).
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root "$SCENARIO"
need_openvswitch "$SCENARIO"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh

tell_logs() {
	tail -n 12 "$TB_LOG"/relayd-*.log "$TB_LOG"/job-*.log
	ctl afe0 circuits
	ctl afe0 circuits --log | tail -n 25
}
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; } # FRONTEND COMMAND...
circuits() { # FIELD
	ctl afe0 --json circuits 2>/dev/null | python3 -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1" 2>/dev/null || echo -1
}
more() { [ "$(circuits "$1")" -gt "$2" ]; } # FIELD THAN
# So many messages more are sent by light.
by_light() {
	local was
	testbed_wait 20 "the controller" more by_light -1 || return
	was=$(circuits by_light)
	testbed_wait 20 "$1 messages more by light" more by_light $((was + $1))
}
running() { testbed_alive job-a && testbed_alive job-b || fail "$LIGHT_PROTOCOL: the job has ended"; }
crash() { # LOGNAME: SIGKILL, and nothing else
	local pid
	pid=$(cat "$TB_DIR/pid-$1")
	kill -KILL "$pid" && wait "$pid" 2>/dev/null
}

the_switch() { [ "$LIGHT_PROTOCOL" = openflow ] && echo ovs-vswitchd || echo emulator; } # as testbed_spawn calls it
stop_switch() { kill "-$1" "$(cat "$TB_DIR/pid-$(the_switch)")"; } # STOP or CONT
# Longer than the controller waits by itself (extra_ms): the switch has been asked.
asked() { [ "$(circuits changing)" -gt 0 ] && sleep 0.1 && [ "$(circuits changing)" -gt 0 ]; }
# Stopped where what is set up serves the calls that come (or was reported and is not there yet), the
# switch is asked for nothing: it goes on for a while then.
in_mid_batch() {
	local go
	for go in 1 2 3 4 5; do
		stop_switch STOP
		testbed_wait 3 "a change that the switch was asked for, $go" asked && return
		stop_switch CONT
		by_light 10 || fail "$LIGHT_PROTOCOL: no light after the switch stood still"
	done
	fail "$LIGHT_PROTOCOL: nothing is asked of a switch that stands still"
}

kill_switch() {
	in_mid_batch
	crash "$(the_switch)"
	sleep 0.3
	if [ "$LIGHT_PROTOCOL" = openflow ]; then
		testbed_vswitchd || fail "$LIGHT_PROTOCOL: Open vSwitch does not start again"
	else
		testbed_emulator || fail "$LIGHT_PROTOCOL: the switch does not start again"
	fi
}
kill_relay() {
	crash relayd-bfe0
	sleep 0.3
	running
	testbed_relayd "$B" bfe0 || fail "$LIGHT_PROTOCOL: relayd on bfe0 does not start again"
}
# The switch then does what it was asked for last, for nobody.
kill_controller() {
	in_mid_batch
	crash relayd-afe0
	stop_switch CONT
	# Who listens in its place hears nothing in clear.
	local said
	said=$(testbed_exec afe0 timeout 60 python3 - "$TB_CONTROLLER" <<'PY'
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
c, _ = socket.create_server((host, int(port)), backlog=8).accept()
print(c.recv(4, socket.MSG_WAITALL).hex())
PY
	)
	[ "$said" = 534c4b31 ] || fail "$LIGHT_PROTOCOL: a relay greets a controller by $said, not SLK1"
	running
	testbed_relayd "$B" afe0 || fail "$LIGHT_PROTOCOL: relayd on afe0 does not start again"
}
none() { [ "$(circuits links)" = '[]' ] && [ "$(circuits jobs)" = '[]' ]; }

flows() { testbed_exec ocs ovs-ofctl -O OpenFlow13 dump-flows "tcp:$TB_OCS_AT:6653"; }
# Mirrors behind a server (netconf) follow it a little later.
dark() { ! flows | grep -q in_port=; }
gone() { ! testbed_alive "$1"; }

# light_ends PREFIX: the job is to end, and so is everything; PREFIX is that of what is said.
light_ends() {
	local fe s left
	touch "$TB_DIR/enough"
	for s in a b; do
		testbed_wait 20 "the end of job-$s" gone "job-$s" || fail "${1}side $s hangs"
		wait "$(cat "$TB_DIR/pid-job-$s")" || fail "${1}side $s ended with status $?"
	done
	grep -q '^ok' "$TB_LOG/job-a.log" || fail "${1}the job does not say ok"
	testbed_wait 10 "circuits to be given back" none || fail "${1}circuits are left"
	testbed_wait 5 "the switch to be dark" dark || fail "${1}circuits are left on the switch: $(flows)"
	pass "${1}the job was right all the time, and no circuit is left"
	for fe in afe0 afe1 bfe0 bfe1; do testbed_stop relayd-$fe || fail "${1}$fe does not stop clean"; done
	testbed_down
	left=$(testbed_leftovers)
	[ -z "$left" ] || fail "${1}left: $left"
}

# light_scenario WHOM: the job, and who is killed during it.
light_scenario() {
	local what fe
	testbed_up && testbed_light || fail "$LIGHT_PROTOCOL: testbed: not built"
	testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "$LIGHT_PROTOCOL: wanem: does not start"
	testbed_server "$B" || fail "$LIGHT_PROTOCOL: impi-server: does not start"
	for fe in afe0 afe1 bfe0 bfe1; do testbed_relayd "$B" $fe || fail "$LIGHT_PROTOCOL: relayd on $fe does not start"; done
	rm -f "$TB_DIR/enough"
	LIBMPI_OPTICAL=pipelined testbed_job "$B" job "$B/test/mpi/failover" 3600 200000 "$TB_DIR/enough"

	by_light 20 || fail "$LIGHT_PROTOCOL: nothing goes by light"
	more calls 10 && more misses 0 || fail "$LIGHT_PROTOCOL: calls are not planned"
	ctl afe0 circuits --log >"$TB_LOG/events.log"
	grep -q "alltoall.*pipelined" "$TB_LOG/events.log" || fail "$LIGHT_PROTOCOL: the log says nothing of calls"
	pass "$LIGHT_PROTOCOL: calls are announced, planned, and go by light: gamma $(circuits gamma_us) us"

	for what in $1; do
		"kill_$what"
		by_light 20 || fail "$LIGHT_PROTOCOL: no light after the $what came back"
		running
		pass "$LIGHT_PROTOCOL: the $what killed$([ "$what" = relay ] || echo " in mid-batch") and back: $(circuits sessions) sessions, light again"
	done

	light_ends "$LIGHT_PROTOCOL: "
}

CLUSTERS='a b' NODES=1 RELAYS=2 LIGHT_PORTS=1 LIGHT_RATE=1gbit LIGHT_EXTRA_MS=5 LIGHT_MODE=pipelined
