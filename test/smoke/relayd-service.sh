#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the installed systemd unit promises: its commands run as they stand there, relayd says
# READY=1 once it serves and STOPPING=1 when it is asked to end, and ends in time.
# ipv6: yes
# timeout: 90
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-service
make_net || { fail relayd-service-net "cannot make namespaces"; exit 1; }
make_conf

mkdir -p "$TMP/prefix"
make -s install-relayd install-man PREFIX="$TMP/prefix" >"$TMP/install.log" 2>&1
ln -s "$(realpath "$B/bin")" "$TMP/prefix/bin"
UNIT=$TMP/prefix/lib/systemd/system/relayd@.service
check relayd-service-installed "unit, example or man page missing: $(tail -n 2 "$TMP/install.log")" \
	test -s "$UNIT" -a -s "$TMP/prefix/share/doc/relayd/relayd-example.json" -a -s "$TMP/prefix/share/man/man8/relayd.8"
check relayd-service-prefix "@PREFIX@ is left" bash -c "! grep -q '@[A-Z]*@' '$UNIT'"
if command -v systemd-analyze >/dev/null; then
	cp "$UNIT" "$TMP/relayd@a0.service"
	wrong=$(systemd-analyze verify --man=no "$TMP/relayd@a0.service" 2>&1 | head -3)
	check relayd-service-verify "$wrong" test -z "$wrong"
else
	echo "SKIP relayd-service-verify: no systemd-analyze"
fi

# No core file has keys, and what the relay may do is little: 100 is a service without any bound.
check relayd-service-no-core "a core file is allowed" grep -qx LimitCORE=0 "$UNIT"
if command -v systemd-analyze >/dev/null; then
	check relayd-service-hardened "it may do more than it did: systemd-analyze security $UNIT" \
		systemd-analyze security --offline=true --no-pager --threshold=30 "$TMP/relayd@a0.service" >/dev/null 2>&1
fi

# says KEY: the command of that key, with this run's configuration.
says() { sed -n "s#^$1=##p" "$UNIT" | sed "s#/etc/relayd/%i.json#$TMP/conf.json#"; }
# shellcheck disable=SC2046
check relayd-service-pre "status not 0" ip netns exec "$RELAY" $(says ExecStartPre)

python3 - "$TMP/notify" >"$TMP/told" <<'PY' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(60)
while True:
    told = s.recv(4096).decode()
    print(told, flush=True)
    if "STOPPING=1" in told:
        break
PY
listener=$!
for _ in $(seq 300); do [ -S "$TMP/notify" ] && break; sleep 0.1; done
# shellcheck disable=SC2046
WATCHDOG_USEC=2000000 NOTIFY_SOCKET=$TMP/notify ip netns exec "$RELAY" $(says ExecStart) >"$TMP/relayd.log" 2>&1 &
RELAYD_PID=$!
for _ in $(seq 1800); do grep -q READY=1 "$TMP/told" || ! kill -0 $RELAYD_PID 2>/dev/null && break; sleep 0.1; done
check relayd-service-ready "READY=1 not told" grep -qx READY=1 "$TMP/told"
six_seen
check relayd-service-serves "no echo reply when it was ready" ip netns exec "$NODE" ping -q -c 1 -W 2 10.0.0.1
told() { for _ in $(seq 300); do grep -q "$1" "$TMP/told" && return; sleep 0.1; done; return 1; }
# As systemd has it: the file is checked, then the signal is sent; READY=1 ends what RELOADING=1 began.
# shellcheck disable=SC2046
check relayd-service-reload-check "a good file is refused" \
	ip netns exec "$RELAY" $(says ExecReload | head -1)
kill -HUP $RELAYD_PID
check relayd-service-reloading "RELOADING=1 not told" told RELOADING=1
check relayd-service-monotonic "no time with it" grep -q '^MONOTONIC_USEC=[0-9]' "$TMP/told"
check relayd-service-reloaded "no READY=1 behind it" told '1 reloads, 0 refused'
check relayd-service-ready-again "READY=1 is there $(grep -cx READY=1 "$TMP/told") times" \
	[ "$(grep -cx READY=1 "$TMP/told")" -eq 2 ]
check relayd-service-watchdog "WATCHDOG=1 not told" told WATCHDOG=1
check relayd-service-status "$(grep STATUS "$TMP/told")" grep -q '^STATUS=run: 0 jobs' "$TMP/told"
check relayd-service-not-stopping "STOPPING=1 too early" bash -c "! grep -q STOPPING '$TMP/told'"
stop_relayd
check relayd-service-end "exit status $? after SIGTERM" test $? -eq 0
for _ in $(seq 300); do kill -0 $listener 2>/dev/null || break; sleep 0.1; done
check relayd-service-stopping "STOPPING=1 not told: $(tr '\n' ' ' <"$TMP/told")" grep -qx STOPPING=1 "$TMP/told"
kill $listener 2>/dev/null
exit $FAILED
