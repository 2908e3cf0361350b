#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a cluster's client sees when the IMPI server refuses, is not there, or does not
# answer, and when a key is wrong: an end in bounded time and a log line that says why.
# ipv6: yes
# timeout: 120
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-server
make_net || { fail relayd-server-net "cannot make namespaces"; exit 1; }
make_conf

client() { ip netns exec "$NODE" python3 test/smoke/_impi_client.py 10.0.0.1 7811 "$@"; }
logged() { grep -q -- "$1" "$TMP/relayd.log"; }
server_at=${SERVER_AT//[/\\[} # a pattern

start_relayd || { fail server-start "no ready line"; exit 1; }
# 198.51.100.9 is there and nobody listens: refused at once.
check server-refused "the client was not ended" client none 5
check server-refused-reason "no such line" logged "cannot connect to the server: $server_at:7810: Connection refused"
# It takes no packets any more: no answer.
ip -n "$WAN" link set g0 down
check server-silent "the client was not ended within 14 s" client none 14
check server-silent-reason "no such line" \
	logged "cannot connect to the server: $server_at:7810: \(no answer within 10 s\|No route to host\|Connection timed out\)"
ip -n "$WAN" link set g0 up
# SIGTERM while a client waits for the others: it is told, after drain_ms at most.
ip netns exec "$WAN" env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 -port 7810 >"$TMP/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do grep -q 7810 "$TMP/server.log" && break; sleep 0.1; done
client none 20 >"$TMP/client" &
waiting=$!
for _ in $(seq 300); do grep -q 'said rank' "$TMP/client" && break; sleep 0.1; done
sleep 0.3
stop_relayd
check server-drain-exit "status $? after SIGTERM with a client" [ $? -eq 0 ]
wait "$waiting"
check server-drain-client "the client still waited" [ $? -eq 0 ]
check server-drain-reason "no such line" logged 'relay 10.0.0.1 of cluster a stops'
check server-drain-buffers "buffers are missing" logged 'packet buffers are back'
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null

# With a key: the wrong one ends, the right one goes on to the server.
(umask 077; echo 4711 >"$TMP/key")
sed -i -e 's/"auth": "none"/"auth": "key"/' -e "s#\"key_file\": \"\"#\"key_file\": \"$TMP/key\"#" "$TMP/conf.json"
start_relayd || { fail server-start-key "no ready line"; exit 1; }
check key-wrong "the client was not ended" client 4712 5
check key-wrong-reason "no line about the key: $(tail -3 "$TMP/relayd.log")" \
	grep -qi 'ended: .*key' "$TMP/relayd.log"
check key-none "a client without a key was not ended" client none 5
check key-right "the client was not ended" client 4711 5
check key-right-reason "the right key did not lead to the server" \
	logged "cannot connect to the server: $server_at:7810: Connection refused"
stop_relayd
check server-exit "status $?" [ $? -eq 0 ]
exit $FAILED
