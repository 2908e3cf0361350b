#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The edges of a running relayd: what a hostile host on a leg reaches of the front end's kernel,
# what the process may do, what it leaves behind after each way to end it.
# ipv6: yes
# timeout: 240
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-edge
make_net || { fail edge-net "cannot make namespaces"; exit 1; }
make_conf
in_node() { ip netns exec "$NODE" "$@"; }
in_wan() { ip netns exec "$WAN" "$@"; }
in_relay() { ip netns exec "$RELAY" "$@"; }
setting() { in_relay cat "/proc/sys/net/ipv4/conf/priv0/$1"; }
mac_of() { ip -n "$RELAY" -br link show "$1" | awk '{print $3}'; }
hostile() { # private|global WHAT...
	local leg=$1
	shift
	case $leg in
	private) in_node python3 test/smoke/_hostile.py p0 10.0.0.1 "$(mac_of priv0)" 10.0.0.10 "$@" ;;
	global) in_wan python3 test/smoke/_hostile.py g0 198.51.100.1 "$(mac_of glob0)" 198.51.100.9 "$@" ;;
	esac
}
arp_ignore=$(setting arp_ignore) rp_filter=$(setting rp_filter)
daemon=$(id -u daemon)

# What stays after relayd's end, in words; the keeper may take a moment after a crash.
left() {
	[ ! -e "/var/run/dpdk/$RUN" ] || echo "runtime folder"
	[ ! -e "/run/relayd/$RUN.sock" ] || echo "control socket"
	[ ! -e "/run/relayd/$RUN.left" ] || echo "record"
	[ ! -e "$TMP/relayd.pid" ] || echo "pidfile"
	[ "$(setting arp_ignore)" = "$arp_ignore" ] || echo "arp_ignore $(setting arp_ignore)"
	[ "$(setting rp_filter)" = "$rp_filter" ] || echo "rp_filter $(setting rp_filter)"
	find "$TMP" -name 'core*'
	ip -n "$RELAY" -br link | grep -o '^relay-[a-z]*'
}
nothing_left() { # NAME
	for _ in $(seq 300); do [ -z "$(left)" ] && break; sleep 0.1; done
	check "$1" "left behind: $(left | tr '\n' ' ')" [ -z "$(left)" ]
}
gone() { ! kill -0 "$RELAYD_PID" 2>/dev/null; }
ends_with() { # SIGNAL: sets rc
	kill "-$1" "$RELAYD_PID"
	for _ in $(seq 600); do gone && break; sleep 0.1; done
	gone || { rc=124; kill -KILL "$RELAYD_PID"; return; }
	wait "$RELAYD_PID" 2>/dev/null
	rc=$?
	RELAYD_PID=
}
# run_relayd NAME: or no more rows.
run_relayd() {
	: >"$TMP/relayd.log" # the ready line of the one before is none
	start_relayd || { fail "$1" "no ready line; log follows"; exit 1; }
}

# ---- ports, from both sides ------------------------------------------------------------------
# Somebody else's services on all addresses of the front end.
ip netns exec "$RELAY" python3 - <<'PY' &
import os, socket, time
parent = os.getppid()
keep = []
for kind, port in ((1, 22), (1, 2049), (2, 111), (2, 2049), (1, 9100)):
    s = socket.socket(socket.AF_INET, kind)
    s.bind(("0.0.0.0", port))
    if kind == 1:
        s.listen()
    keep.append(s)
while os.getppid() == parent:  # a scenario that is over needs them no more
    time.sleep(0.2)
PY
services=$!
run_relayd edge-start
hostile private scan >"$TMP/scan-private"
hostile global scan >"$TMP/scan-global"
check edge-scan-private "$(cat "$TMP/scan-private")" \
	python3 -c 'import sys
got = set(open(sys.argv[1]).read().split()[1:])
own = {"tcp/7811"} | {"tcp/%d" % p for p in range(7820, 7836)}
sys.exit(not ("tcp/7811" in got and got <= own))' "$TMP/scan-private"
check edge-scan-global "$(cat "$TMP/scan-global")" \
	python3 -c 'import sys
got = set(open(sys.argv[1]).read().split()[1:])
sys.exit(not got <= {"tcp/%d" % p for p in range(7820, 7836)})' "$TMP/scan-global"
# What lies where the file is made is not followed.
echo kept >"$TMP/kept"
ln -s "$TMP/kept" "$TMP/stats.json.tmp"
stats
check edge-stats-link "it was written through a link" [ "$(cat "$TMP/kept")" = kept ]
check edge-scan-counted "tap_port: private $(stat 's["legs"]["private"]["rx_drops"]["tap_port"]')" \
	[ "$(stat 's["legs"]["private"]["rx_drops"]["tap_port"]')" -ge 150000 ]
