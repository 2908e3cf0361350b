#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpitune over two nodes: says what it changed and keeps it for libmpi and libsuci; both use it on
# that network, and on one with another MTU the row is another network's.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
CLUSTERS=a NODES=2 MTU_IN=1500
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpitune-nodes
testbed_up || fail "no namespaces"
export XDG_CACHE_HOME=$TB_DIR/cache
STORE=$XDG_CACHE_HOME/mpitune/store

# tuned NAME ARGUMENT...: a rank on either node; what they say is in $log.
tuned() {
	local name=$1
	log=$TB_LOG/$1.log
	shift
	testbed_job_local "$B" "$name" 2 -x XDG_CACHE_HOME "$PWD/$B/bin/mpitune" "$@"
	testbed_wait 60 "the end of $name" sh -c "! kill -0 $(cat "$TB_DIR/pid-$name") 2>/dev/null" ||
		fail "mpitune does not end"
}
says() { grep -qE -- "$1" "$log" || echo "no '$1' in: $(tail -5 "$log")"; }

tuned measured --seconds 5
# "name  from -> to  +percent", or "name  from stays": nothing else is a result.
why=$(says 'two nodes, round trip')
for n in eager-net run ack; do
	why+=$(says "^  $n +[0-9]+ (stays|-> [0-9]+ +\+[0-9.]+ %)")
done
verdict "says of each number what it changed" "$why$(says "kept in $STORE")"
why=''
for mode in mpi suci; do
	grep -q "^entry driver=udp .*mode=$mode .* mtu=1500 .*ack=" "$STORE" || why+=" no row of $mode"
done
verdict "the rows are those of this network" "$why"

sed -i 's/eager-net=[0-9]*/eager-net=57344/; s/ run=[0-9]*/ run=12/; s/ ack=[0-9]*/ ack=16/' "$STORE"
tuned used --show
verdict "both nodes use them" "$(says 'LIBMPI_EAGER=57344 LIBMPI_RUN=12 LIBMPI_ACK=16'
	[ "$(grep -c 'holds here' "$log")" = 2 ] || echo "not both rows hold: $(cat "$log")")"

for n in a0 a1; do "$TB_DIR/in" $n ip link set eth0 mtu 1400; done
tuned other --show
verdict "in another network they are not" "$(says 'LIBMPI_EAGER=65536 LIBMPI_RUN=30 LIBMPI_ACK=32'
	says "another machine's, or before something changed")"
exit $rc
