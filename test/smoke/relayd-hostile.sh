#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A host without keys on each side of a relay while a job runs through it: forged ARP on the
# private leg and on the WAN, a flood of HELLO from invented addresses on a leg with a large
# subnet.  The job ends well, no byte goes to the attacker, the live neighbours keep their entries.
# ipv6: yes
# timeout: 240
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root relayd-hostile

NODES=2 PPN=1 TB_PREFIX_IN=16
testbed_up || exit 1
testbed_server "$B" || fail "impi-server"
testbed_wanem "$B/bin/wanem" >/dev/null 2>&1 || fail "wanem"
testbed_relayd "$B" afe0 bfe0 || fail "relayd"
mac_of() { ip -n "$TB_ID-$1" -br link show "$2" | awk '{print $3}'; }
hostile() { # NODE INTERFACE LOGNAME WHAT...: against afe0
	local node=$1 dev=$2 name=$3 leg=priv0 to
	shift 3
	to=$(testbed_addr afe0)
	[ "$node" != srv ] || { leg=glob0; to=$(testbed_global_addr afe0); }
	testbed_spawn "$node" "$name" python3 test/smoke/_hostile.py "$dev" "$to" \
		"$(mac_of afe0 $leg)" "$(testbed_addr "$node")" "$@"
}
gone() { ! testbed_alive "$1"; }
counter() { # LEG NAME: of the neighbours, from fresh statistics
	rm -f "$TB_DIR/afe0.json"
	kill -USR1 "$(cat "$TB_DIR/pid-relayd-afe0")"
	testbed_wait 10 "statistics" test -s "$TB_DIR/afe0.json" &&
		python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["legs"][sys.argv[2]]["neighbours"][sys.argv[3]])' \
			"$TB_DIR/afe0.json" "$1" "$2"
}
job() { # NAME: with what runs beside it, to its end; sets WHY
	local s side
	WHY=
	rm -f "$TB_LOG"/mpi-?.log
	testbed_job "$B" mpi "$B/examples/pingpong" --budget-ms 6000
	testbed_wait 60 "the job to run" grep -q 'every byte checked' "$TB_LOG/mpi-a.log" ||
		WHY="the job does not start "
	"$@"
	testbed_wait 90 "the job to end" eval 'gone mpi-a && gone mpi-b' || WHY+="the job hangs "
	for side in a b; do
		{ wait "$(cat "$TB_DIR/pid-mpi-$side")"; } 2>/dev/null
		s=$?
		[ $s = 0 ] || WHY+="status $s in cluster $side "
	done
}
ended() { testbed_wait 60 "$1" gone "$1" || WHY+="$1 does not end "; }
logged() { sed -n "s/.*$2 \([0-9]*\).*/\1/p" "$TB_LOG/$1.log"; } # LOGNAME WORD

# A HELLO as libmpi sends it, for the flood.
hostile a0 eth0 hello sniff "$TB_DIR/hello"
testbed_wait 20 "the sniffer" grep -q listening "$TB_LOG/hello.log" || fail "nothing listens"
nothing() { :; }
job nothing
verdict "a quiet job" "$WHY" mpi-a mpi-b relayd-afe0
testbed_wait 10 "a HELLO" test -s "$TB_DIR/hello" || fail "no HELLO was seen"

arp_private() {
	hostile a1 eth0 arp-a0 arp "$(testbed_addr a0)" 8 300
	ended arp-a0
}
nd_wan() {
	testbed_spawn srv nd-b python3 test/smoke/_frames6.py eth0 "$(mac_of afe0 glob0)" \
		"$(testbed_outside afe0)" "$(testbed_outside bfe0)" 600
	ended nd-b
}
arp_wan() {
	hostile srv eth0 arp-b arp "$(testbed_global_addr bfe0)" 8 300
	ended arp-b
}
flood() {
	hostile a1 eth0 flood hello 10.0.0.0/16 8 1500 "$TB_DIR/hello"
	ended flood
}
stolen() { # LOGNAME LEG: adds to WHY
	[ "0$(logged "$1" lies)" -ge 500 ] || WHY+="no attack: $(tail -1 "$TB_LOG/$1.log") "
	[ "$(logged "$1" stolen)" = 0 ] || WHY+="$(logged "$1" stolen) frames were stolen "
	unmoved "$2"
}
unmoved() { # LEG: adds to WHY
	[ "0$(counter "$1" contested)" -gt 0 ] || WHY+="no claim was looked into "
	[ "$(counter "$1" moved)" = 0 ] || WHY+="a neighbour was moved "
}
job arp_private
stolen arp-a0 private
verdict "forged ARP on the private leg" "$WHY" mpi-a mpi-b arp-a0 relayd-afe0
if [ -z "${IPV6:-}" ]; then
	job arp_wan
	stolen arp-b global
	verdict "forged ARP on the WAN" "$WHY" mpi-a mpi-b arp-b relayd-afe0
else
	job nd_wan
	unmoved global
	verdict "forged neighbour discovery on the WAN" "$WHY" mpi-a mpi-b nd-b relayd-afe0
fi
grep -q 'claims .*, which .* has' "$TB_LOG/relayd-afe0.log" && WHY= || WHY="no line names the claimant"
verdict "the operator is told" "$WHY" relayd-afe0
job flood
[ "0$(logged flood hellos)" -ge 3000 ] || WHY+="no attack: $(tail -1 "$TB_LOG/flood.log") "
[ "0$(logged flood cookies)" -ge 1000 ] || WHY+="cookies did not go to where the HELLOs came from "
[ "0$(logged flood broadcasts)" -le 100 ] || WHY+="$(logged flood broadcasts) invented addresses were asked for "
[ "$(counter private evicted)" = 0 ] || WHY+="neighbours were evicted "
verdict "1500 HELLO a second from invented addresses" "$WHY" mpi-a mpi-b flood relayd-afe0
for fe in afe0 bfe0; do
	testbed_stop "relayd-$fe" && WHY= || WHY="status $?"
	verdict "$fe ends well" "$WHY" "relayd-$fe"
done
exit $rc
