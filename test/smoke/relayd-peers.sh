#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The channels between the relays of a cluster: sealed with the key of sealing.key_file, a job's
# table goes over them; a visitor with a relay's address and no key, or another key, gets
# nowhere and ends no channel; where nothing is sealed a claim does not replace a channel that
# answers.  A killed relay that comes back is taken at once.
# ipv6: yes
# timeout: 170
# shellcheck source=tools/testbed/lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(realpath "${B:-build/gcc}")
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root relayd-peers
FAILED=0
pass() { echo "PASS $1"; }
fail() { echo "FAIL $1: $2"; FAILED=1; }
check() {
	local name=$1 why=$2
	shift 2
	if "$@"; then pass "$name"; else fail "$name" "$why"; fi
}
trap testbed_on_exit EXIT
export RELAYS=2 RELAYS_B=1 NODES=1
testbed_up && testbed_wanem "$B/bin/wanem" --delay-ms 1 || { fail peers-testbed "not built"; exit 1; }
testbed_server "$B" || { fail peers-server "does not start"; exit 1; }
log() { echo "$TB_LOG/relayd-$1.log"; }
logged() { grep -qE -- "$2" "$(log "$1")"; } # FRONTEND WORDS
channels() { grep -c 'relay .* connected' "$(log "$1")"; }
has_channels() { [ "$(channels "$1")" -ge "$2" ]; }
count() { # FRONTEND COUNTER
	rm -f "$TB_DIR/$1.json"
	kill -USR1 "$(cat "$TB_DIR/pid-relayd-$1")"
	testbed_wait 10 "figures of $1" test -s "$TB_DIR/$1.json"
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["control"][sys.argv[2]])' "$TB_DIR/$1.json" "$2"
}
# With the address of afe0, where its own kernel has it: what a host that took it could say.
visit() { # WAY SECONDS
	testbed_exec afe0 python3 test/smoke/_relayd_peer.py "$(testbed_addr afe0)" "$(testbed_addr afe1)" "$@"
}
job() { # NAME: two ranks over both clusters, every byte checked
	testbed_job "$B" "$1" "$B/examples/pingpong" --budget-ms 1500
	for c in a b; do
		{ wait "$(cat "$TB_DIR/pid-$1-$c")"; } 2>/dev/null || return 1
	done
}
no_loss() { ! logged "$1" 'relay .* of cluster a is gone'; }

testbed_relayd "$B" afe0 afe1 bfe0 || { fail peers-relayd "does not start"; exit 1; }
testbed_wait 10 "the channel" has_channels afe1 1
check sealed-channel "none: $(tail -2 "$(log afe1)")" has_channels afe1 1
versions=$("$B/bin/relayctl" -s "$TB_ID-afe1" status --json | python3 -c 'import json, sys
print(*("%s=%s" % (r["state"], r["version"]) for r in json.load(sys.stdin)["cluster_relays"]))')
ours=$("$B/bin/relayd" --version | cut -d" " -f2)
check status-versions "'$versions' of $ours" [ "$versions" = "up=$ours here=$ours" ]
check sealed-job "it does not end well" job sealed
check sealed-table "afe1 has no table" logged afe1 'job 1 of relay 0: 2 processes'
for way in plain garbage silent replay; do
	said=$(visit $way 5 2>&1) && pass "sealed-$way" || fail "sealed-$way" "$said"
done
check sealed-says-why "nothing in the log of afe1" logged afe1 'no channel to relay .* yet: '
check sealed-keeps-its-channel "$(grep gone "$(log afe1)")" no_loss afe1
check sealed-one-channel "$(channels afe1)" [ "$(channels afe1)" = 1 ]

# Killed and back: a new channel, the old one is given up as its end does not answer.
{ kill -KILL "$(cat "$TB_DIR/pid-relayd-afe0")" && wait "$(cat "$TB_DIR/pid-relayd-afe0")"; } 2>/dev/null
testbed_relayd "$B" afe0
check back-channel "afe1 does not take it back" testbed_wait 10 "the channel" has_channels afe1 2
check back-job "it does not end well" job back

# Another key: no channel, and both say so.
testbed_stop relayd-afe1
cp "$TB_DIR/conf/psk" "$TB_DIR/conf/psk.good"
(umask 077; echo "1 $(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')" >"$TB_DIR/conf/psk")
testbed_relayd "$B" afe1
check wrong-key "afe1 says nothing" testbed_wait 10 "a text" logged afe1 'no channel to relay .* yet: '
check wrong-key-no-channel "there is one" [ "$(channels afe1)" = 0 ]
testbed_stop relayd-afe1
cp "$TB_DIR/conf/psk.good" "$TB_DIR/conf/psk"

# Nothing sealed: said at the start; a claim is refused while the channel answers.
testbed_stop relayd-afe0
for fe in afe0 afe1; do
	sed -i 's/"prefix_len": 24,/"prefix_len": 24, "sealing": "off",/' "$TB_DIR/conf/$fe.json"
	: >"$(log $fe)"
	testbed_spawn $fe relayd-$fe "$B/bin/relayd" "$TB_DIR/conf/$fe.json"
done
check plain-channel "none" testbed_wait 20 "the channel" has_channels afe1 1
check plain-said "afe1 does not say that it is not sealed" logged afe1 'channels between the relays .* are not'
said=$(visit claim 5 2>&1) && pass plain-claim || fail plain-claim "$said"
check plain-keeps-its-channel "$(grep gone "$(log afe1)")" no_loss afe1
check plain-counted "$(count afe1 peer_claims)" [ "$(count afe1 peer_claims)" -ge 1 ]
exit $FAILED
