#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a trunk makes of a WAN that is more than delay and loss, under jobs that check every byte:
# it grows to the path's MTU, 9000 and then 4000, which nobody told it; it follows a relay to which
# a NAT gives another port; it heeds marks of congestion; when the WAN comes to pass less than a job's
# segments, those go in parts.
# ipv6: yes
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root trunk-path
command -v nft >/dev/null || { echo "SKIP trunk-path: nftables is not installed; run make deps"; exit 77; }
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
tell_logs() {
	tail -n 15 "$TB_LOG"/*.log
	trunks afe0 bfe0
}

trunks() { # FRONTEND...
	local fe
	for fe in "$@"; do "$B/bin/relayctl" -s "$TB_ID-$fe" paths --kind trunk; done
}
trunk() { # FRONTEND FIELD: of its one trunk; 0 if that is not up
	"$B/bin/relayctl" -s "$TB_ID-$1" --json paths --kind trunk | python3 -c 'import json, sys
p = [p for p in json.load(sys.stdin) if p["state"] == "up"]
print(int(p[0][sys.argv[1]]) if p else 0)' "$2"
}
stats() { # FRONTEND SECTION FIELD of its statistics
	local f=$TB_DIR/$1.json
	rm -f "$f"
	kill -USR1 "$(cat "$TB_DIR/pid-relayd-$1")"
	testbed_wait 10 "counters of $1" test -s "$f" &&
		python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]])' "$f" "$2" "$3"
}
count() { stats "$1" suci "$2"; } # FRONTEND COUNTER of its endpoint
between() { # FRONTEND FIELD FROM TO
	local n
	n=$(trunk "$1" "$2")
	((n >= $3 && n <= $4))
}
counted() { (($(count "$1" "$2") >= $3)); } # FRONTEND COUNTER LEAST
pool_below() { (($(stats "$1" pool in_use) <= $2)); } # FRONTEND BUFFERS
wan() { ip netns exec "$TB_ID-wan" "$@"; }
gone() { ! testbed_alive "$1"; }

start() { testbed_job "$B" job "$B/test/mpi/failover" "$@" 4194304 "$TB_DIR/enough"; } # SECONDS
# ended: sets WHY to why the job did not end well, or to nothing.
ended() {
	local s
	WHY=
	for s in a b; do
		testbed_wait 15 "the end of job-$s" gone job-$s || WHY="side $s hangs"
		[ -z "$WHY" ] || { testbed_stop job-$s 3 >/dev/null 2>&1; continue; }
		{ wait "$(cat "$TB_DIR/pid-job-$s")"; } 2>/dev/null || WHY="side $s ended with status $?"
	done
	[ -n "$WHY" ] || grep -q '^ok' "$TB_LOG/job-a.log" || WHY="the job does not say ok"
}

# wan_mtu MTU: larger IP packets of the relays are silently dropped from now on.  Not by a veth's own
# MTU: that refuses what its peer's ring sends, and the ring then stays at that frame for ever.
wan_mtu() {
	wan nft -f - <<-NFT || fail "nft: no table of family netdev in this kernel"
		table netdev narrow
		delete table netdev narrow
		table netdev narrow {
			chain from_a {
				type filter hook ingress device afe0 priority -10
				meta length > $1 drop
			}
			chain from_b {
				type filter hook ingress device bfe0 priority -10
				meta length > $1 drop
			}
		}
	NFT
}

# grown FROM TO: both relays, just started, end with trunks of that size; the job that began at
# 1500 and one that is told the larger size are right.
grown() {
	local fe bytes segments
	for fe in afe0 bfe0; do testbed_relayd "$B" $fe || fail "relayd on $fe does not start"; done
	start 0
	ended
	for fe in afe0 bfe0; do
		[ -n "$WHY" ] || testbed_wait 10 "a trunk of $1 to $2 bytes" between $fe mtu "$1" "$2" ||
			WHY="$fe has $(trunk $fe mtu) bytes, not $1 to $2"
	done
	[ -n "$WHY" ] || counted afe0 tx_mtu_probes 1 || WHY="nothing was probed"
	verdict "WAN of MTU $3: trunks grew from $((1500 - head)) bytes to $(trunk afe0 mtu)" "$WHY"
	bytes=$(trunk afe0 tx_bytes) segments=$(trunk afe0 tx_segments)
	start 1
	ended
	((bytes = $(trunk afe0 tx_bytes) - bytes, segments = $(trunk afe0 tx_segments) - segments))
	[ -n "$WHY" ] || ((segments > 500 && bytes / segments > $1 * 3 / 4)) ||
		WHY="$segments segments of $((bytes / (segments + 1))) bytes on average"
	[ -n "$WHY" ] || between bfe0 mtu "$1" "$2" || WHY="the size did not stay"
	verdict "WAN of MTU $3: a job's segments have $((bytes / (segments + 1))) bytes" "$WHY"
}

# What passes a rate is marked, at the port to which relay afe0 sends.
marks() {
	wan nft -f - <<-NFT
		table netdev marks {
			chain from_a {
				type filter hook ingress device afe0 priority 0
				$ip ecn ect0 limit rate over 5 mbytes/second burst 64 kbytes $ip ecn set ce
			}
		}
	NFT
}

marked() {
	local sent again before now ce
	sent=$(trunk afe0 tx_segments) again=$(trunk afe0 retransmits) before=$(trunk afe0 cwnd)
	ce=$(count afe0 tx_ce)
	WHY=
	[ "$ce" = 0 ] || WHY="$ce marks before there are any"
	marks || fail "nft: no table of family netdev in this kernel"
	testbed_wait 10 "marks that are counted" counted afe0 tx_ce 20 || WHY="$(count afe0 tx_ce) marks"
	testbed_wait 10 "a smaller window" between afe0 cwnd 1 $((before / 2)) || WHY="the window stays"
	now=$(trunk afe0 cwnd)
	wan nft delete table netdev marks
	ce=$(count afe0 tx_ce)
	((again = $(trunk afe0 retransmits) - again, sent = $(trunk afe0 tx_segments) - sent))
	# A relay that does not get a core now and then is taken for a loss.
	((again * 100 <= sent)) || WHY="$again of $sent segments were sent again"
	[ "$(count afe0 ecn_failed)" = 0 ] || WHY="the marks were given up"
	verdict "$ce marks: window $before, then $now segments; $again of $sent sent again" "$WHY"
}

# From now on what relay afe0 sends has another source port.
nat() {
	if [ $ip = ip6 ]; then nat_six; else nat_four; fi | wan nft -f -
}
nat_four() {
	cat <<-NFT
		table netdev nat {
			chain from_a {
				type filter hook ingress device afe0 priority 0
				ip saddr 198.51.100.11 udp sport 7812 udp sport set 40001
			}
			chain to_a {
				type filter hook ingress device bfe0 priority 0
				ip daddr 198.51.100.11 udp dport 40001 udp dport set 7812
			}
		}
	NFT
}
# Linux 6.18's nft does not find the UDP header of all IPv6 frames of packet sockets.  So ports and
# checksums are set by their places in the packet; what a sum becomes is in a map (RFC 1624).
nat_six() {
	cat <<-NFT
		table netdev nat {
			$(sums_by_port out 7812 40001)
			$(sums_by_port back 40001 7812)
			chain from_a {
				type filter hook ingress device afe0 priority 0
				ip6 saddr $(testbed_outside afe0) ip6 nexthdr udp @nh,320,16 7812 \
					@nh,320,16 set 40001 @nh,368,16 set @nh,368,16 map @out
			}
			chain to_a {
				type filter hook ingress device bfe0 priority 0
				ip6 daddr $(testbed_outside afe0) ip6 nexthdr udp @nh,336,16 40001 \
					@nh,336,16 set 7812 @nh,368,16 set @nh,368,16 map @back
			}
		}
	NFT
}
sums_by_port() { # NAME FROM TO
	awk -v name="$1" -v from="$2" -v to="$3" 'BEGIN {
		printf "map %s { typeof udp checksum : udp checksum; elements = { ", name
		for (sum = 1; sum < 65536; sum++) {
			s = (65535 - sum) + (65535 - from) + to
			while (s > 65535) s = s % 65536 + int(s / 65536)
			printf "%s%d : %d", sum == 1 ? "" : ", ", sum, s == 65535 ? s : 65535 - s
		}
		print " } }"
	}'
}

moved() {
	local peer
	WHY=
	nat || fail "nft: no table of family netdev in this kernel"
	testbed_wait 10 "the trunk to move" counted bfe0 paths_moved 1 || WHY="the trunk did not move"
	peer=$(trunks bfe0 | awk '$2 == "trunk" { print $3 }')
	[ -n "$WHY" ] || [ "$peer" = "$(testbed_outside afe0 40001)" ] || WHY="its peer is $peer"
	[ -n "$WHY" ] || testbed_wait 10 "traffic" between bfe0 rx_segments \
		$(($(trunk bfe0 rx_segments) + 500)) 1000000000 || WHY="nothing comes from there"
	verdict "the trunk follows a NAT to $peer" "$WHY"
}

# The WAN passes no more than 1400 from now on, with segments of 9000 in custody.
narrowed() {
	local fe what
	WHY=
	wan_mtu 1400
	for fe in afe0 bfe0; do
		for what in tx_cut tx_parts rx_parts rx_joined; do
			[ -n "$WHY" ] || testbed_wait 20 "$what of $fe" counted $fe $what 500 ||
				WHY="$fe: $what is $(count $fe $what)"
		done
		[ -n "$WHY" ] || testbed_wait 20 "a trunk of 1300 to 1372 bytes" between $fe mtu 1300 1372 ||
			WHY="$fe has $(trunk $fe mtu) bytes"
	done
	verdict "WAN of MTU 1400 under load: $(count afe0 tx_cut) segments in $(count afe0 tx_parts) parts" "$WHY"
}

# What came in parts leaves no buffer behind: FRONTEND BUFFERS-BEFORE...  But a part that comes once
# more when its segment was whole keeps one until the next part comes (lib/suci/path/reasm.c).
emptied() {
	WHY=
	while [ $# -gt 1 ]; do
		testbed_wait 10 "buffers of $1" pool_below "$1" $(($2 + 1)) ||
			WHY="$1 has $(stats "$1" pool in_use) buffers in use, $2 before the job"
		shift 2
	done
	verdict "no buffer stays in use" "$WHY"
}

# The job that went through all that.
went_on() {
	touch "$TB_DIR/enough"
	ended
	[ -n "$WHY" ] || [ "$(count bfe0 paths_moved)" = 1 ] || WHY="moved $(count bfe0 paths_moved) times"
	[ -n "$WHY" ] || ! grep -q 'is down: trunk' "$TB_LOG"/relayd-*.log || WHY="a trunk went down"
	verdict "the job was right meanwhile" "$WHY"
	rm -f "$TB_DIR/enough"
}

NODES=1 MTU_WAN=9000
ip=ip head=28 # of a datagram between clusters
[ -z "${IPV6:-}" ] || { ip=ip6 head=48; }
TB_RELAY_CONF='"suci": { "global_mtu_start": 1500, "global_migrate": true }'
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 5 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
grown $((9000 - head)) $((9000 - head)) 9000
idle=(afe0 "$(stats afe0 pool in_use)" bfe0 "$(stats bfe0 pool in_use)")
start 3600
testbed_wait 10 "the job to run" grep -q '^running' "$TB_LOG/job-a.log" || fail "the job does not start"
moved
marked
narrowed
went_on
emptied "${idle[@]}"
wan nft delete table netdev nat
for fe in afe0 bfe0; do testbed_stop relayd-$fe || fail "$fe does not stop clean"; done
wan_mtu 4000
grown 3900 3976 4000
testbed_down
verdict "no process or namespace is left" "$(testbed_leftovers)"
exit $rc
