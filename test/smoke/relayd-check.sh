#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayd --check: what is wrong with a file, all at once, with pointer and line; what
# the machine lacks, with the command that fixes it; and that it changes nothing.
# ipv6: no, because it starts no relay
# timeout: 90
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-check
make_net || { fail relayd-check-net "cannot make namespaces"; exit 1; }
make_conf

# says NAME PATTERN [SED...]: --check of the good file, edited, fails and says PATTERN.
says()
{
	local name=$1 pattern=$2 rc
	shift 2
	cp "$TMP/conf.json" "$TMP/edit.json"
	[ $# -eq 0 ] || sed -i "$@" "$TMP/edit.json"
	ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/edit.json" >"$TMP/out" 2>&1
	rc=$?
	if [ $rc -ne 1 ]; then
		fail "$name" "exit status $rc instead of 1: $(head -3 "$TMP/out")"
	elif ! grep -q -- "$pattern" "$TMP/out"; then
		fail "$name" "no line like '$pattern' in: $(cat "$TMP/out")"
	else
		pass "$name"
	fi
}

check check-good "the good file is refused" \
	ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/conf.json"
"$B/bin/relayd" --check /nonexistent.json 2>"$TMP/out"
check check-no-file "$(cat "$TMP/out")" grep -qx '/nonexistent.json: cannot be opened: No such file or directory' "$TMP/out"

says check-syntax 'edit.json:3: not JSON' -e '3s/,$//' -e '2s/{/{ "x" 1,/' -e '2s/^/\n/'
says check-unknown-key 'edit.json:[0-9]*: /idel: unknown key' -e 's/"idle"/"idel"/'
says check-range '/ports/global/mtu: 70000 is out of range' -e 's/"mtu": 1500/"mtu": 70000/'
says check-workers '/workers: 17 is out of range, 1 to 16' -e 's/"workers": 1/"workers": 17/'
says check-workers-ports '/gateway/udp_port: [0-9]* is also one of ports.private.udp_port' \
	-e 's/"workers": 1,/"workers": 16, "gateway": { "udp_port": 7815 },/'
says check-workers-lcores '/eal/lcores: names 2 lcores, 4 are needed' -e 's/"workers": 1/"workers": 3/'
says check-server-sealing '/impi/server_sealing: is on and needs sealing.key_file' \
	-e 's#"[^"]*psk"#"", "identity_file": "/nonexistent", "peers_file": "/nonexistent"#' -e 's#"impi": {#& "server_sealing": "on",#'
says check-identity-alone '/sealing/identity_file: needs sealing.peers_file, too' \
	-e 's#psk"#&, "identity_file": "/nonexistent"#'
says check-peers-alone '/sealing/peers_file: needs sealing.identity_file, too' \
	-e 's#psk"#&, "peers_file": "/nonexistent"#'
says check-identity-controller '/optical/controller: its channel is sealed with sealing.key_file, which is empty' \
	-e 's#"[^"]*psk"#"", "identity_file": "/nonexistent", "peers_file": "/nonexistent"#' \
	-e 's#"workers": 1,#&"optical": { "controller": "192.0.2.1:7820" },#'
says check-identity-file '/sealing/identity_file: /nonexistent: cannot be read: No such file' \
	-e 's#psk"#&, "identity_file": "/nonexistent", "peers_file": "/nonexistent"#'
says check-address 'differs from ports.global.address' \
	-e '0,/198.51.100.1"/s/198.51.100.1"/198.51.100.3"/'

cp "$TMP/conf.json" "$TMP/many.json"
sed -i -e 's/"idle": "sleep"/"idle": "doze"/' -e 's/"prefix_len": 24/"prefix_len": 99/' \
	-e 's/"workers": 1/"workers": "one"/' "$TMP/many.json"
ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/many.json" >"$TMP/out" 2>&1
check check-all-at-once "not all of 4 faults are said: $(cat "$TMP/out")" \
	[ "$(grep -c 'many.json:[0-9]*: /' "$TMP/out")" -eq 4 ]

says check-interface 'no interface nope0 in this network namespace' -e 's/priv0/nope0/'
ip netns exec "$RELAY" "$B/bin/relayd" --check --json "$TMP/edit.json" >"$TMP/out"
check check-json "a fault of the machine has a line, or there is none: $(cat "$TMP/out")" python3 -c '
import json, sys
f = json.load(open(sys.argv[1]))["files"][0]["faults"]
sys.exit(not any("no interface nope0" in x["text"] for x in f) or any("line" in x for x in f))' "$TMP/out"
ip -n "$RELAY" link set priv0 mtu 1500
says check-mtu 'fix: ip link set priv0 mtu 9000'
ip -n "$RELAY" link set priv0 mtu 9000
ip -n "$RELAY" link set glob0 down
says check-down 'fix: ip link set glob0 up'
ip -n "$RELAY" link set glob0 up
ip -n "$RELAY" addr add 192.0.2.1/24 dev priv0
says check-kernel-address 'fix: ip addr flush dev priv0'
ip -n "$RELAY" route add default via 192.0.2.254 dev priv0
says check-default-route "priv0 has the kernel address 192.0.2.1 and this machine's default route"
check check-default-route-kept "it is advised to take the address away" bash -c "! grep -q flush '$TMP/out'"
ip -n "$RELAY" addr flush dev priv0
chmod 0640 "$TMP/psk"
says check-sealing-mode '/sealing/key_file: .*mode 0640, chmod it to 0600'
check check-sealing-kept "a new key is advised" bash -c "! grep -q openssl '$TMP/out'"
chmod 0600 "$TMP/psk"
says check-sealing-none '/sealing/key_file: .*No such file.*openssl rand' -e "s#$TMP/psk#$TMP/none#"
says check-user '/user: user nobody-here does not exist' -e '0,/{/s//{ "user": "nobody-here",/'
says check-tap-allow '/tap_allow: "tcp/0" is not a list' -e '0,/{/s//{ "tap_allow": "tcp\/0",/'
says check-neighbours-mac '/neighbours/mac: 192.0.2.7 is in the subnet of neither leg' \
	-e '0,/{/s//{ "neighbours": { "mac": "192.0.2.7=02:00:00:00:00:07" },/'
says check-lcores '/eal/lcores: CPU 1000 does not exist' -e 's/0@0,1@1/0@0,1@1000/'
says check-lcores-syntax 'edit.json:[0-9]*: /eal/lcores: .* is not EAL --lcores syntax' -e 's/0@0,1@1/0@0,(1@1/'
says check-one-lcore 'edit.json:[0-9]*: /eal/lcores: names 1 lcore, 2 are needed' -e 's/0@0,1@1/0@0/'
ip netns exec "$RELAY" "$B/bin/relayd" --check \
	<(sed -e 's/0@0,1@1/0@0,1@0/' -e 's/"idle": "sleep"/"idle": "pause"/' "$TMP/conf.json") >"$TMP/out" 2>&1
check check-control-cpu "$(cat "$TMP/out")" grep -q 'warning: /eal/lcores: lcore 0, which is control' "$TMP/out"
says check-server-name 'machine: /impi/server: no-such.invalid: .*; fix: correct the name' \
	-e 's/"server": "[^"]*"/"server": "no-such.invalid:7810"/'
says check-memory '/eal/memory_mb: 32 MiB are given' -e 's/"memory_mb": [0-9]*/"memory_mb": 32/'
says check-hugepages 'sysctl -w vm.nr_hugepages=' \
	-e 's/"hugepages": false/"hugepages": true/' -e 's/"memory_mb": [0-9]*/"memory_mb": 1000000/'
says check-pci 'no PCI device ffff:1f.7\|no PCI device ffff:ff:1f.7' \
	-e 's/"interface": "priv0"/"device": "ffff:ff:1f.7"/'
says check-key-file '/impi/key_file: cannot read /nonexistent' \
	-e 's/"auth": "none"/"auth": "key"/' -e 's#"key_file": ""#"key_file": "/nonexistent"#'
echo 12 >"$TMP/key"
chmod 0644 "$TMP/key"
says check-key-mode '/impi/key_file: .*others may read or write it (mode 0644)' \
	-e 's/"auth": "none"/"auth": "key"/' -e "s#\"key_file\": \"\"#\"key_file\": \"$TMP/key\"#"
chmod 0640 "$TMP/key"
says check-key-group '/impi/key_file: .*others may read or write it (mode 0640)' \
	-e 's/"auth": "none"/"auth": "key"/' -e "s#\"key_file\": \"\"#\"key_file\": \"$TMP/key\"#"
chmod 0600 "$TMP/key"
chown daemon "$TMP/key"
says check-key-owner '/impi/key_file: .*belongs to somebody else' \
	-e 's/"auth": "none"/"auth": "key"/' -e "s#\"key_file\": \"\"#\"key_file\": \"$TMP/key\"#"
chown root "$TMP/key"
echo 12x >"$TMP/key"
chmod 0600 "$TMP/key"
says check-key 'does not hold one decimal number' \
	-e 's/"auth": "none"/"auth": "key"/' -e "s#\"key_file\": \"\"#\"key_file\": \"$TMP/key\"#"
ip -n "$RELAY" tuntap add dev relay-priv mode tap
says check-tap 'interface relay-priv exists already'
ip -n "$RELAY" tuntap del dev relay-priv mode tap
ip netns exec "$RELAY" python3 -c '
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 7811)); s.listen(); print("ok", flush=True); time.sleep(30)' >"$TMP/listening" &
listener=$!
for _ in $(seq 300); do [ -s "$TMP/listening" ] && break; sleep 0.1; done
says check-port-in-use '/impi/listen_port: TCP port 7811 is in use'
says check-second-port-in-use '/impi/ports: TCP port 7811 is in use' \
	-e 's/"listen_port": 7811/"listen_port": 7810, "ports": 2/'
