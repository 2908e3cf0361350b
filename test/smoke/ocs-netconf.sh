#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# NETCONF against netconfd with the names of the optical-switch model: running and candidate,
# confirmed commits that nobody confirms, another client's changes, a server that is killed.
# timeout: 120
set -u
. "$(dirname "$0")/_ocs.sh"
command -v netconfd >/dev/null || { echo "SKIP $SCENARIO: netconfd is not installed; run make deps"; exit 77; }
[ -x /usr/sbin/netconf-subsystem ] || { echo "SKIP $SCENARIO: no netconf-subsystem (netconfd); run make deps"; exit 77; }
mkdir "$OCS_DIR/mod"
cp test/smoke/ocs/optical-switch.yang "$OCS_DIR/mod"
SOCK=$OCS_DIR/ncx.sock

# server TARGET: a fresh one.
server() {
	# netconfd 2.13 ends itself when a second client fetches its models (double free in
	# get-schema): the clients have them from its package.
	rm -rf "$OCS_DIR/models"
	mkdir "$OCS_DIR/models"
	cp /usr/share/yuma/modules/*/*.yang "$OCS_DIR/mod"/*.yang "$OCS_DIR/models"
	restart "$1"
}
restart() {
	rm -f "$SOCK"
	# It keeps files where it stands.
	(cd "$OCS_DIR" && HOME=$OCS_DIR exec netconfd --modpath="$OCS_DIR/mod:/usr/share/yuma/modules" \
		--module=optical-switch --no-startup --target="$1" --superuser=root \
		--access-control=off --port=8300 --ncxserver-sockname="$SOCK" \
		--log="$OCS_DIR/netconfd.log") >"$OCS_DIR/out.log" 2>&1 &
	SERVER=$!
	wait_for 20 test -S "$SOCK" || fail "netconfd does not start"
}
stop() {
	kill -9 "$SERVER"
	wait "$SERVER" 2>/dev/null
	return 0
}
CTL=(-P netconf -t 20 -m "$OCS_DIR/models"
	-a "exec:SSH_CONNECTION='127.0.0.1 1 127.0.0.1 8300' USER=root exec /usr/sbin/netconf-subsystem --ncxserver-sockname=8300@$SOCK")

for target in running candidate; do
	server $target
	ctl set 0:3 1:1 9:9 >/dev/null || fail "$target: set"
	out=$(ctl set 4:3) && fail "$target: displaced: $out"
	grep -q '^4:3 a port of the circuit is in another' <<<"$out" || fail "$target: busy: $out"
	ctl -A move 0:4 1:3 >/dev/null || fail "$target: move of two at once"
	[ "$(shown)" = "0:4 1:3 9:9 " ] || fail "$target: after moving: $(shown)"
	out=$(ctl -A set 5:5 6:5) && fail "$target: one egress twice: $out"
	[ "$(grep -c 'data-not-unique' <<<"$out")" = 2 ] || fail "$target: atomic refusal: $out"
	[ "$(shown)" = "0:4 1:3 9:9 " ] || fail "$target: half a batch stayed: $(shown)"
	out=$(ctl set 5:5 6:5) && fail "$target: one egress twice: $out"
	[ "$(shown)" = "0:4 1:3 5:5 9:9 " ] || fail "$target: singly: $(shown)"
	if [ $target = candidate ]; then
		ctl -r 5 set 7:7 >/dev/null || fail "a confirmed commit"
		[ "$(shown)" = "0:4 1:3 5:5 9:9 " ] ||
			fail "what nobody confirmed stayed when its session ended: $(shown)"
		pass "a confirmed commit reverts with its session"
	else
		out=$(ctl -r 5 set 7:7 2>&1) && fail "a confirmed commit without the capability: $out"
	fi
	ctl -o 0-7 -t 2 keep 2:2 >"$OCS_DIR/keep" || fail "$target: keep: $(cat "$OCS_DIR/keep")"
	[ "$(shown)" = "2:2 9:9 " ] || fail "$target: leftovers: $(shown)"
	pass "$target: set, atomic moves and refusals, not displaced, leftovers removed"
	stop
done

# Another client takes one of our circuits away: told by a notification, set again.
server running
"$OCSCTL" "${CTL[@]}" -o 0-7 -t 40 keep 1:2 >"$OCS_DIR/keep" &
keeper=$!
wait_for 10 grep -q 'lit 1:2' "$OCS_DIR/keep" || fail "keep: $(cat "$OCS_DIR/keep")"
ctl clear 1:2 >/dev/null || fail "clear by somebody else"
wait_for 10 grep -q 'gone 1:2' "$OCS_DIR/keep"
sleep 1
kill -INT $keeper
wait $keeper || fail "not set again: $(cat "$OCS_DIR/keep")"
grep -q 'gone 1:2' "$OCS_DIR/keep" || fail "the loss was not told: $(cat "$OCS_DIR/keep")"
pass "a change by somebody else is noticed and made good"

# Killed in mid-batch; the new one has forgotten everything.
edits() { grep -c ^edit-transaction "$OCS_DIR/netconfd.log"; }
before=$(edits)
ctl -o 0-7 -t 4 -s 3 churn >"$OCS_DIR/churn" &
churn=$!
ten_more() { [ "$(edits)" -ge $((before + 10)) ]; }
wait_for 10 ten_more || fail "churn changes nothing"
stop
restart running
wait $churn || fail "churn over a restart: $(cat "$OCS_DIR/churn")"
[ "$(field sessions "$OCS_DIR/churn")" -ge 2 ] || fail "was not cut: $(cat "$OCS_DIR/churn")"
pass "the server killed in mid-batch ($(field set_up "$OCS_DIR/churn") circuits set)"
stop
