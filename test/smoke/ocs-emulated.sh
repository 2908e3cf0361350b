#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# TL1 in three dialects and SCPI against the emulator: what sets, moves, refuses, stays dark;
# circuits of others; login; a switch and a driver that are killed in mid-batch.
# timeout: 300
set -u
. "$(dirname "$0")/_ocs.sh"
seq -f 1.1.%g 16 >"$OCS_DIR/names"
printf 'mpi\np w;"d\n' >"$OCS_DIR/secret"
chmod 600 "$OCS_DIR/secret"

options_of() {
	CTL=(-P "$1" -a "$EMU_AT")
	[ "$1" != tl1-calient ] || CTL+=(-N "$OCS_DIR/names")
	[ "$1" = scpi ] || CTL+=(-c "$OCS_DIR/secret")
}

start() {
	local dialect=$1 log=$2
	shift 2
	local account=()
	[ "$dialect" = scpi ] || account=(--user mpi --password 'p w;"d')
	emulator "$log" --dialect "$dialect" --foreign 9,9 "${account[@]}" "$@"
	options_of "$dialect"
}

by_hand() {
	local d=$1 out
	start "$d" "$d" --refuse 1,1 --busy-once 6,6 --telnet --ack
	out=$(ctl set 0:3 1:1 2:5 4:9) && fail "$d: refused circuits went through: $out"
	grep -qx '0:3 set' <<<"$out" && grep -qx '2:5 set' <<<"$out" || fail "$d: set: $out"
	grep -q '^1:1 the switch refused' <<<"$out" || fail "$d: a refusal: $out"
	grep -q '^4:9 a port of the circuit is in another' <<<"$out" || fail "$d: displaced: $out"
	ctl move 0:4 >/dev/null || fail "$d: move"
	[ "$(shown)" = "0:4 2:5 9:9 " ] || fail "$d: after moving: $(shown)"
	ctl clear 2:5 7:7 >/dev/null || fail "$d: clear, also of what is not there"
	[ "$(shown)" = "0:4 9:9 " ] || fail "$d: after clearing: $(shown)"
	sleep 0.1
	out=$(ctl power o4)
	[ "$out" = "o4 -4.25 dBm" ] || fail "$d: power: $out"
	ctl -o 0-7 -t 1 keep 0:0 6:6 >"$OCS_DIR/keep" || fail "$d: keep: $(cat "$OCS_DIR/keep")"
	[ "$(shown)" = "0:0 6:6 9:9 " ] || fail "$d: keep left $(shown)"
	kill "$EMU"
	pass "$d: set, refused, not displaced, moved, cleared, power, busy at first, leftovers removed"
}

# The switch dies and comes back with the circuits it had; one set by hand stays.
killed() {
	local d=$1 at
	start "$d" "$d-1" --state "$OCS_DIR/$d.state" --switch-ms 3
	at=$EMU_AT
	ctl -o 0-7 -t 2 -s 7 churn >"$OCS_DIR/churn" &
	local churn=$!
	sleep 0.5
	kill -9 "$EMU"
	wait "$EMU" 2>/dev/null
	emulator "$d-2" --dialect "$d" --listen "$at" --state "$OCS_DIR/$d.state" \
		--switch-ms 3 ${account[@]+"${account[@]}"}
	wait $churn || fail "$d: churn over restarts: $(cat "$OCS_DIR/churn")"
	[ "$(field sessions "$OCS_DIR/churn")" -ge 2 ] || fail "$d: was not cut: $(cat "$OCS_DIR/churn")"
	[ "$(field set_up "$OCS_DIR/churn")" -ge 5 ] || fail "$d: stood still: $(cat "$OCS_DIR/churn")"
	[[ " $(shown)" == *" 9:9 "* ]] || fail "$d: the circuit of others is gone"
	# The driver dies: the next one finds what it left.
	"$OCSCTL" "${CTL[@]}" -o 0-7 -t 20 churn >/dev/null 2>&1 &
	churn=$!
	sleep 0.7
	kill -9 $churn
	wait $churn 2>/dev/null
	ctl -o 0-7 -t 1 keep 3:3 >"$OCS_DIR/keep" || fail "$d: keep: $(cat "$OCS_DIR/keep")"
	[ "$(shown)" = "3:3 9:9 " ] || fail "$d: left behind: $(shown)"
	kill "$EMU"
	pass "$d: switch killed in mid-batch ($(field set_up "$OCS_DIR/churn") circuits set), then the driver"
}

for d in tl1-polatis tl1-calient tl1-glimmerglass scpi; do
	account=()
	[ "$d" = scpi ] || account=(--user mpi --password 'p w;"d')
	by_hand "$d"
	killed "$d"
done

# No light where there is none: dark twice means dark, and the others go on.
start tl1-calient dark --dark 0,5 --switch-ms 2
ctl -o 0-7 -t 1 keep 0:5 1:6 >"$OCS_DIR/keep" && fail "a dark circuit was called lit"
grep -q 'refused 0:5 a port of the circuit is marked dark' "$OCS_DIR/keep" ||
	fail "dark: $(cat "$OCS_DIR/keep")"
grep -q '^1 of 2 lit' "$OCS_DIR/keep" || fail "dark: $(cat "$OCS_DIR/keep")"
[ "$(shown)" = "1:6 9:9 " ] || fail "dark: left $(shown)"
kill "$EMU"
pass "a circuit without light is taken down and told, others stay"

# Credentials: refused ones are said once and kept to oneself; the file is ours alone.
start tl1-polatis login
printf 'mpi\nwrong-one\n' >"$OCS_DIR/secret"
out=$(ctl -t 1 show 2>&1) && fail "a wrong password was taken"
grep -q 'does not accept the credentials' <<<"$out" || fail "wrong password: $out"
grep -q 'wrong-one' <<<"$out" && fail "the password was printed"
chmod 644 "$OCS_DIR/secret"
out=$(ctl -t 1 show 2>&1)
grep -q 'chmod 600' <<<"$out" || fail "a file that others may read: $out"
kill "$EMU"
pass "credentials: refused, not printed, file not for others"

# Somebody else's client of SCPI sees what our driver has set, and the other way round.
if command -v lxi >/dev/null; then
	start scpi lxi
	ctl set 2:3 >/dev/null || fail "set"
	ask_lxi() { timeout 200 lxi scpi -a 127.0.0.1 -p "${EMU_AT##*:}" -r "$1"; }
	[ "$(ask_lxi ':OXC:SWITch:CONNect:STATe?')" = "(@3,10),(@20,26)" ] || fail "lxi: $(ask_lxi ':oxc:swit:conn:stat?')"
	ask_lxi ':oxc:swit:conn:add (@5),(@17);*opc?' >/dev/null
	[ "$(shown)" = "2:3 4:0 9:9 " ] || fail "lxi set 4:0, shown: $(shown)"
	kill "$EMU"
	pass "lxi reads what we set, and we read what it set"
else
	echo "SKIP $SCENARIO: lxi (lxi-tools) is not installed; run make deps"
fi
