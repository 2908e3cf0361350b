# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Light between the front ends of a testbed.  Source it behind lib.sh, between testbed_up (or
# testbed_plan) and testbed_relayd:
#
#	. tools/testbed/light.sh
#	testbed_light		# knobs below
#
#	 afe0 light0 ----+                     +---- bfe0 light0    10.50.0.1 .. (PORTS each)
#	 afe0 light1 ----+  ocs: Open vSwitch  +---- bfe0 light1
#	 afe0 mgmt0 -----+ 192.0.2.1, OpenFlow +---- bfe0 mgmt0     192.0.2.10, .11, ...
#
# The first LIGHT_RELAYS front ends of a cluster have LIGHT_PORTS legs each without a kernel
# address, wired to one Open vSwitch of our own (userspace datapath, database and socket in TB_DIR) in the namespace ocs.  It fails
# secure and nobody but its controller sets flows: a leg is dark until a circuit is set.  The
# line is LIGHT_RATE fast behind the switch, and relays keep to that with a window of 192 KB: a port's
# receive buffer in the switch is the kernel's default, 200 KB.  Control goes over a network of its own, as
# management ports do.  The relay of cluster a is the controller: it drives the switch.
#
# Knobs: LIGHT_RELAYS (1) of each cluster, LIGHT_PORTS (2) of each of them, LIGHT_RATE (1gbit; 0: as
# fast as it goes), LIGHT_EXTRA_MS (10) more switching time, LIGHT_MODE (auto) of who does not say, LIGHT_CONF (further keys),
# LIGHT_CROSSED (the front end, such as bfe0, whose fibres are patched in reverse order: it and the
# controller take them for what they are not),
# LIGHT_PROTOCOL (openflow: the controller speaks to Open vSwitch itself; tl1-polatis,
# tl1-calient, tl1-glimmerglass, scpi: to an ocs-emulator, which sets the flows; netconf: to
# netconfd, whose circuits tools/testbed/netconf-light.py makes flows).

TB_LIGHT=0
TB_OCS_AT=192.0.2.1
TB_CONTROLLER=192.0.2.10:7820

_tb_mbps() { # of a tc rate
	case $1 in
	*gbit) echo "$((${1%gbit} * 1000))" ;;
	*mbit) echo "${1%mbit}" ;;
	*) echo 0 ;;
	esac
}

