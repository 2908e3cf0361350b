#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libmmp over relays: two sites with the same private addresses, five ranks, all to all with every
# byte checked; met by a file, by the address itself, under a launcher in each site; what goes
# wrong is said; a rank that is killed ends the waits of the others.  A relay that is replaced by
# itself or by a second one does not: the job goes on, unless nothing replaces it in time.  Nor does
# one that ends while the ranks meet.  With IPV6=1 both sites have IPv6 alone inside, too.
# ipv6: yes
# timeout: 500
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
CLUSTERS='a b' NODES=2 RELAYS=1 RELAYS_B=2
[ -z "${IPV6:-}" ] || : "${IPV6_INSIDE=a b}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mmp-sites
ALL=$B/examples/mmp-all
W=$(mktemp -d)

testbed_up || fail "no testbed"
testbed_wanem "$B/bin/wanem" --delay-ms 5 --loss 0.001 || fail "wanem does not start"
TB_RELAY_CONF='"doors": { "max": 1024 }'
testbed_relayd "$B" afe0 bfe0 bfe1 || fail "relayd does not start"
cat >"$W/hosts" <<EOP
$(testbed_inside a0) 7801 north
$(testbed_inside a0) 7802 north
$(testbed_inside a1) 7801 north
$(testbed_inside b0) 7801 south
$(testbed_inside b1) 7801 south
EOP
NODE=(a0 a0 a1 b0 b1)
NORTH=$(testbed_inside afe0 7812)
FIRST=$(testbed_inside bfe0 7812) SECOND=$(testbed_inside bfe1 7812)
SOUTH=$FIRST # the relay of ranks 3 and 4

# begin RANKS NAME=VALUE... -- PROGRAM ARG...: their output in $W/out.
begin() {
	local ranks=$1 env=() i at
	shift
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	for i in $ranks; do
		at=$NORTH
		((i < 3)) || at=$SOUTH
		env LIBMMP_RELAY=$at LIBMMP_MEET="$W/meet" "${env[@]}" LIBMMP_RANK="$i" \
			timeout 120 "$TB_DIR/in" "${NODE[i]}" "$@" >"$W/out$i" 2>&1 &
		pids[i]=$!
	done
}
pids=()
all() { # WHAT ROUNDS BYTES NAME=VALUE...
	local what=$1 rounds=$2 bytes=$3 bad=0 i
	shift 3
	rm -f "$W"/out?
	begin '0 1 2 3 4' "$@" -- "$ALL" "$W/hosts" "$rounds" "$bytes"
	for i in 0 1 2 3 4; do wait "${pids[i]}" || bad=1; done
	if [ $bad = 0 ] && [ "$(cat "$W"/out? | grep -c 'all bytes right')" = 5 ]; then
		pass "$what"
	else
		fail "$what: $(tail -n 3 "$W"/out?)"
	fi
}

# The file of the run before is there when the next begins: its doors are gone.
for mode in thread inline; do
	all "all to all over two sites, $mode: short" 10 20 LIBMMP_PROGRESS=$mode
	all "all to all over two sites, $mode: 300 KB" 2 300000 LIBMMP_PROGRESS=$mode
done
all "all to all over two sites, an area of 128 KiB" 2 100000 LIBMMP_AREA=128K
[ "$(stat -c %a "$W/meet")" = 600 ] || fail "others may read the address"

# ---- the address itself, as a person would carry it
rm -f "$W"/out? "$W/meet"
begin '0 1 2' LIBMMP_MEET=- -- "$ALL" "$W/hosts" 2 1000
said() { ADDRESS=$(sed -n 's/^libmmp: LIBMMP_MEET=//p' "$W/out0") && [ -n "$ADDRESS" ]; }
testbed_wait 20 "the address" said || fail "rank 0 prints no address: $(cat "$W/out0")"
begin '3 4' LIBMMP_MEET="$ADDRESS" -- "$ALL" "$W/hosts" 2 1000
bad=0
for i in 0 1 2 3 4; do wait "${pids[i]}" || bad=1; done
if [ $bad = 0 ]; then
	pass "met by the address itself"
else
	fail "met by the address itself: $(tail -n 3 "$W"/out?)"
fi

