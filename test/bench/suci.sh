#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-suci`: Suci on the kernel driver against kernel TCP, ENet, UDT and SRT, in the
# same two namespaces (one veth, offloads off), in one run, in short turns (duel/turns.py):
# ping-pong and one-way bulk, CPU time beside each; then blocks of up to 1 GB.
#
#   SESSIONS (3)      times that all open their connections, by new processes
#   ROUNDS (20)       of a session: a turn of each; ratios are taken in the round, medians printed
#   TURN_MS (15)      of a turn
#   PIN ("0 1")       cores of the clients and of the servers; empty: where the scheduler likes
#   PING ("8 1024 65536")  BULK ("65536 1048576")  sizes; SEALED ("ping:1024 bulk:1024
#                     bulk:65536"): with and without sealing; empty: none of these rows
#   MTUS ("1500 9000")  PEERS ("suci suci+xdp tcp enet udt srt"); suci+xdp is Suci that receives
#                     through AF_XDP, as its users do that ask for it; at an MTU of 1500 only
#   LADDER ("65536 1048576 16777216 268435456 1073741824"; empty: none)
#   LADDER_TURNS (16)  of neighbouring sizes, LADDER_MS (30) or a block a turn
#   RT=1              all ends at real-time priority: on a machine that does other things
#
# The packages of the others are installed if missing (root); who cannot be had is left out.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
MTUS=${MTUS:-1500 9000}
PEERS=${PEERS:-suci suci+xdp tcp enet udt srt}
LADDER=${LADDER-65536 1048576 16777216 268435456 1073741824}
LADDER_TURNS=${LADDER_TURNS:-16}
LADDER_MS=${LADDER_MS:-30}
PING=${PING-8 1024 65536}
BULK=${BULK-65536 1048576}
SEALED=${SEALED-ping:1024 bulk:1024 bulk:65536} # with and without sealing
PIN=${PIN-0 1}
export PIN
out=build/bench
mkdir -p "$out" && rm -f "$out"/suci.json "$out"/raw-duel-* "$out"/raw-limits-*
. tools/testbed/lib.sh
# shellcheck source=test/bench/limits.sh
. test/bench/limits.sh

# duel_peers: those of PEERS that can be built, after installing what they need.
duel_peers() {
	local p q pkg got='' log=$out/suci-build.log
	: >"$log"
	for p in $PEERS; do
		case $p in
		enet) pkg=libenet-dev ;;
		udt) pkg="libudt-dev g++" ;;
		srt) pkg=libsrt-openssl-dev ;;
		*) pkg='' ;;
		esac
		for q in $pkg; do
			dpkg-query -W -f='${db:Status-Status}' "$q" 2>/dev/null | grep -qx installed ||
				DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$q" \
					>>"$log" 2>&1
		done
		if make "$B/test/duel-${p%%+*}" >>"$log" 2>&1; then
			got+=" $p"
		else
			echo "$p is left out, see $log" >&2
		fi
	done
	echo "$got"
}

# turns KIND MTU "CONTENDER..." "WHAT:BYTES..."
turns() {
	[ -n "$4" ] || return 0
	printf '  MTU %s, turns of%s\n' "$2" " $3" >&2
	test/bench/duel/turns.py "$out/raw-duel-$2-$1" "$TB_DIR/in" "$PWD/$B/test" "$2" "$3" "$4"
}

# ladder MTU: neighbouring sizes in turns over one connection, so that each is measured right beside
# the other, whatever the machine does meanwhile.
ladder() {
	local i n before='' args=() rt=() log=$TB_LOG/duel-ladder.log most
	[ -n "$LADDER" ] || return 0
	[ -z "${RT:-}" ] || rt=(chrt -f 10)
	for n in $LADDER; do
		for ((i = 0; i < LADDER_TURNS && ${#before} > 0; i++)); do
			args+=(bulk "$before" "$LADDER_MS" bulk "$n" "$LADDER_MS")
		done
		before=$n
	done
	# shellcheck disable=SC2086
	most=$(printf '%s\n' $LADDER | sort -n | tail -n 1)
	printf '  MTU %s, blocks up to %s bytes\n' "$1" "$most" >&2
	local end=("${rt[@]}" env DUEL_XDP=0 "$PWD/$B/test/duel-suci")
	rm -f "$log"
	testbed_spawn r duel-ladder ${PIN:+taskset -c "${PIN#* }"} "${end[@]}" server 192.0.2.2 7910 "$1" "$most"
	testbed_wait 10 "duel-suci" grep -q ready "$log" || return 1
	testbed_exec l timeout 240 ${PIN:+taskset -c "${PIN% *}"} "${end[@]}" client 192.0.2.2 7910 "$1" "$most" \
		"${args[@]}" >"$out/raw-duel-$1-ladder" || {
		testbed_die "blocks of different sizes at MTU $1 failed"
		tail -n 3 "$log" >&2
		return 1
	}
	testbed_stop duel-ladder 3 >/dev/null 2>&1
	return 0
}

peers=$(duel_peers)
measures=''
for n in $PING; do measures+=" ping:$n"; done
for n in $BULK; do measures+=" bulk:$n"; done
for mtu in $MTUS; do
	testbed_pair "$mtu" && testbed_pair_more "$mtu" 2 || exit 1
	these=''
	for p in $peers; do
		# A program on the interface of frames that long cannot be.
		[[ $p == *+xdp && $mtu -gt 3500 ]] || these+=" $p"
	done
	# shellcheck disable=SC2086
	bench_limits "$B" "$mtu" "$out/raw-limits-$mtu" $PING $BULK &&
		turns all "$mtu" "$these" "$measures" &&
		bench_limits "$B" "$mtu" "$out/raw-limits-$mtu" $PING $BULK &&
		turns seal "$mtu" "suci suci+seal" "$SEALED" && ladder "$mtu" || exit 1
	testbed_down
done
test/bench/report-suci.py "$out/suci.json" "$out" "$MTUS"