_tb_light_ports() { echo $((LIGHT_PORTS * LIGHT_RELAYS * $(_tb_clusters))); } # of the switch
_tb_light_first() { # FRONTEND: its first one
	echo $((LIGHT_PORTS * (LIGHT_RELAYS * $(_tb_index "$1") + ${1#?fe})))
}

_tb_vsctl() { ovs-vsctl --db="unix:$TB_DIR/ovs/db.sock" --timeout=20 "$@"; }

# Light waits for no processor: what stands for glass goes before whatever else wants to run, where
# that is allowed.  It makes room for 32 frames at every look at every port: without the limits
# malloc() gives that back to the kernel each time, half of all it does at MTU 9000.
testbed_vswitchd() { # also to start it again
	local first=''
	! chrt --fifo 3 true 2>/dev/null || first='chrt --fifo 3'
	# shellcheck disable=SC2086 # words
	MALLOC_TRIM_THRESHOLD_=268435456 MALLOC_TOP_PAD_=16777216 MALLOC_MMAP_THRESHOLD_=16777216 \
		OVS_RUNDIR=$TB_DIR/ovs testbed_spawn ocs ovs-vswitchd $first ovs-vswitchd "unix:$TB_DIR/ovs/db.sock"
}

# The switch as the controller sees it, where it is not Open vSwitch itself; also to start it again.
testbed_emulator() {
	if [ "$LIGHT_PROTOCOL" = netconf ]; then
		rm -f "$TB_DIR/ovs/ncx"
		# It keeps files where it stands, and is asked for its models by nobody (doc/optical.md).
		(cd "$TB_DIR/ovs" && HOME=$TB_DIR/ovs testbed_spawn ocs emulator netconfd --module=optical-switch \
			--modpath="$TB_DIR/ovs/models:/usr/share/yuma/modules" --no-startup --target=running --superuser=root \
			--access-control=off --port=8300 --ncxserver-sockname="$TB_DIR/ovs/ncx") &&
			testbed_wait 20 "netconfd ($TB_LOG/emulator.log)" test -S "$TB_DIR/ovs/ncx"
		return
	fi
	testbed_spawn ocs emulator python3 -B tools/ocs-emulator/ocs-emulator --dialect "$LIGHT_PROTOCOL" \
		--listen "$TB_OCS_AT:3082" --ports "$(_tb_light_ports)" --switch-ms "$LIGHT_EXTRA_MS" \
		--state "$TB_DIR/ovs/circuits" --out "$TB_DIR/ovs/out" --hook "$TB_DIR/ovs/hook" &&
		testbed_wait 10 "ocs-emulator ($TB_LOG/emulator.log)" grep -q ready "$TB_LOG/emulator.log"
}

# NETCONF: the command that makes a session, the models, and the mirrors.
_tb_netconf() {
	mkdir "$TB_DIR/ovs/models" && cp /usr/share/yuma/modules/*/*.yang test/smoke/ocs/*.yang "$TB_DIR/ovs/models" || return
	cat >"$TB_DIR/ovs/session" <<-EOF
		#!/bin/sh
		SSH_CONNECTION='127.0.0.1 1 127.0.0.1 8300' USER=root
		export SSH_CONNECTION USER
		exec /usr/sbin/netconf-subsystem --ncxserver-sockname=8300@$TB_DIR/ovs/ncx
	EOF
	chmod +x "$TB_DIR/ovs/session"
	testbed_emulator && testbed_spawn ocs mirrors python3 -B tools/testbed/netconf-light.py \
		"$(_tb_light_ports)" "unix:$TB_DIR/ovs/sw.mgmt" "$TB_DIR/ovs/session"
}

_tb_hook() {
	cat >"$TB_DIR/ovs/hook" <<-EOF
		#!/bin/sh
		case \$1 in
		lit) set -- add-flow "in_port=\$((\$2 + 1)),actions=output:\$((\$3 + 1))" ;;
		*) set -- del-flows "in_port=\$((\$2 + 1))" ;;
		esac
		exec ovs-ofctl -O OpenFlow13 "\$1" "unix:$TB_DIR/ovs/sw.mgmt" "\$2"
	EOF
	chmod +x "$TB_DIR/ovs/hook"
	testbed_emulator
}

_tb_ovs() {
	mkdir -p "$TB_DIR/ovs"
	export OVS_RUNDIR=$TB_DIR/ovs OVS_LOGDIR=$TB_DIR/ovs OVS_DBDIR=$TB_DIR/ovs OVS_SYSCONFDIR=$TB_DIR/ovs
	ovsdb-tool create "$TB_DIR/ovs/conf.db" /usr/share/openvswitch/vswitch.ovsschema &&
		testbed_spawn ocs ovsdb ovsdb-server "$TB_DIR/ovs/conf.db" "--remote=punix:$TB_DIR/ovs/db.sock" &&
		testbed_wait 20 "ovsdb-server ($TB_LOG/ovsdb.log)" test -S "$TB_DIR/ovs/db.sock" &&
		testbed_vswitchd &&
		_tb_vsctl add-br sw -- set bridge sw datapath_type=netdev protocols=OpenFlow13,OpenFlow14 \
			-- set-fail-mode sw secure \
			-- set-controller sw "ptcp:6653:$TB_OCS_AT" -- set controller sw connection_mode=out-of-band
}

# Ports of an ocs-emulator that somebody works at: circuits over them are gone, none is set.
testbed_switch_out() { # PORT...
	echo "$*" >"$TB_DIR/ovs/out" && kill -HUP "$(cat "$TB_DIR/pid-emulator")"
}

_tb_light_legs() { # FRONTEND
	local j port first n=${1#?fe}
	first=$(_tb_light_first "$1")
	_tb_link "$1" mgmt0 ocs "mgmt${1:0:1}$n" 1500
	_tb_port ocs mg0 "mgmt${1:0:1}$n"
	_tb_address "$1" mgmt0 "192.0.2.$((10 + $(_tb_index "$1") + 24 * n))/24"
	for ((j = 0; j < LIGHT_PORTS; j++)); do
		port=${1:0:1}$((n * LIGHT_PORTS + j))
		_tb_link "$1" "light$j" ocs "$port" "$MTU_WAN"
		[ "$LIGHT_RATE" = 0 ] ||
			_tb_rates+="qdisc add dev $port root tbf rate $LIGHT_RATE burst 30000 limit 4000000"$'\n'
		_tb_ports+=(-- add-port sw "$port" -- set interface "$port" "ofport_request=$((first + j + 1))")
	done
}

testbed_light() {
	local c n _tb_ports=() _tb_rates=''
	: "${LIGHT_RELAYS:=1}" "${LIGHT_PORTS:=2}" "${LIGHT_RATE:=1gbit}" "${LIGHT_EXTRA_MS:=10}" "${LIGHT_MODE:=auto}"
	: "${LIGHT_CONF:=}" "${LIGHT_PROTOCOL:=openflow}"
	command -v ovs-vswitchd >/dev/null || {
		testbed_die "Open vSwitch is not installed; run make deps"
		return 1
	}
	_tb_ns ocs
	_tb_bridge ocs mg0 1500
	_tb_address ocs mg0 "$TB_OCS_AT/24"
	for c in $CLUSTERS; do
		for ((n = 0; n < LIGHT_RELAYS; n++)); do _tb_light_legs "${c}fe$n"; done
	done
	testbed_build && tc -n "$TB_ID-ocs" -batch - <<<"$_tb_rates" || return
	_tb_ovs && _tb_vsctl "${_tb_ports[@]:1}" || {
		testbed_die "Open vSwitch does not start:"
		tail -n 5 "$TB_LOG"/ovs*.log >&2
		return 1
	}
	case $LIGHT_PROTOCOL in
	openflow) ;;
	netconf) _tb_netconf ;;
	*) _tb_hook ;;
	esac || return
	TB_LIGHT=1
}

_tb_switch() { # how it is reached
	local at="\"address\": \"$TB_OCS_AT:3082\""
	case $LIGHT_PROTOCOL in
	openflow) echo "\"address\": \"$TB_OCS_AT\", \"extra_ms\": $LIGHT_EXTRA_MS" ;;
	netconf) echo "\"address\": \"exec:$TB_DIR/ovs/session\", \"models\": \"$TB_DIR/ovs/models\"" ;;
	tl1-calient)
		awk "BEGIN { for (i = 0; i < $(_tb_light_ports); i++) print \"1.1.\" i + 1 }" >"$TB_DIR/ovs/names"
		echo "$at, \"names\": \"$TB_DIR/ovs/names\", \"group\": \"MPI\""
		;;
	*) echo "$at" ;;
	esac
}

# The section "optical" of a front end's configuration; nothing without light.
testbed_light_conf() { # FRONTEND
	local j at first ports=''
	[ "$TB_LIGHT" = 1 ] && ((${1#?fe} < LIGHT_RELAYS)) || return 0
	first=$(_tb_light_first "$1")
	for ((j = 0; j < LIGHT_PORTS; j++)); do
		at=$((first + j))
		[ "${LIGHT_CROSSED:-}" != "$1" ] || at=$((first + LIGHT_PORTS - 1 - j))
		ports+="${ports:+, }{ \"interface\": \"light$j\", \"switch_port\": $at,"
		ports+=" \"address\": \"10.50.0.$((first + j + 1))/24\" }"
	done
	echo "\"optical\": { \"controller\": \"$TB_CONTROLLER\", \"mode\": \"$LIGHT_MODE\", \"pmd\": \"$PMD\"," \
		"\"rate_mbps\": $(_tb_mbps "$LIGHT_RATE"), \"window\": $((192000 / MTU_WAN)), \"packet_alpha_us\": $((1000 * ${WAN_DELAY_MS:-1} + 500))," \
		"\"packet_rate_mbps\": $(awk "BEGIN { print int(${WAN_RATE:-1e9} / 1e6) }"),"
	[ "$1" != afe0 ] || echo "\"listen\": \"$TB_CONTROLLER\", \"switch\": { \"protocol\": \"$LIGHT_PROTOCOL\"," \
		"\"ports\": $(_tb_light_ports), $(_tb_switch) },"
	echo "${LIGHT_CONF:+$LIGHT_CONF, }\"ports\": [ $ports ] },"
}

# testbed_light_up B: WAN, server, relays, and the controller's switch online.  Knobs: WAN_DELAY_MS
# (1), WAN_RATE (1e9).
testbed_light_up() {
	local b=$1 c n
	testbed_plan && testbed_light &&
		testbed_wanem "$b/bin/wanem" --delay-ms "${WAN_DELAY_MS:-1}" --rate "${WAN_RATE:-1e9}" &&
		testbed_server "$b" || return
	for c in $CLUSTERS; do
		for ((n = 0; n < LIGHT_RELAYS; n++)); do testbed_relayd "$b" "${c}fe$n" || return; done
	done
	testbed_wait 20 "all relays at the controller ($TB_LOG/relayd-afe0.log)" _tb_agents "$b"
}

_tb_agents() { # B: have all relays with light reported?
	local n
	n=$("$1/bin/relayctl" -s "$TB_ID-afe0" --json circuits | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(sum(1 for r in d["relays"] if r["offered"]) if d["switch"] == "online" else 0)') && ((n == LIGHT_RELAYS * $(_tb_clusters)))
}

# testbed_light_job B NAME MODE SECONDS PROGRAM...: one job with LIBMPI_OPTICAL=MODE, to its end; its
# status.  What rank 0 said is in TB_LOG/NAME-a.log.
testbed_light_job() {
	local b=$1 name=$2 mode=$3 end=$((SECONDS + $4)) c rc=0
	shift 4
	testbed_job "$b" "$name" -x "LIBMPI_OPTICAL=$mode" "$@"
	for c in $CLUSTERS; do
		while testbed_alive "$name-$c" && ((SECONDS <= end)); do sleep 0.3; done
		if testbed_alive "$name-$c"; then
			testbed_stop "$name-$c" 3
			rc=124
		else
			wait "$(cat "$TB_DIR/pid-$name-$c")" || rc=$?
		fi
	done
	return $rc
} 2>/dev/null