# ---- a launcher in each site
if [ -x "$B/bin/mpirun" ]; then
	rm -f "$W/meet"
	bad=0
	for i in 0 1; do
		env XDG_RUNTIME_DIR="$TB_DIR/tmp" PMIX_MCA_ptl_tcp_if_include=lo LIBMMP_MEET="$W/meet" \
			LIBMMP_RELAY="$([ $i = 0 ] && echo "$NORTH" || echo "$FIRST")" LIBMMP_SITES=2,1 LIBMMP_SITE=$i timeout 120 "$TB_DIR/in" \
			"$([ $i = 0 ] && echo a0 || echo b0)" "$B/bin/mpirun" --launcher local -n $((2 - i)) \
			"$ALL" - 3 50000 >"$W/out$i" 2>&1 &
		pids[i]=$!
	done
	for i in 0 1; do wait "${pids[i]}" || bad=1; done
	if [ $bad = 0 ] && [ "$(cat "$W"/out[01] | grep -c 'of 3: 3 rounds of 50000 bytes, all bytes right')" = 3 ]; then
		pass "a launcher in each site"
	else
		fail "a launcher in each site: $(tail -n 3 "$W"/out[01])"
	fi
fi

# ---- wrong words
plain() { sed 's/[][]/\\&/g' <<<"$1"; } # as grep finds it
wrong() { # RANK TEXT NAME=VALUE...
	local rank=$1 text=$2
	shift 2
	begin "$rank" LIBMMP_START_S=3 "$@" -- "$ALL" "$W/hosts" 1 1
	wait "${pids[rank]}" && fail "it starts: $text"
	grep -q -- "$text" "$W/out$rank" || fail "no \"$text\": $(cat "$W/out$rank")"
}
wrong 0 'the job has 2 sites: LIBMMP_RELAY= has to be' LIBMMP_RELAY=
wrong 0 'the job has 2 sites: LIBMMP_MEET has to be' LIBMMP_MEET=
nobody=$(testbed_inside afe1 7812)
wrong 0 "our relay $(plain "$nobody") does not answer" LIBMMP_RELAY="$nobody"
if testbed_six_inside a; then other=10.0.0.254:7812; else other=[fd00::fe]:7812; fi
wrong 0 "LIBMMP_RELAY=$(plain "$other") and this process, at $(testbed_inside a0), cannot talk: " LIBMMP_RELAY="$other"
wrong 0 'LIBMMP_RELAY=10.0.0.254:7812,\[fd00::fe\]:7812 has to be ' LIBMMP_RELAY=10.0.0.254:7812,[fd00::fe]:7812
wrong 3 "LIBMMP_MEET=$W/none: No such file" LIBMMP_MEET="$W/none"
wrong 3 'copy it again\|is cut short' LIBMMP_MEET=door:EgAABKGyw9Q
wrong 0 '4 of 5 processes have not said that they are there; the first is rank 1' LIBMMP_SHM=1
wrong 4 'rank 0 is not at its door (any more)' LIBMMP_SHM=1
rm -f "$W/meet"
begin 0 LIBMMP_START_S=20 -- "$ALL" "$W/hosts" 1 1
testbed_wait 20 "the address" test -s "$W/meet"
cp "$W/hosts" "$W/kept"
sed -i '$d' "$W/hosts"
wrong 3 'rank 0 does not let us in: it is of another job' LIBMMP_START_S=20
cp "$W/kept" "$W/hosts"
kill "${pids[0]}"
{ wait "${pids[0]}"; } 2>/dev/null
pass "clear words for what is missing or wrong"

# ---- deaths
runs() { [ "$(pgrep -c -x -f "$ALL $W/hosts 1000000 5000")" = 5 ]; }
ends() { # WHAT RANKS: all end with the error of a peer
	local i rc
	for i in $2; do
		{ wait "${pids[i]}"; } 2>/dev/null
		rc=$?
		[ $rc = 2 ] || fail "$1: rank $i ends with $rc: $(cat "$W/out$i")"
	done
}
for mode in thread inline; do
	rm -f "$W/meet"
	begin '0 1 2 3 4' LIBMMP_PROGRESS=$mode -- "$ALL" "$W/hosts" 1000000 5000
	testbed_wait 60 "five ranks" runs
	sleep 1
	kill -9 "$(pgrep -P "${pids[3]}" mmp-all)"
	ends "killed, $mode" '0 1 2 4'
	{ wait "${pids[3]}"; } 2>/dev/null
	grep -qh 'rank 3 (of site 1) is gone' "$W"/out[012] || fail "killed, $mode: nobody says who: $(cat "$W"/out?)"
	pass "a rank of the other site that is killed ends the waits of all, $mode"
done

# ---- relays that end under a job
stop_relay() { # RELAY SIGNAL: it is gone
	local pid
	read -r pid <"$TB_DIR/pid-relayd-$1"
	kill "-$2" "$pid" || return 1
	{ wait "$pid"; } 2>/dev/null
	! kill -0 "$pid" 2>/dev/null
}
end_relay() { # RELAY SIGNAL: it is gone while the job runs
	stop_relay "$1" "$2" && started
}

