#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wanem between two namespaces: delay, rate, loss, duplication, books, signals, refusals.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
NODES=1 RELAYS=1
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

stat_of() { # PATH.IN.JSON of wanem's statistics
	python3 - "$TB_DIR/wanem.json" "$1" <<'EOF'
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."):
    v = v[k]
print(v)
EOF
}

# start OPTIONS.. / finish: one run of wanem, which must end with 0 and balanced books.
start() {
	rm -f "$TB_DIR/wanem.ready" "$TB_DIR/wanem.json"
	testbed_wanem "$B/bin/wanem" "$@" || fail "does not start with: $*"
}
finish() {
	testbed_stop wanem || fail "ended with status $?"
	grep -q 'all [0-9]* buffers back' "$TB_LOG/wanem.log" || fail "buffers were lost"
	[ "$(stat_of a_to_b.books_ok)$(stat_of b_to_a.books_ok)" = TrueTrue ] || fail "books do not balance"
}
pings() { testbed_exec afe0 ping -q -W 2 "$@" "$(testbed_global_addr bfe0)" 2>&1; }

testbed_up || fail "no testbed"
testbed_kernel_address afe0 && testbed_kernel_address bfe0 || fail "no addresses"

start --delay-ms 20
pings -c 1 >/dev/null # the neighbour is learnt
min=$(pings -c 5 -i 0.05 | sed -n 's|^rtt [^=]*= \([0-9]*\).*|\1|p')
[ "${min:-0}" -ge 40 ] || fail "delay 20 ms, but round trip ${min:-none} ms"
finish

start --delay-ms 0 --dup 1
pings -c 10 -i 0.02 | grep -q duplicates || fail "--dup 1 gives no duplicates"
finish
[ "$(stat_of a_to_b.dup)" -ge 10 ] || fail "duplicates are not counted"

start --ab-loss 1
pings -c 3 -i 0.02 -W 1 | grep -q '100% packet loss' || fail "--ab-loss 1 lets frames through"
kill -USR1 "$(cat "$TB_DIR/pid-wanem")"
testbed_wait 5 "statistics on SIGUSR1" test -s "$TB_DIR/wanem.json" || fail "no statistics on SIGUSR1"
finish
[ "$(stat_of a_to_b.drop_loss)" -ge 3 ] || fail "lost frames are not counted"
[ "$(stat_of b_to_a.drop_loss)" = 0 ] || fail "--ab-loss drops in the other direction"

# 1 Mb/s and a queue of 5 frames against a burst: the rest is dropped by name.
start --rate 1e6 --queue-bytes 8000
pings -c 1 >/dev/null
pings -s 1400 -l 40 -c 40 -i 0.002 >/dev/null
finish
[ "$(stat_of a_to_b.drop_queue)" -gt 10 ] || fail "a full queue drops nothing"
[ "$(stat_of a_to_b.queue_bytes_max)" -le 8000 ] || fail "the queue grew beyond its limit"

# 10 ms x 1 Gb/s must be planned for; too little memory is refused with the numbers.
"$TB_DIR/in" wan "$B/bin/wanem" --a wemA --b wemB --delay-ms 10 --rate 1e9 --mem-mb 32 \
	>"$TB_LOG/refuse.log" 2>&1 && fail "32 MB for 10 ms x 1 Gb/s is not refused"
grep -q 'MB are needed' "$TB_LOG/refuse.log" || fail "the refusal does not say what is needed"
"$TB_DIR/in" wan "$B/bin/wanem" --a nosuch --b wemB >"$TB_LOG/nosuch.log" 2>&1 &&
	fail "an interface that is not there is accepted"
grep -q 'nosuch: no such interface' "$TB_LOG/nosuch.log" || fail "no clear word on a missing interface"

testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"
echo "PASS $SCENARIO"
