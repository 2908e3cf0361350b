#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every stateless scenario of tools/pktgen-scenarios against one running relayd, through
# relay-pktgen's DPDK port on a veth: counters as the scenario expects, ping answered
# after each, and an end that leaves nothing behind.
# ipv6: no, because what it plays goes to the private leg
# timeout: 90
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root pktgen
make_net || { fail pktgen-net "cannot make namespaces"; exit 1; }
make_conf
if ! start_relayd; then
	fail pktgen-start "no ready line; log follows"
	exit 1
fi

# The leg's MTU is 9000: the cable takes what is larger, so that it is relayd who meets it.
ip -n "$NODE" link set p0 mtu 9100
ip -n "$RELAY" link set priv0 mtu 9100

dir=tools/pktgen-scenarios
to_mac=$(ip -n "$RELAY" -br link show priv0 | awk '{print $3}')
own_mac=$(ip -n "$NODE" -br link show p0 | awk '{print $3}')
# shellcheck disable=SC2317 # called by check
ping_relay() { ip netns exec "$NODE" ping -q -c 2 -i 0.05 -W 2 10.0.0.1 >/dev/null; }

for file in "$dir"/*.json; do
	name=$(basename "$file" .json)
	grep -q "\"frames\": \[" "$file" || continue # schemas, and the stateful ones
	args=("$file" --dst-mac "$to_mac" --src-mac "$own_mac" --mtu 9000)
	if ! stats; then fail "pktgen-$name" "SIGUSR1 wrote no stats file"; break; fi
	cp "$TMP/stats.json" "$TMP/before.json"
	if ! ip netns exec "$NODE" "$B/bin/relay-pktgen" "${args[@]}" --port p0 \
		--file-prefix "$RUN-g" >"$TMP/play.log" 2>&1; then
		cat "$TMP/play.log"
		fail "pktgen-$name" "relay-pktgen could not send"
		continue
	fi
	sleep 0.3
	if ! stats; then fail "pktgen-$name" "no stats file after the frames"; break; fi
	check "pktgen-$name" "counters are not as expected, see above" \
		"$B/bin/relay-pktgen" "${args[@]}" --before "$TMP/before.json" --after "$TMP/stats.json"
	check "pktgen-$name-ping" "no echo reply afterwards" ping_relay
done

# The check can fail: nothing was played between two equal files.
"$B/bin/relay-pktgen" "$dir/malformed.json" --before "$TMP/stats.json" \
	--after "$TMP/stats.json" >/dev/null 2>&1
rc=$?
check pktgen-judge "status $rc for frames nobody counted" [ "$rc" -eq 1 ]

# The pcap holds the same frames: 24 bytes of header, and what tcpdump would read.
"$B/bin/relay-pktgen" "$dir/link-noise.json" --pcap "$TMP/a.pcap" >/dev/null &&
	"$B/bin/relay-pktgen" "$dir/link-noise.json" --pcap "$TMP/b.pcap" >/dev/null
check pktgen-pcap "two files of one scenario differ, or are empty" cmp "$TMP/a.pcap" "$TMP/b.pcap"

check pktgen-consistent "forwarding counters do not add up" [ "$(stat 's["consistent"]')" = True ]
stop_relayd
rc=$?
check pktgen-exit "relayd's status is $rc after SIGTERM" [ "$rc" -eq 0 ]
check pktgen-buffers "not all packet buffers came back" \
	grep -q 'all [0-9]* packet buffers are back' "$TMP/relayd.log"
exit $FAILED
