#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two testbeds at once: both work, neither disturbs the other, nothing is left.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
log=$(mktemp)
tell_logs() { cat "$log"; rm -f "$log"; }

# One testbed in a process of its own.  Lines for the parent on fd 3; waits for fd 0.
one() {
	. tools/testbed/lib.sh
	local go
	RELAYS=$1
	testbed_up || return 1
	testbed_wanem "$B/bin/wanem" --delay-ms 3 || return 1
	for fe in afe0 bfe0; do testbed_kernel_address $fe || return 1; done
	echo "up $TB_ID $TB_DIR" >&3
	read -r go || return 1
	testbed_exec a0 ping -q -c 2 -i 0.1 -W 2 "$(testbed_addr a1)" || return 1
	testbed_exec b1 ping -q -c 2 -i 0.1 -W 2 "$(testbed_addr bfe0)" || return 1
	# Through wanem: there and back takes twice the delay, and cannot take less.
	local rtt
	rtt=$(testbed_exec afe0 ping -q -c 3 -i 0.1 -W 2 "$(testbed_global_addr bfe0)" |
		sed -n 's|^rtt [^=]*= \([0-9]*\).*|\1|p')
	echo "rtt ${rtt:-none} ms"
	[ "${rtt:-0}" -ge 6 ] || return 1
	testbed_exec bfe0 ping -q -c 1 -W 2 "$(testbed_addr srv)" || return 1
	# The other cluster's private network is not there.
	! testbed_exec a0 ping -q -c 1 -W 1 "$(testbed_global_addr bfe0)" || return 1
	testbed_spawn b0 sleeper sleep 1000
	echo "works $TB_ID" >&3
	read -r go || return 1
	testbed_stop wanem || return 1
	[ "$go" = stop ] || kill -INT $BASHPID
	# The number of a process that is gone may be somebody else's by now.
	setsid sleep 100 &
	local other=$!
	disown
	echo $other >"$TB_DIR/pid-gone"
	echo "$other 1" >>"$TB_DIR/pids"
	TB_STARTED[$other]=1
	! testbed_alive gone || return 1
	testbed_stop gone 1 2>/dev/null
	testbed_down
	kill $other || return 1
	[ -z "$(testbed_leftovers)" ]
}

work=$(mktemp -d)
p1='' p2=''
trap 'rm -rf "$work"; kill $p1 $p2 2>/dev/null' EXIT
mkfifo "$work/in1" "$work/in2" "$work/out1" "$work/out2"
exec 4<>"$work/in1" 5<>"$work/in2" 6<>"$work/out1" 7<>"$work/out2"
# A background job of a script ignores SIGINT, which a shell cannot trap: put it back.
B=$B env --default-signal=INT bash -c "$(declare -f one); one 1" 3>"$work/out1" <"$work/in1" >>"$log" 2>&1 &
p1=$!
B=$B env --default-signal=INT bash -c "$(declare -f one); one 2" 3>"$work/out2" <"$work/in2" >>"$log" 2>&1 &
p2=$!
read -r -t 20 _ id1 dir1 <&6 || fail "the first testbed did not come up"
read -r -t 20 _ id2 dir2 <&7 || fail "the second testbed did not come up"
[ "$id1" != "$id2" ] && [ "$dir1" != "$dir2" ] || fail "both testbeds are called $id1"
echo go >&4
echo go >&5
read -r -t 20 w _ <&6 && [ "$w" = works ] || fail "no connectivity in the first testbed"
read -r -t 20 w _ <&7 && [ "$w" = works ] || fail "no connectivity in the second testbed"
echo stop >&4
wait $p1 || fail "the first testbed was not taken down cleanly"
[ -e "/var/run/netns/$id2-wan" ] || fail "taking down one testbed took the other"
echo interrupt >&5
wait $p2
[ $? = 130 ] || fail "an interrupted testbed did not end with status 130"
for id in "$id1" "$id2"; do
	left=$(ip netns list | grep "^$id-"; ls -d /var/run/dpdk/"$id"-* 2>/dev/null)
	[ -z "$left" ] || fail "left behind: $left"
done
[ ! -e "$dir1" ] && [ ! -e "$dir2" ] || fail "run folders left behind"
rm -f "$log"
echo "PASS $SCENARIO"