# goes_on WHAT MODE COMMAND...: five ranks run, the command changes the relays meanwhile, and all
# bytes are right.
ROUNDS=600
started() { [ "$(pgrep -c -x -f "$ALL $W/hosts $ROUNDS 5000")" = 5 ]; }
goes_on() {
	local what=$1 mode=$2 bad=0 i
	shift 2
	rm -f "$W/meet" "$W"/out?
	begin '0 1 2 3 4' LIBMMP_PROGRESS="$mode" -- "$ALL" "$W/hosts" $ROUNDS 5000
	testbed_wait 60 "five ranks" started
	sleep 1
	"$@" || fail "$what: $* fails, or the job was over before it"
	for i in 0 1 2 3 4; do wait "${pids[i]}" || bad=1; done
	if [ $bad = 0 ] && [ "$(cat "$W"/out? | grep -c 'all bytes right')" = 5 ]; then
		pass "$what: the job goes on, $mode"
	else
		fail "$what, $mode: $(tail -n 3 "$W"/out?)"
	fi
}
again() { # RELAY SIGNAL
	end_relay "$1" "$2" && testbed_relayd "$B" "$1"
}
goes_on "a relay that is killed and started again" inline again bfe0 KILL
goes_on "a relay that is ended and started again" thread again bfe0 TERM
goes_on "rank 0's relay that is killed and started again" thread again afe0 KILL

# Those of both sites: nobody has a door at which another one could tell him that it moved.
at_once() {
	stop_relay afe0 KILL && stop_relay bfe0 KILL && started && testbed_relayd "$B" afe0 bfe0
}
goes_on "the relays of both sites that are killed at once" thread at_once

# Doors at two relays: each is killed once, the second one after the first has come back.
both() {
	again bfe0 KILL && sleep 3 && again bfe1 KILL
}
SOUTH=$FIRST,$SECOND
goes_on "one relay of two that is killed" inline end_relay bfe0 KILL
testbed_relayd "$B" bfe0 || fail "no other relay"
ROUNDS=900
goes_on "two relays that are killed in turn" thread both

# meets WHAT COMMAND...: the relays change when four ranks of five are there, and all meet.
meets() {
	local what=$1 bad=0 i
	shift
	rm -f "$W/meet" "$W"/out?
	begin '0 1 2 3' -- "$ALL" "$W/hosts" 3 5000
	testbed_wait 20 "the address" test -s "$W/meet"
	sleep 1
	"$@" || fail "$what: $* fails"
	begin 4 -- "$ALL" "$W/hosts" 3 5000
	for i in 0 1 2 3 4; do wait "${pids[i]}" || bad=1; done
	if [ $bad = 0 ] && [ "$(cat "$W"/out? | grep -c 'all bytes right')" = 5 ]; then
		pass "$what before all have met: they meet"
	else
		fail "$what before all have met: $(tail -n 3 "$W"/out?)"
	fi
}
restart() {
	local r
	for r; do stop_relay "$r" KILL || return 1; done
	testbed_relayd "$B" "$@"
}
meets "one relay of two that is killed" stop_relay bfe0 KILL
testbed_relayd "$B" bfe0 || fail "no other relay"
SOUTH=$FIRST
meets "rank 0's relay that is killed and started again" restart afe0
meets "the relays of both sites that are killed and started again" restart afe0 bfe0

# no_more WHAT SECONDS: nobody comes back, and all end with the reason.
no_more() {
	rm -f "$W/meet"
	begin '0 1 2 3 4' LIBMMP_RELAY_S="$2" -- "$ALL" "$W/hosts" 1000000 5000
	testbed_wait 60 "five ranks" runs
	sleep 1
	stop_relay bfe0 KILL || fail "$1: the relay is not killed"
	ends "$1" '0 1 2 3 4'
	grep -qh "is out of reach: our relay $(plain "$FIRST") is gone" "$W"/out[34] || fail "$1: $(cat "$W"/out[34])"
	grep -qh 'rank [34] (of site 1) is \(gone\|out of reach\)' "$W"/out[012] || fail "$1: $(cat "$W"/out[012])"
	pass "$1 ends the waits of all"
	testbed_relayd "$B" bfe0 || fail "$1: no other relay"
	all "$1: the next job" 3 20000
}
no_more "a relay that does not come back within LIBMMP_RELAY_S" 2
no_more "a relay that ends, with LIBMMP_RELAY_S=0," 0

testbed_down
rm -rf "$W"
exit $rc
