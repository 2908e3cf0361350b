#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Relays that reach each other and the IMPI server by IPv6, sealed with identities, beside one that
# has IPv4 only.  A job is striped over both kinds and checks every byte; forged neighbour discovery
# and errors come beside it.  The relay with IPv4 dies, then one with IPv6.  With IPV6=1 other
# scenarios with a testbed run so, too.
# ipv6: always
# alone: how long a job stands still is measured
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root relayd-ipv6
export CLUSTERS="a b" NODES=1 PPN=2 RELAYS_A=2 RELAYS_B=1 TB_IDENTITIES=1 DETECT_MS=600 IPV6=1 IPV4_ONLY=afe1
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_failover.sh
. test/smoke/_failover.sh
# shellcheck disable=SC2034 # _failover.sh prints it
policy=stripe
die() { { kill -KILL "$(cat "$TB_DIR/pid-relayd-$1")" && wait "$(cat "$TB_DIR/pid-relayd-$1")"; } 2>/dev/null; }
back() { testbed_relayd "$B" "$1" || fail "$1 does not start again"; }
peers() { ctl "$1" paths --kind trunk | awk '$2 == "trunk" && $4 == "up" { print $3 }' | sort | tr '\n' ' '; }
# are FRONTEND TRUNKS: those that are up, by where they are.
are() { [ "$(peers "$1")" = "$2 " ] || WHY+="$1 has trunks to $(peers "$1")and not to $2; "; }
dropped() { ctl "$1" drops | awk -v name="rx/global/$2" '$1 == name { print $2 }'; }

testbed_up || fail "no testbed"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem does not start"
TB_RELAY_CONF="\"suci\": { \"liveness_ms\": $DETECT_MS, \"keepalive_ms\": $((DETECT_MS / 4)) },
	\"trunks\": { \"policy\": \"stripe\" }"
testbed_relayd "$B" afe0 afe1 bfe0 || fail "relayd does not start"
testbed_server "$B" || fail "no server"
start
WHY=
six=$(testbed_global_six bfe0)
are afe0 "[$six]:7812"
are afe1 "$(testbed_global_addr bfe0):7812"
are bfe0 "$(testbed_global_addr afe1):7812 [$(testbed_global_six afe0)]:7812"
verdict "trunks by IPv6, and one by IPv4" "$WHY"
verdict "the log says where the server is" \
	"$(grep -qF "for the server [$TB_SRV_SIX]:7810" "$TB_LOG/relayd-afe0.log" || echo "not as [$TB_SRV_SIX]:7810")"

# striped FRONTEND: what its trunks have sent; each must have a twentieth of the whole by then.
striped() {
	ctl "$1" --json paths --kind trunk | python3 -c 'import json, sys
n = {p["peer"]: p["tx_bytes"] for p in json.load(sys.stdin)}
print("striped:", n)
sys.exit(len(n) != 2 or sum(n.values()) < 2000000 or min(n.values()) * 20 < sum(n.values()))' >"$TB_DIR/striped"
}
WHY=
testbed_wait 20 "shares of both trunks" striped bfe0 || WHY="not both have a share"
cat "$TB_DIR/striped"
verdict "a job is striped over a trunk of each kind" "$WHY"

forge() {
	testbed_exec srv python3 test/smoke/_frames6.py eth0 \
		"$(testbed_exec afe0 cat /sys/class/net/glob0/address)" "$(testbed_global_six afe0)" "$six" 200
}
testbed_exec srv sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6'
event "forged neighbours and errors" forge
WHY=
are afe0 "[$six]:7812"
[ "$(dropped afe0 nd_conflict)" -ge 150 ] || WHY+="claims of our address were not counted; "
[ "$(dropped afe0 nd_format)" -ge 150 ] || WHY+="discovery from afar was not counted; "
grep -q "claims $six, which .* has" "$TB_LOG/relayd-afe0.log" || WHY+="the log does not name the claimant; "
verdict "forged neighbours and errors move nothing" "$WHY"

event "the relay with IPv4 dies" die afe1 && event "and comes back" back afe1
event "one with IPv6 dies" die afe0 && event "and comes back" back afe0
finish "stripe"
[ $over = 0 ] || verdict "no stall over three detections" "$over of them"
left "stripe"
exit $rc
