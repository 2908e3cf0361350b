#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mpitune measures this machine and keeps what it found; libmpi uses it here, and nowhere else.
# timeout: 180
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
WORK=$(mktemp -d)
export XDG_CACHE_HOME=$WORK TMPDIR=$WORK
trap 'rm -rf "$WORK"' EXIT
STORE=$WORK/mpitune/store

# run SECONDS PROGRAM...: two ranks; all they say in $WORK/out
run() { timeout -k 5 120 "$B/bin/mpirun" -n 2 "$@" >"$WORK/out" 2>&1 </dev/null; }
# in_out TEXT: nothing, or that it is not there
in_out() { grep -qF -- "$1" "$WORK/out" || echo "no '$1' in: $(tail -5 "$WORK/out")"; }
# show: what holds for the node, and what for its network
show()
{
	run "$B/bin/mpitune" --show
	cp "$WORK/out" "$WORK/node"
	LIBMPI_TRANSPORT=udp run "$B/bin/mpitune" --show
	cat "$WORK/node" >>"$WORK/out"
}

run "$B/bin/mpitune" --dry-run --seconds 5 && [ ! -e "$STORE" ]
verdict "a dry run keeps nothing" "$([ $? -eq 0 ] || tail -5 "$WORK/out")"

why=$(run "$B/bin/mpitune" --seconds 5 || tail -5 "$WORK/out"; in_out "kept in $STORE")
for knob in eager-wide share piece; do why+=$(in_out "$knob"); done
[ "$(stat -c %a "$STORE" 2>&1)" = 600 ] || why+=" mode $(stat -c %a "$STORE" 2>&1)"
verdict "a node is measured and kept" "$why"

LIBMPI_TRANSPORT=udp run "$B/bin/mpitune" --seconds 5
why=$(in_out eager-net; in_out " run "; in_out " ack "; in_out " stream "; in_out kept)
[ "$(grep -c '^entry' "$STORE")" = 3 ] || why+=" $(grep -c '^entry' "$STORE") rows"
verdict "a network is measured and kept, for libsuci too" "$why"

# What the rows say is what a program gets.
sed -i 's/eager-[a-z]*=[0-9]* share=[0-9]* piece=[0-9]*/eager-node=12288 eager-wide=32768 share=49152 piece=32768/; s/eager-net=[0-9]*/eager-net=57344/; s/ run=[0-9]*/ run=12/' "$STORE"
show
verdict "libmpi uses it" "$(in_out 'LIBMPI_EAGER_NODE=32768 LIBMPI_SHARE=49152 LIBMPI_PIECE=32768'
	in_out 'LIBMPI_EAGER=57344 LIBMPI_RUN=12'
	[ "$(grep -c 'holds here' "$WORK/out")" = 4 ] || echo "not all rows hold: $(cat "$WORK/out")")"
run "$B/test/mpi/coll"
verdict "collectives with it" "$(in_out 'ok,')"
run "$B/test/mpi/p2p"
verdict "messages with it" "$(in_out 'ok,')"

NODE='LIBMPI_EAGER_NODE=40960 LIBMPI_SHARE=40960 LIBMPI_PIECE=default'
NET='LIBMPI_EAGER=65536 LIBMPI_RUN=30'
# The ring of two ranks is wide only where each has a processor.
[ "$(nproc)" -ge 2 ] || NODE=${NODE/NODE=40960/NODE=8192}
cp "$STORE" "$WORK/good"
# forged WHAT SED SAYS: the defaults, and what is said
forged() {
	sed "$2" "$WORK/good" >"$STORE"
	show
	verdict "$1" "$(in_out "$NODE"; in_out "$NET"; in_out "$3")"
}
forged "a store of another machine is not used" 's/ cpu=[^ ]*/ cpu=Another_CPU/' "another machine's"
forged "nor one of another kernel" 's/ kernel=[^ ]*/ kernel=2.4.0/' "another machine's"
forged "one whose copies took ten times as long is stale" 's/copy-ns=/&9/' "stale: copying 64 KiB takes"
forged "one whose system calls did, too" 's/call-ns=/&9/' "using the defaults"
forged "a value out of bounds is refused with its line" 's/share=49152/share=1/' \
	"line 2: share is no number from 16384 to 4194304"
forged "so is a cut file" '$s/entry/entr/' 'does not begin with "entry"'
# Right keys and figures, and values that no machine has as its best.
while read -r lie own; do
	sed "s/ ${lie%=*}=[0-9]*/ $lie/" "$WORK/good" >"$STORE"
	show
	verdict "$lie is not believed" "$(in_out "${!own}"; in_out "stale: $lie cannot be the best of a machine")"
done <<-END
	eager-wide=512 NODE
	piece=4096 NODE
	share=4194304 NODE
	eager-net=1024 NET
	ack=1 NET
END
cp "$WORK/good" "$STORE"
chmod 666 "$STORE"
show
verdict "a file that others may write is refused" "$(in_out "$NODE"; in_out "$NET"; in_out 'chmod it to 0600')"
run "$B/bin/mpitune" --seconds 5
verdict "and not written over" "$(in_out 'chmod it to 0600'; grep -q share=49152 "$STORE" || echo overwritten)"
rm "$STORE" && ln -s "$WORK/good" "$STORE"
show
verdict "nor is a symbolic link followed" "$(in_out "$NODE"; in_out "$NET"; in_out 'is a symbolic link')"

timeout 60 "$B/bin/mpirun" -n 3 "$B/bin/mpitune" >"$WORK/out" 2>&1
verdict "three ranks are told how to call it" "$(in_out 'it takes two ranks')"
timeout 60 "$B/bin/mpirun" -n 4 "$B/bin/mpitune" >"$WORK/out" 2>&1
verdict "so are four on one node" "$(in_out 'of four ranks two are on each of two nodes')"
exit $rc
