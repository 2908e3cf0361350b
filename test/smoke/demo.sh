#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The demo, small: as it is, and with two relays a side over a WAN that loses frames.
# ipv6: yes
# timeout: 240
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0

# scenario NAME VARIABLE=VALUE...
scenario() {
	local name=$1 out=$work/$1
	shift
	if ! env SMALL=1 OUT="$out" "$@" tools/testbed/demo "$B" >"$work/$name.txt" 2>&1; then
		tail -n 60 "$work/$name.txt"
		echo "FAIL demo $name: $(grep -m1 FAILED "$work/$name.txt" || echo 'ended with an error')"
		rc=1
	elif ! cmp -s "$out/heat-1.png" "$out/heat-both.png" || [ ! -s "$out/pingpong.svg" ] ||
		! grep -q 'across' "$out/report.txt"; then
		echo "FAIL demo $name: pictures, plot or report are missing"
		rc=1
	else
		echo "PASS demo $name"
	fi
}

scenario plain
scenario two-relays-loss RELAYS=2 WAN_LOSS=0.005 WAN_DELAY_MS=2
scenario two-ranks-a-node PPN=2 WAN_DELAY_MS=1

# Ctrl-C in the middle: status 130, nothing left.  bash 5.2 loses its place when a signal comes
# while it reads a $(...): it ends with status 1 ("interrupt trap: ... unexpected EOF"; again), or
# the signal is lost.  So it comes while the job across runs, for which there is none.
for ((try = 0; try < 3; try++)); do
	setsid env --default-signal=INT SMALL=1 OUT="$work/int" tools/testbed/demo "$B" >"$work/int.txt" 2>&1 &
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		[ ! -e "$work/int/log/pingpong-a.log" ] || break
		sleep 0.05
	done
	sleep 0.1
	kill -INT -- "-$pid"
	wait $pid
	got=$?
	grep -q 'interrupt trap: .*unexpected EOF' "$work/int.txt" || break
done
left=$(ip netns list | grep "^rd$pid-"; ls -d /tmp/rd$pid.* /var/run/dpdk/rd$pid-* 2>/dev/null)
if [ $got != 130 ]; then
	tail -n 60 "$work/int.txt"
	echo "FAIL demo interrupted: status $got, not 130"
	rc=1
elif [ -n "$left" ]; then
	echo "FAIL demo interrupted: left behind: $left"
	rc=1
else
	echo "PASS demo interrupted"
fi
exit $rc
