#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libsuci and suci-perf: installed into a prefix of its own and used from there; between
# namespaces over a link that loses; gather and tree of 17 processes, half of them
# behind that link; a door; a peer that comes late, one that is killed.
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
NODES=1 RELAYS=8
. tools/testbed/lib.sh
. test/run-lib
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
PERF=$PWD/$B/bin/suci-perf
PREFIX=$(mktemp -d)

# ---- what a user of the installed library does
installed() {
	local vars
	vars=$(setting_of "$B")
	eval make -s "$vars" PREFIX="$PREFIX" install-libsuci >"$PREFIX/log" 2>&1 ||
		fail "make install-libsuci: $(tail -3 "$PREFIX/log")"
	export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
	local flags libs way i
	flags="$(pkg-config --cflags suci)" && libs="$(pkg-config --libs suci)" || fail "suci.pc"
	for f in include/suci.h lib/libsuci.so.1 share/man/man3/suci.3 share/man/man3/datagram.3 \
		share/man/man1/suci-perf.1; do
		[ -s "$PREFIX/$f" ] || fail "$f is not installed"
	done
	# shellcheck disable=SC2086
	echo '#include <suci.h>' | c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only $flags -x c++ - ||
		fail "suci.h is not C++"
	printf '0 127.0.0.1 %s\n1 127.0.0.1 %s\n2 127.0.0.1 %s\n' \
		$((20000 + $$ % 10000)) $((30000 + $$ % 10000)) $((40000 + $$ % 10000)) >"$PREFIX/hosts"
	for way in "$libs" "-L$PREFIX/lib -l:libsuci.a -lIPSec_MB -lsodium"; do
		# shellcheck disable=SC2086
		cc -std=c17 -Wall -Wextra -Werror -O2 $flags -o "$PREFIX/loop" examples/suci-loop.c $way ||
			fail "the example does not compile with: $way"
		local pids=()
		for i in 1 2; do
			timeout 600 "$PREFIX/loop" "$PREFIX/hosts" $i 500 >"$PREFIX/out$i" 2>&1 &
			pids+=($!)
		done
		timeout 600 "$PREFIX/loop" "$PREFIX/hosts" 0 500 >"$PREFIX/out0" 2>&1 ||
			fail "the example: $(cat "$PREFIX/out0")"
		for i in 0 1; do wait "${pids[i]}" || fail "the example: $(cat "$PREFIX"/out*)"; done
		[ "$(cat "$PREFIX"/out? | grep -c '500 items, all sums right')" = 3 ] ||
			fail "the example did not say that all is right"
	done
	pass "installed with suci.pc, man pages; the example, shared and static"
}
case $B in
*-*) echo "SKIP $SCENARIO: a library with sanitizers is not linked like a user's" ;;
*) installed ;;
esac

# ---- lengths beyond 32 bits, read into the reader's buffer, little memory for the rest
timeout 1000 "$PERF" local 2 --mode burst --size 4100M --count 1 --warmup 0 --read-bytes 1M \
	--json "$PREFIX/long.json" >"$PREFIX/log" 2>&1 || fail "4.1 GiB: $(cat "$PREFIX/log")"
grep -q '"size": 4299161600, "count": 1' "$PREFIX/long.json" || fail "4.1 GiB: $(cat "$PREFIX/long.json")"
pass "a block of 4100 MiB"

# ---- over a link with loss
want() { # FILE MODE SIZES...: results of these sizes, and more than nothing moved
	python3 - "$@" <<'EOP'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["mode"] == sys.argv[2], r["mode"]
assert [str(x["size"]) for x in r["results"]] == sys.argv[3:], r
for x in r["results"]:
    assert x["seconds"] > 0 and x["count"] > 0, x
    assert x["size"] == 0 or x["mb_per_s"] > 0, x
    assert r["mode"] != "pingpong" or x["latency_us"]["p50"] >= 2000, x
    assert r["mode"] != "gather" or 0 < x["first_s"] <= x["last_s"], x
EOP
}