says check-gate-port-in-use '/gateway/global_port: TCP port 7811 of the range 7800 to 7815 is in use' \
	-e 's/"workers": 1,/"workers": 1, "gateway": { "global_port": 7800 },/'
kill "$listener"
wait "$listener" 2>/dev/null
says check-gate-not-ours '/cluster/relays/0/gates/0: no interface of this machine has 192.0.2.7' \
	-e 's/"workers": 1,/"workers": 1, "gateway": { "private_via": "host" },/' \
	-e 's/"global": "198.51.100.1"/&, "gates": [ "192.0.2.7" ]/'
says check-gate-subnet '/cluster/relays/0/gates/0: 192.0.2.7 is not in the subnet 10.0.0.0/24' \
	-e 's/"global": "198.51.100.1"/&, "gates": [ "192.0.2.7" ]/'
says check-gateway-cpu '/gateway/cpus: CPU 900 does not exist' \
	-e 's/"workers": 1,/"workers": 1, "gateway": { "cpus": "900" },/'
says check-stats-dir '/stats_file: cannot write into /nonexistent' \
	-e 's#"stats_file": "[^"]*"#"stats_file": "/nonexistent/s.json"#'

# What the how-to shows of light is taken as it stands there: its keys, put in front of the good file's,
# without the words behind them; only the device is one of this machine.
python3 - doc/howto/light.md "$TMP/conf.json" "$TMP/readme.json" <<'EOF'
import re, sys
readme, good, out = sys.argv[1:]
block = re.search(r'^    "optical": .*?(?=^$)', open(readme).read(), re.S | re.M).group(0)
block = re.sub(r" +# [^\n]*", "", block).strip()
block = re.sub(r'"device": "[^"]*"', '"interface": "light0"', block)
open(out, "w").write(open(good).read().replace("{", "{ " + block + ",", 1))
EOF
ip -n "$RELAY" link add light0 mtu 9000 type veth peer name light0p
ip -n "$RELAY" link set light0 up
ip netns exec "$RELAY" "$B/bin/relayd" --check "$TMP/readme.json" >"$TMP/out" 2>&1
check check-readme-light "light ports of the how-to are refused: $(head -5 "$TMP/out")" [ $? -eq 0 ]
ip -n "$RELAY" link del light0

