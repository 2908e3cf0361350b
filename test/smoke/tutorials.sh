#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The lines of doc/tutorials, as a reader copies them, and what they say they show.
# ipv6: no, because it plays a page of documents, which has IPv4 alone
# timeout: 180
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root tutorials
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
B=$(realpath "$B") top=$PWD
run=tu$$
work=$(mktemp -d) || exit 2
player=
tell_logs() { tail -n 12 "$work"/*.log; }
on_exit()
{
	[ -z "$player" ] || kill -TERM -- "-$player" 2>/dev/null
	wait
	ip netns del $run-relay 2>/dev/null
	rm -rf "$work" /run/relayd/$run* /var/run/dpdk/$run*
}
trap on_exit EXIT
trap 'exit 130' INT TERM

# The tree of the reader, which has been built.
mkdir "$work/build"
ln -s "$B" "$work/build/gcc"
ln -s "$top/tools" "$work/tools"

# lines NAME: what is to be typed; a relay, its files and its namespace are called by this run.
lines() { awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "doc/tutorials/$1.md" |
	sed "s/lab-relay/$run-relay/g; s/\"lab\"/\"$run\"/g; s/\"lab-gen\"/\"$run-gen\"/g; s/-s lab /-s $run /g"; }
# play NAME: a failed line ends it.
play()
{
	lines "$1" >"$work/$1.sh"
	(cd "$work" && exec setsid bash -eu "$work/$1.sh") >"$work/$1.log" 2>&1 </dev/null &
	player=$!
	wait $player
	local status=$?
	player=
	return $status
}
# shows NAME PATTERN...: lines of what was printed.
shows()
{
	local name=$1 p why=
	play "$name" || why="it ends with status $?; "
	shift
	for p in "$@"; do grep -qE -- "$p" "$work/$name.log" || why+="it does not show '$p'; "; done
	verdict "tutorial $name" "$why"
}

shows first-job '^4 ranks: the sum is 6$' '^2 ranks: the sum is 1$' 'nosuch' '^status [1-9]' 'LIBMPI_TRANSPORT'
shows first-pipeline 'rank 1 of filter: process .* takes over' '900 frames, 0 lost, 0 twice, 0 out of order' \
	'all frames are committed' '^same$'
shows first-scenario 'latency' '1 passed, 0 failed'
why=
[ "$(grep -c '^1 passed, 0 failed$' "$work/first-scenario.log")" = 2 ] || why+="not both scenarios passed; "
[ -s "$work/build/first-scenario/mine.html" ] || why+="there is no page; "
verdict "the scenario of one's own" "$why"
exit $rc