testbed_up || fail "no testbed"
for i in 0 1 2 3 4 5 6 7; do
	testbed_kernel_address "afe$i" && testbed_kernel_address "bfe$i" || fail "no addresses"
	echo "$i $(testbed_global_addr "afe$i") 7700"
	echo "$((i + 8)) $(testbed_global_addr "bfe$i") 7700"
done >"$TB_DIR/hosts"
echo "16 $(testbed_global_addr srv) 7700" >>"$TB_DIR/hosts"
testbed_wanem "$B/bin/wanem" --delay-ms 2 --loss 0.003 --rate 1e9 || fail "wanem does not start"

# The client comes before its server.
json=$TB_DIR/perf.json
testbed_spawn afe0 client "$PERF" client "$(testbed_global_addr bfe0)" --mode pingpong \
	--size 0,8,64k --count 30 --warmup 5 --json "$json"
sleep 0.5
testbed_spawn bfe0 server "$PERF" server --bind "$(testbed_global_addr bfe0)"
testbed_wait 60 "the client" bash -c "! kill -0 $(cat "$TB_DIR/pid-client") 2>/dev/null"
want "$json" pingpong 0 8 65536 || fail "ping-pong with loss"
pass "ping-pong with loss, the server comes late"

timeout 600 "$TB_DIR/in" afe1 "$PERF" client "$(testbed_global_addr bfe0)" --mode burst \
	--connect-ms 2000 --crc >"$TB_LOG/crc.log" 2>&1 && fail "CRC on one side only is not found out"
grep -q 'refuses us: CRC is off here' "$TB_LOG/crc.log" || fail "CRC on one side only: no clear word"
timeout 600 "$TB_DIR/in" afe1 "$PERF" client "$(testbed_global_addr bfe0)" --mode burst \
	--size 100,1M,5M --count 3 --json "$json" >"$TB_LOG/burst.log" 2>&1 ||
	fail "burst with loss"
want "$json" burst 100 1048576 5242880 || fail "burst with loss: results"
pass "burst with loss"

# By an address that the server prints.
testbed_spawn bfe4 door "$PERF" server --door --bind "$(testbed_global_addr bfe4)" --once
testbed_wait 30 "the address" grep -q '^door:' "$TB_LOG/door.log" || fail "no address is printed"
timeout 600 "$TB_DIR/in" afe4 "$PERF" client "$(grep '^door:' "$TB_LOG/door.log")" --mode burst \
	--size 100,1M --count 3 --json "$json" >"$TB_LOG/at-door.log" 2>&1 || fail "a door, directly"
want "$json" burst 100 1048576 || fail "a door, directly: results"
grep -q '"opened_ms": [0-9]' "$json" || fail "a door, directly: not how long opening took"
timeout 600 "$TB_DIR/in" afe4 "$PERF" client door:EQA --mode burst >"$TB_LOG/no-door.log" 2>&1 &&
	fail "a client of an address that is cut short"
grep -q 'cut short' "$TB_LOG/no-door.log" || fail "an address that is cut short: no clear word"
pass "by the address of a door"

# Sealed: both have the key, or nothing comes through.
printf '7 %s\n' "$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')" >"$TB_DIR/key"
printf '7 %s\n' "$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')" >"$TB_DIR/other"
chmod 600 "$TB_DIR/key" "$TB_DIR/other"
testbed_spawn bfe3 sealed "$PERF" server --bind "$(testbed_global_addr bfe3)" --psk "$TB_DIR/key"
sealed=(timeout 600 "$TB_DIR/in" afe3 "$PERF" client "$(testbed_global_addr bfe3)" --mode burst)
"${sealed[@]}" --size 1k,200k --count 10 --psk "$TB_DIR/key" --json "$json" >"$TB_LOG/key.log" 2>&1 ||
	fail "sealed"
want "$json" burst 1024 204800 || fail "sealed: results"
"${sealed[@]}" --connect-ms 400 >"$TB_LOG/nokey.log" 2>&1 && fail "a peer without key is served"
"${sealed[@]}" --connect-ms 400 --psk "$TB_DIR/other" >"$TB_LOG/other.log" 2>&1 &&
	fail "a peer with another key is served"