# The start refuses with the same words and leaves nothing.
sed -i 's/glob0/nope0/' "$TMP/conf.json"
start_relayd
check start-refused "relayd started with a missing interface" [ $? -ne 0 ]
wait "$RELAYD_PID"
check start-status "status $? instead of 1" [ $? -eq 1 ]
RELAYD_PID=
check start-reason "$(cat "$TMP/relayd.log")" grep -q 'no interface nope0' "$TMP/relayd.log"
check check-changes-nothing "something is left in the namespace" \
	[ "$(ip -n "$RELAY" -br link | awk '{print $1}' | sed 's/@.*//' | sort | xargs)" = "glob0 lo priv0" ]
check check-no-runtime-dir "/var/run/dpdk/$RUN was made" [ ! -e "/var/run/dpdk/$RUN" ]

"$B/bin/relayd" --print-defaults >"$TMP/defaults.json"
check print-defaults "not JSON" python3 -m json.tool "$TMP/defaults.json" /dev/null
check print-schema "conf/relayd.schema.json is not what relayd --print-schema says" \
	diff -u conf/relayd.schema.json <("$B/bin/relayd" --print-schema)
check print-table "doc/configuration.md is not what relayd --print-table says" \
	diff -u <(sed -n '/^| key /,/^$/p' doc/configuration.md | sed '/^$/d') <("$B/bin/relayd" --print-table)
exit $FAILED
