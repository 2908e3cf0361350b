#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpitune over two nodes: says what it changed and keeps it for libmpi and libsuci; both use it on
# that network, and on one with another MTU the row is another network's.  In what pieces long Bcasts
# and Alltoalls go says the store of rank 0, whatever those of the others say.
# timeout: 180
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
CLUSTERS=a NODES=2 PPN=2 MTU_IN=1500
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpitune-nodes
testbed_up || fail "no namespaces"
export XDG_CACHE_HOME=$TB_DIR/cache
STORE=$XDG_CACHE_HOME/mpitune/store

# run_nodes NAME RANKS PROGRAM...: on both nodes in turn; what they say is in $log.
run_nodes() {
	local name=${1//[^a-z]/-} ranks=$2
	log=$TB_LOG/$name.log
	shift 2
	testbed_job_local "$B" "$name" "$ranks" -x XDG_CACHE_HOME "$@"
	testbed_wait 60 "the end of $name" sh -c "! kill -0 $(cat "$TB_DIR/pid-$name") 2>/dev/null" ||
		fail "$name does not end"
}
# tuned NAME RANKS ARGUMENT...
tuned() {
	local name=$1 ranks=$2
	shift 2
	run_nodes "$name" "$ranks" "$PWD/$B/bin/mpitune" "$@"
}
says() { grep -qE -- "$1" "$log" || echo "no '$1' in: $(tail -5 "$log")"; }

tuned measured 2 --seconds 5
# "name  from -> to  +percent", or "name  from stays": nothing else is a result.
why=$(says 'two nodes, round trip')
for n in eager-net run ack stream; do
	why+=$(says "^  $n +[0-9]+ (stays|-> [0-9]+ +\+[0-9.]+ %)")
done
verdict "says of each number what it changed" "$why$(says "kept in $STORE")"
why=''
for mode in mpi suci; do
	grep -q "^entry driver=udp .*mode=$mode .* mtu=1500 .*ack=" "$STORE" || why+=" no row of $mode"
done
verdict "the rows are those of this network" "$why"

sed -i 's/eager-net=[0-9]*/eager-net=57344/; s/ run=[0-9]*/ run=12/; s/ ack=[0-9]*/ ack=16/' "$STORE"
tuned used 2 --show
verdict "both nodes use them" "$(says 'LIBMPI_EAGER=57344 LIBMPI_RUN=12 LIBMPI_ACK=16'
	[ "$(grep -c 'holds here' "$log")" = 2 ] || echo "not both rows hold: $(cat "$log")")"

# Two ranks on each node: what they find goes into the row of the network, beside what is there.
tuned grouped 4 --seconds 5
why=''
for n in bcast-piece alltoall-piece; do
	why+=$(says "^  $n +[0-9]+ (stays|-> [0-9]+ +\+[0-9.]+ %)")
done
row=$(grep 'mode=mpi' "$STORE")
grep -q 'eager-net=57344 stream=[0-9]* bcast-piece=[0-9]* alltoall-piece=[0-9]*' <<<"${row/ ack=16/}" ||
	why+=" the row: $row"
verdict "four ranks measure the pieces of long collectives" "$why$(says 'two ranks on each of two nodes')"

# Each node with a store of its own, whose pieces are others; a node without one.
cat >"$TB_DIR/own-store" <<-'SH'
	#!/bin/sh
	XDG_CACHE_HOME=$1-$((PMIX_RANK % 2)); shift
	export XDG_CACHE_HOME
	exec "$@"
SH
chmod +x "$TB_DIR/own-store"
# pieces NODE BCAST ALLTOALL: that store
pieces() {
	mkdir -p -m 700 "$TB_DIR/cache-$1/mpitune"
	(umask 077; sed "s/bcast-piece=[0-9]*/bcast-piece=$2/; s/alltoall-piece=[0-9]*/alltoall-piece=$3/" \
		"$STORE" >"$TB_DIR/cache-$1/mpitune/store")
}
# agreed NAME BCAST ALLTOALL: all four ranks have these, and the results are right
agreed() {
	run_nodes "$1" 4 "$TB_DIR/own-store" "$TB_DIR/cache" "$PWD/$B/test/mpi/cuts" "$2" "$3"
	verdict "$1" "$(says 'ok,')"
}
pieces 0 65536 32768
pieces 1 131072 1048576
agreed "different stores: rank 0's pieces" 65536 32768
rm -r "$TB_DIR/cache-1"
agreed "no store beside rank 0's" 65536 32768
mv "$TB_DIR/cache-0" "$TB_DIR/cache-1"
agreed "no store of rank 0: nothing is cut" 0 0

for n in a0 a1; do "$TB_DIR/in" $n ip link set eth0 mtu 1400; done
tuned other 2 --show
verdict "in another network they are not" "$(says 'LIBMPI_EAGER=65536 LIBMPI_RUN=30 LIBMPI_ACK=32 LIBMPI_STREAM=65536'
	says "another machine's, or before something changed")"
exit $rc