check edge-answers "the front end's own connection gets no answer" in_relay python3 - <<PY
import socket, subprocess, sys
server = subprocess.Popen(["ip", "netns", "exec", "$NODE", sys.executable, "-c", """
import socket
s = socket.create_server(("10.0.0.10", 5555))
print("ready", flush=True)
c, _ = s.accept()
c.sendall(c.recv(100))
"""], stdout=subprocess.PIPE)
server.stdout.readline()
c = socket.create_connection(("10.0.0.10", 5555), 10)
c.sendall(b"hello")
c.settimeout(10)
sys.exit(c.recv(100) != b"hello")
PY
hostile global sumless 20 7812
stats
check edge-sumless "udp_no_checksum is $(stat 's["legs"]["global"]["rx_drops"]["udp_no_checksum"]')" \
	[ "$(stat 's["legs"]["global"]["rx_drops"]["udp_no_checksum"]')" -eq 20 ]

# ---- what the process may do -------------------------------------------------------------------
caps() { cat "/proc/$RELAYD_PID/task/"*/status | sed -n "s/^$1:[[:space:]]*//p" | sort -u | tr '\n' ' '; }
# CAP_NET_ADMIN 12, CAP_NET_RAW 13, CAP_IPC_LOCK 14, in every thread
check edge-capabilities "effective $(caps CapEff) permitted $(caps CapPrm)" \
	[ "$(caps CapEff)$(caps CapPrm)" = '0000000000007000 0000000000007000 ' ]
check edge-bounding "bounding set is $(caps CapBnd)" [ "$(caps CapBnd)" = '0000000000000000 ' ]
check edge-no-new-privs "$(caps NoNewPrivs)" [ "$(caps NoNewPrivs)" = '1 ' ]
check edge-core-limit "a core file is allowed" \
	grep -Eq '^Max core file size +0 +0 ' "/proc/$RELAYD_PID/limits"
check edge-memory-private "its memory can be read by its own user" \
	[ "$(command stat -c %u "/proc/$RELAYD_PID/mem")" = 0 ]
check edge-memory-locked "$(grep VmLck "/proc/$RELAYD_PID/status")" \
	[ "$(awk '/^VmLck/ { print $2 }' "/proc/$RELAYD_PID/status")" -gt 0 ]

# ---- every way to end -----------------------------------------------------------------------------
kill -HUP "$RELAYD_PID"
for _ in $(seq 300); do grep -q 'reload: .* taken over' "$TMP/relayd.log" && break; sleep 0.1; done
check edge-hup "SIGHUP does not reload" grep -q 'reload: .* taken over' "$TMP/relayd.log"
check edge-hup-serves "it does not serve any more" in_node ping -q -c 1 -W 2 10.0.0.1
ends_with TERM
check edge-term "status $rc" [ "$rc" -eq 0 ]
check edge-term-drains "no word about it" grep -q 'SIGTERM: no new jobs' "$TMP/relayd.log"
nothing_left edge-term-clean
run_relayd edge-quit-start
for signal in USR2 ALRM PROF PIPE RTMIN; do kill -$signal "$RELAYD_PID"; done
check edge-others-ignored "it does not serve any more" in_node ping -q -c 1 -W 2 10.0.0.1
ends_with QUIT
check edge-quit "status $rc" [ "$rc" -eq 0 ]
nothing_left edge-quit-clean
for signal in SEGV ABRT KILL; do
	ulimit -c unlimited 2>/dev/null
	run_relayd "edge-$signal-start"
	[ "$(setting arp_ignore)" = 8 ] || fail "edge-$signal-set" "arp_ignore is $(setting arp_ignore)"
	ends_with $signal
	nothing_left "edge-$signal-clean"
done
# Both killed at once: the next start finds the record, and its end cleans all.
run_relayd edge-both-start
keeper=$(pgrep -P "$RELAYD_PID" -x relayd-keeper)
kill -KILL "$keeper" "$RELAYD_PID"
for _ in $(seq 100); do gone && break; sleep 0.1; done
wait "$RELAYD_PID" 2>/dev/null
check edge-both-left "nothing was left; the row tests nothing" [ "$(setting arp_ignore)" = 8 ]
run_relayd edge-both-again
check edge-both-told "no word about it" grep -q 'settings of before are back' "$TMP/relayd.log"
ends_with TERM
nothing_left edge-both-clean

# ---- another user ----------------------------------------------------------------------------------
sed -i -e 's#"stats_file": "[^"]*"#"stats_file": ""#' -e 's#"user": "[^"]*"#"user": "daemon"#' "$TMP/conf.json"
grep -q '"user"' "$TMP/conf.json" || sed -i '0,/{/s//{ "user": "daemon",/' "$TMP/conf.json"
run_relayd edge-user-start
check edge-user "uids $(caps Uid)" grep -Eq "^($daemon[[:space:]]+){4}$" <(caps Uid)
check edge-user-caps "permitted $(caps CapPrm)" [ "$(caps CapPrm)" = '0000000000000000 ' ]
check edge-user-memory-private "its memory can be read by its own user" \
	[ "$(command stat -c %u "/proc/$RELAYD_PID/mem")" = 0 ]
check edge-user-serves "no echo reply" in_node ping -q -c 1 -W 2 10.0.0.1
check edge-user-tcp "no TCP connection to the IMPI port" in_node python3 -c '
import socket
socket.create_connection(("10.0.0.1", 7811), 10)'
ends_with TERM
check edge-user-end "status $rc" [ "$rc" -eq 0 ]
nothing_left edge-user-clean
kill "$services" 2>/dev/null
exit $FAILED
