#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sites with identities, with a pre-shared key beside them and without one: jobs between them, the channel
# between relays of a site, of which one with another identity is none; the identity of a site replaced under
# a job, by the steps of doc/howto/keys.md; a relay whose key is no longer on the other's list is refused and
# counted.
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root relayd-identity
export CLUSTERS="a b" NODES=1 PPN=1 RELAYS_A=2 TB_IDENTITIES=1
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

count() { # FRONTEND COUNTER of its endpoint
	local f=$TB_DIR/$1.json
	rm -f "$f"
	kill -USR1 "$(cat "$TB_DIR/pid-relayd-$1")"
	testbed_wait 20 "counters of $1" test -s "$f" &&
		python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["suci"][sys.argv[2]])' "$f" "$2"
}
counted() { (($(count "$1" "$2") >= 1)); }
log() { echo "$TB_LOG/relayd-$1.log"; }
channel() { grep -q 'relay .* connected' "$(log "$1")"; }
gone() { ! testbed_alive "$1"; }
job() { testbed_job "$B" job "$B/examples/pingpong" --budget-ms 1500; }
relays() { # stopped, if they run, and started
	local fe
	for fe in "$@"; do [ ! -e "$TB_DIR/pid-relayd-$fe" ] || ! testbed_alive "relayd-$fe" || testbed_stop "relayd-$fe" 20; done
	testbed_relayd "$B" "$@" || fail "relayd does not start"
}
ended() {
	local s
	WHY=
	for s in a b; do
		testbed_wait 60 "the end of job-$s" gone job-$s || WHY="side $s hangs"
		[ -z "$WHY" ] || { testbed_stop job-$s 3 >/dev/null 2>&1; continue; }
		{ wait "$(cat "$TB_DIR/pid-job-$s")"; } 2>/dev/null || WHY="side $s ended with status $?"
	done
}

testbed_up || fail "no testbed"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem does not start"
relays afe0 afe1 bfe0
testbed_server "$B" || fail "no server"
job
ended
[ -n "$WHY" ] || [ "$(count afe0 drop_identity)$(count bfe0 drop_identity)" = 00 ] || WHY="opens were refused"
verdict "a job between two sites with identities" "$WHY"
WHY=
testbed_wait 20 "the channel of afe1" channel afe1 || WHY="$(tail -3 "$(log afe1)")"
verdict "relays of a site have a channel" "$WHY"

# Site a gets another identity while a job runs.
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
reload() { # FRONTEND...
	local fe
	for fe in "$@"; do
		ctl "$fe" reload | grep -q '^the files of keys have others' || WHY+="$fe has no other keys; "
	done
}
put() { cat >"$TB_DIR/conf/$1.new" && chmod 0600 "$TB_DIR/conf/$1.new" && mv "$TB_DIR/conf/$1.new" "$TB_DIR/conf/$1"; }
running() { ctl bfe0 jobs --json | grep -q '"local_up": 1\b'; }
WHY=
testbed_job "$B" job "$B/examples/pingpong" --budget-ms 3000
testbed_wait 20 "the job" running || WHY="the job does not begin; "
new=$("$B/bin/relayd" --make-identity "$TB_DIR/conf/identity-a.new")
sed "h; s/^site-a [0-9a-f]*/site-a2 $new/; x; G" "$TB_DIR/conf/peers-b" | put peers-b
reload bfe0
mv "$TB_DIR/conf/identity-a.new" "$TB_DIR/conf/identity-a"
reload afe0 afe1
grep '^site-a2 ' "$TB_DIR/conf/peers-b" | put peers-b
reload bfe0
why=$WHY
ended
verdict "another identity of a site, under a job" "$why$WHY"

# The pre-shared key of all sites, and another identity: no sibling.
"$B/bin/relayd" --make-identity "$TB_DIR/conf/identity-c" >"$TB_DIR/public-c"
mv "$TB_DIR/conf/identity-a" "$TB_DIR/identity-good"
cp "$TB_DIR/conf/identity-c" "$TB_DIR/conf/identity-a"
relays afe1
WHY=
no_channel() { grep -q 'no channel to relay .* yet: ' "$(log afe1)"; }
testbed_wait 20 "a refusal" no_channel || WHY="nothing in the log of afe1"
[ -n "$WHY" ] || ! channel afe1 || WHY="afe1 has a channel"
verdict "a relay with the key of all sites and another identity is no sibling" "$WHY"
mv "$TB_DIR/identity-good" "$TB_DIR/conf/identity-a"

TB_PSK='' relays afe0 afe1 bfe0
job
ended
[ -n "$WHY" ] || testbed_wait 20 "the channel of afe1" channel afe1 || WHY="no channel between the relays of a"
verdict "identities alone, no pre-shared key" "$WHY"

# b's line is taken away at a: another site's key has its addresses.
cp "$TB_DIR/conf/peers-a" "$TB_DIR/peers-good"
sed "s/^site-b [0-9a-f]*/site-c $(cat "$TB_DIR/public-c")/" "$TB_DIR/peers-good" >"$TB_DIR/conf/peers-a"
testbed_stop relayd-afe1 20
relays afe0 bfe0
job
refused() { counted afe0 drop_identity || counted bfe0 drop_seal; }
WHY=
testbed_wait 60 "a refused open" refused || WHY="nothing was refused"
for s in a b; do testbed_stop job-$s 5 >/dev/null 2>&1; done
counted afe0 drop_identity &&
	{ grep -q "$(testbed_outside bfe0).* is refused: its public key $("$B/bin/relayd" --show-identity "$TB_DIR/conf/identity-b") is not in" \
		"$TB_LOG/relayd-afe0.log" || WHY="the log of afe0 does not name it"; }
verdict "a site that was taken off the list is refused, and counted" "$WHY"
exit $rc