testbed_stop sealed || fail "the sealed server's status"

# Sites with a key pair each; one that is not on the server's list gets no answer.
for site in here there other; do
	"$B/bin/relayd" --make-identity "$TB_DIR/id-$site" >"$TB_DIR/pub-$site" || fail "no identity"
done
echo "here $(cat "$TB_DIR/pub-here") $(testbed_global_addr afe3)" >"$TB_DIR/at-server"
echo "there $(cat "$TB_DIR/pub-there") $(testbed_global_addr bfe3)" >"$TB_DIR/at-client"
testbed_spawn bfe3 sites "$PERF" server --bind "$(testbed_global_addr bfe3)" \
	--identity "$TB_DIR/id-there" --peers "$TB_DIR/at-server"
"${sealed[@]}" --bind "$(testbed_global_addr afe3)" --size 1k,200k --count 10 --identity "$TB_DIR/id-here" \
	--peers "$TB_DIR/at-client" --json "$json" >"$TB_LOG/site.log" 2>&1 || fail "with identities"
want "$json" burst 1024 204800 || fail "with identities: results"
"${sealed[@]}" --connect-ms 400 --identity "$TB_DIR/id-other" --peers "$TB_DIR/at-client" >"$TB_LOG/site2.log" 2>&1 &&
	fail "a site that is not on the list is served"
"${sealed[@]}" --connect-ms 400 --identity "$TB_DIR/id-here" >"$TB_LOG/site3.log" 2>&1 && fail "an identity without peers"
grep -q 'identity_file and peers_file go together' "$TB_LOG/site3.log" || fail "an identity without peers: no reason"
testbed_stop sites || fail "the status of the server with an identity"
pass "sites by their public keys, others not"
pass "sealed with a pre-shared key, not without"

# Past the kernel's UDP: one process of an interface receives through AF_XDP, the next is told
# why not; everything that is not its own goes on to the kernel; a killed one leaves no program.
xdp_on() { ip -n "$TB_ID-$1" -d link show glob0 | grep -q xdp; }
testbed_spawn bfe4 xdp "$PERF" server --bind "$(testbed_global_addr bfe4)" --xdp
testbed_wait 10 "AF_XDP" grep -q 'AF_XDP receives' "$TB_LOG/xdp.log" || fail "no AF_XDP: $(cat "$TB_LOG/xdp.log")"
xdp_on bfe4 || fail "no XDP program on the interface"
udp_in() { "$TB_DIR/in" bfe4 awk '/^Udp: [0-9]/ { print $2 }' /proc/net/snmp; }
before=$(udp_in)
timeout 600 "$TB_DIR/in" afe4 "$PERF" client "$(testbed_global_addr bfe4)" --mode pingpong \
	--bind "$(testbed_global_addr afe4)" --xdp --size 0,8,64k --count 20 --json "$json" \
	>"$TB_LOG/xdpc.log" 2>&1 || fail "through AF_XDP"
want "$json" pingpong 0 8 65536 || fail "through AF_XDP: results"
grep -q 'AF_XDP receives' "$TB_LOG/xdpc.log" || fail "client without AF_XDP: $(cat "$TB_LOG/xdpc.log")"
# 60 blocks of together 900 packets, of which the kernel's UDP saw the first few.
(($(udp_in) - before < 50)) || fail "$(($(udp_in) - before)) datagrams past AF_XDP"
xdp_on afe4 && fail "the client left its XDP program"
testbed_spawn bfe4 second "$PERF" server --bind "$(testbed_global_addr bfe4)" --port 7701 --xdp
testbed_wait 10 "the reason" grep -q 'no AF_XDP: another' "$TB_LOG/second.log" ||
	fail "two have the interface: $(cat "$TB_LOG/second.log")"
timeout 600 "$TB_DIR/in" afe4 "$PERF" client "$(testbed_global_addr bfe4)" --port 7701 --mode burst \
	--size 64k --count 20 --json "$json" >"$TB_LOG/xdpc.log" 2>&1 || fail "beside AF_XDP"
