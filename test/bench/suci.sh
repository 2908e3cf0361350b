#!/usr/bin/env bash
# `make bench-suci`: Suci on the kernel driver against kernel TCP, ENet, UDT and SRT, in the
# same two namespaces (one veth, offloads off), in one run, taking turns: ping-pong and
# one-way bulk, CPU time beside each; then blocks of up to 1 GB.
#
#   ROUNDS (5)        turns of each; ratios are taken turn by turn, medians printed
#   BUDGET_MS (120)   of a measurement
#   PING ("8 1024 65536")  BULK ("65536 1048576")  sizes; SEALED ("ping:1024 bulk:1024
#                     bulk:65536"): with and without sealing; empty: none of these rows
#   MTUS ("1500 9000")  PEERS ("suci sucixdp tcp enet udt srt"); sucixdp is Suci that receives
#                     through AF_XDP where it can, as its users do that ask for it
#   LADDER ("65536 1048576 16777216 268435456 1073741824"; empty: none)
#   LADDER_TURNS (3)  up and down
#   RT=1              all ends at real-time priority: on a machine that does other things
#
# The packages of the others are installed if missing (root); who cannot be had is left out.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
ROUNDS=${ROUNDS:-5}
BUDGET_MS=${BUDGET_MS:-120}
MTUS=${MTUS:-1500 9000}
PEERS=${PEERS:-suci sucixdp tcp enet udt srt}
LADDER=${LADDER-65536 1048576 16777216 268435456 1073741824}
LADDER_TURNS=${LADDER_TURNS:-3}
PING=${PING-8 1024 65536}
BULK=${BULK-65536 1048576}
SEALED=${SEALED-ping:1024 bulk:1024 bulk:65536} # with and without sealing
export DUEL_SEAL=''
rt=()
[ -z "${RT:-}" ] || rt=(chrt -f 10)
out=build/bench
mkdir -p "$out" && rm -f "$out"/suci.json "$out"/raw-duel-*
. tools/testbed/lib.sh

# duel_peers: those of PEERS that can be built, after installing what they need.
duel_peers() {
	local p pkg got='' log=$out/suci-build.log
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
		if make "$B/test/duel-${p%xdp}" >>"$log" 2>&1; then
			got+=" $p"
		else
			echo "$p is left out, see $log" >&2
		fi
	done
	echo "$got"
}

# duel PEER MTU MOST JSON WHAT BYTES BUDGET_MS ...: one connection.
duel() {
	local p=$1 mtu=$2 most=$3 json=$4
	local end=("${rt[@]}" env "DUEL_XDP=$([[ $p == *xdp ]] && echo 1 || echo 0)" "$PWD/$B/test/duel-${p%xdp}")
	shift 4
	# What the server before said is not this one's word.
	rm -f "$TB_LOG/duel-$p.log"
	testbed_spawn r "duel-$p" "${end[@]}" server 192.0.2.2 "$mtu" "$most"
	testbed_wait 10 "duel-$p" grep -q ready "$TB_LOG/duel-$p.log" || return 1
	testbed_exec l timeout 120 "${end[@]}" client 192.0.2.2 "$mtu" "$most" \
		"$@" >"$json" || {
		testbed_die "duel-$p $* failed"
		tail -n 3 "$TB_LOG/duel-$p.log" >&2
		return 1
	}
	testbed_stop "duel-$p" 3 >/dev/null 2>&1
	return 0
}

peers=$(duel_peers)
args=()
for n in $PING; do args+=(ping "$n" "$BUDGET_MS"); done
for n in $BULK; do args+=(bulk "$n" "$BUDGET_MS"); done
for mtu in $MTUS; do
	testbed_pair "$mtu" || exit 1
	for ((i = 1; i <= ROUNDS; i++)); do
		printf '  MTU %s, round %d of %d\n' "$mtu" "$i" "$ROUNDS" >&2
		for p in $peers; do
			duel "$p" "$mtu" 1048576 "$out/raw-duel-$mtu-$p-$i" "${args[@]}" || exit 1
		done
	done
	for ((i = 1; i <= ROUNDS && ${#SEALED}; i++)); do
		printf '  MTU %s, sealed, round %d of %d\n' "$mtu" "$i" "$ROUNDS" >&2
		args1k=()
		for s in $SEALED; do args1k+=("${s%:*}" "${s#*:}" "$BUDGET_MS"); done
		duel suci "$mtu" 1048576 "$out/raw-duel-$mtu-plain-$i" "${args1k[@]}" &&
			DUEL_SEAL=1 duel suci "$mtu" 1048576 "$out/raw-duel-$mtu-sealed-$i" \
				"${args1k[@]}" || exit 1
	done
	# Up and down again over one connection: every size is measured right before and after
	# its neighbours, whatever the machine does meanwhile.
	ladder=()
	for ((i = 0; i < LADDER_TURNS; i++)); do
		for n in $LADDER; do ladder+=(bulk "$n" $((BUDGET_MS * 2))); done
		# shellcheck disable=SC2086
		for n in $(printf '%s\n' $LADDER | tac); do ladder+=(bulk "$n" $((BUDGET_MS * 2))); done
	done
	if ((${#ladder[@]})); then
		printf '  MTU %s, blocks up to 1 GB\n' "$mtu" >&2
		duel suci "$mtu" 1073741824 "$out/raw-duel-$mtu-ladder" "${ladder[@]}" || exit 1
	fi
	testbed_down
done
# shellcheck disable=SC2086
test/bench/report-suci.py "$out/suci.json" "$out" "$MTUS" $peers