testbed_stop second || fail "the second server's status"
xdp_on bfe4 || fail "the program is gone before its process"
kill -KILL -- "-$(cat "$TB_DIR/pid-xdp")" || fail "the server with AF_XDP is gone"
testbed_wait 10 "the program to go" bash -c "! ip -n $TB_ID-bfe4 -d link show glob0 | grep -q xdp" ||
	fail "a killed process leaves its XDP program"
pass "through AF_XDP, beside it, after it"

# IPv6 alone: two hosts that have no IPv4 address any more, in clear and sealed with identities, over
# the same link; a server at :: has IPv4 clients beside.
six() { echo "fd00:51::$1"; }
for host in afe5:5 bfe5:15; do
	ip -n "$TB_ID-${host%:*}" addr flush dev glob0 scope global
	"$TB_DIR/in" "${host%:*}" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/glob0/disable_ipv6'
	ip -n "$TB_ID-${host%:*}" addr add "$(six "${host#*:}")/64" dev glob0 nodad || fail "no IPv6 address"
done
testbed_spawn bfe5 six "$PERF" server --bind "$(six 15)"
over6=(timeout 600 "$TB_DIR/in" afe5 "$PERF" client "$(six 15)")
"${over6[@]}" --mode pingpong --size 0,8,64k --count 20 --json "$json" >"$TB_LOG/six.log" 2>&1 ||
	fail "IPv6: $(cat "$TB_LOG/six.log")"
want "$json" pingpong 0 8 65536 || fail "IPv6: results"
"${over6[@]}" --mode burst --size 200k,2M --count 5 --json "$json" >"$TB_LOG/six.log" 2>&1 ||
	fail "IPv6, burst: $(cat "$TB_LOG/six.log")"
want "$json" burst 204800 2097152 || fail "IPv6, burst: results"
testbed_stop six || fail "IPv6: the server's status"
testbed_spawn bfe5 six "$PERF" server --bind "$(six 15)" --xdp
testbed_wait 10 "AF_XDP" grep -q 'AF_XDP receives' "$TB_LOG/six.log" || fail "no AF_XDP for IPv6: $(cat "$TB_LOG/six.log")"
udp6_in() { "$TB_DIR/in" bfe5 awk '/^Udp6InDatagrams/ { print $2 }' /proc/net/snmp6; }
before=$(udp6_in)
"${over6[@]}" --mode pingpong --bind "$(six 5)" --xdp --size 0,8,64k --count 20 --json "$json" >"$TB_LOG/six5.log" 2>&1 ||
	fail "IPv6 through AF_XDP: $(cat "$TB_LOG/six5.log")"
want "$json" pingpong 0 8 65536 || fail "IPv6 through AF_XDP: results"
grep -q 'AF_XDP receives' "$TB_LOG/six5.log" || fail "IPv6: client without AF_XDP: $(cat "$TB_LOG/six5.log")"
(($(udp6_in) - before < 50)) || fail "IPv6: $(($(udp6_in) - before)) datagrams past AF_XDP"
testbed_stop six || fail "IPv6 through AF_XDP: the server's status"
echo "here $(cat "$TB_DIR/pub-here") $(six 5)" >"$TB_DIR/at-server"
echo "there $(cat "$TB_DIR/pub-there") fd00:51::/64" >"$TB_DIR/at-client"
testbed_spawn bfe5 six "$PERF" server --bind :: --identity "$TB_DIR/id-there" --peers "$TB_DIR/at-server"
"${over6[@]}" --mode burst --size 1k,200k --count 10 --identity "$TB_DIR/id-here" \
	--peers "$TB_DIR/at-client" --json "$json" >"$TB_LOG/six.log" 2>&1 ||
	fail "IPv6, identities: $(cat "$TB_LOG/six.log")"
want "$json" burst 1024 204800 || fail "IPv6, identities: results"
testbed_stop six || fail "IPv6, identities: the server's status"
for host in afe5 bfe5; do
	ip -n "$TB_ID-$host" addr add "$(testbed_global_addr "$host")/24" dev glob0 || fail "no IPv4 address"
done
testbed_spawn bfe5 six "$PERF" server --bind ::
for to in "$(six 15)" "$(testbed_global_addr bfe5)"; do
	timeout 600 "$TB_DIR/in" afe5 "$PERF" client "$to" --mode pingpong --size 8 --count 5 \
		--json "$json" >"$TB_LOG/six.log" 2>&1 || fail "a server at ::, $to: $(cat "$TB_LOG/six.log")"
done
"${over6[@]}" --bind "$(testbed_global_addr afe5)" --connect-ms 300 --mode burst >"$TB_LOG/six.log" 2>&1 &&
	fail "an IPv6 server by an IPv4 socket"
grep -q 'cannot be reached: its address is IPv6, ours is not' "$TB_LOG/six.log" ||
	fail "an IPv6 server by an IPv4 socket: $(cat "$TB_LOG/six.log")"
testbed_stop six || fail "the status of the server at ::"
pass "IPv6 alone, in clear and sealed; IPv6 and IPv4 at one server"

# Slow write keeps its rate from above: 1 MB at 2 MB/s.
timeout 600 "$TB_DIR/in" bfe1 "$PERF" client "$(testbed_global_addr bfe0)" --mode burst \
	--size 100000 --count 10 --warmup 0 --rate 2000000 --json "$json" >"$TB_LOG/slow.log" 2>&1 ||
	fail "slow write"
python3 -c 'import json, sys
x = json.load(open(sys.argv[1]))["results"][0]
assert x["mb_per_s"] <= 2.1, x' "$json" || fail "slow write is not slow"
pass "slow write"

# The server is killed: the client says so and ends.
testbed_spawn bfe2 doomed "$PERF" server --bind "$(testbed_global_addr bfe2)"
testbed_spawn bfe1 left "$PERF" client "$(testbed_global_addr bfe2)" --mode pingpong --size 1k \
	--duration 600
sleep 1
kill -KILL -- "-$(cat "$TB_DIR/pid-doomed")"
testbed_wait 30 "the client whose server was killed" \
	bash -c "! kill -0 $(cat "$TB_DIR/pid-left") 2>/dev/null"
grep -q 'id 0' "$TB_LOG/left.log" || fail "the client does not say that its server is gone"
testbed_stop server || fail "the server's status is not 0 after SIGTERM"
pass "a server that is killed, one that is told to end"

for mode in gather tree; do
	for i in 0 1 2 3 4 5 6 7; do
		testbed_spawn "afe$i" "$mode-$i" "$PERF" node --db "$TB_DIR/hosts" --id "$i" --root 8 --mode $mode
		[ "$i" = 0 ] || testbed_spawn "bfe$i" "$mode-$((i + 8))" "$PERF" node --db "$TB_DIR/hosts" \
			--id $((i + 8)) --root 8 --mode $mode
	done
	testbed_spawn srv "$mode-16" "$PERF" node --db "$TB_DIR/hosts" --id 16 --root 8 --mode $mode
	timeout 1000 "$TB_DIR/in" bfe0 "$PERF" node --db "$TB_DIR/hosts" --id 8 --root 8 --mode $mode \
		--size 8,10k,50k --count 10 --json "$json" >"$TB_LOG/$mode.log" 2>&1 ||
		fail "$mode of 17 processes"
	want "$json" $mode 8 10240 51200 || fail "$mode of 17 processes: results"
	for i in 0 1 2 3 4 5 6 7 9 10 11 12 13 14 15 16; do
		testbed_wait 10 "$mode-$i to end" \
			bash -c "! kill -0 $(cat "$TB_DIR/pid-$mode-$i") 2>/dev/null"
		wait "$(cat "$TB_DIR/pid-$mode-$i")" || fail "$mode: id $i ended with $?"
	done
	pass "$mode of 17 processes, 8 of them behind loss"
done

testbed_stop wanem || fail "wanem ended with status $?"
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"
rm -rf "$PREFIX"
