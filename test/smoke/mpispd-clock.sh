#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A node whose clock begins to run 1.4 times as fast: the master names it and puts it down.  Where
# the clock is the master's own, its daemon says so and ends.  A spare takes each of its ranks over
# and all sums stay right.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpispd-clock
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT
tell_logs() { tail -n 12 "$SPD"/n*.log; }
SPD_MORE=', "detect": { "beat_ms": 100, "missed": 8 }' SPD_SPARES=5

spd_up 3 || fail "no namespaces"
# Twelve seconds: the clock has three windows of two to be found out in.
spd_conf "$B/examples/takeover" 1200 10
# The clock of a daemon, from the moment at which $SPD_FAST is there.
${CC:-cc} -shared -fPIC -D_GNU_SOURCE -o "$SPD/fast.so" -x c - <<'END' || fail "no compiler"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	static __thread unsigned calls;
	static long long from;
	int rc = (int)syscall(SYS_clock_gettime, id, t);
	long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
	const char *file = getenv("SPD_FAST");
	if (rc || id != CLOCK_MONOTONIC || !file || strcmp(program_invocation_short_name, "mpispd"))
		return rc;
	if (!from && calls++ % 16 == 0 && access(file, F_OK) == 0)
		from = ns;
	if (from)
		ns += (ns - from) / 10 * 4;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}
END
ranks() { [ "$(grep -h '^takeover: rank [0-9]* is' "$SPD"/n*.log | wc -l)" -ge "$1" ]; }
over() { for n in "$@"; do ! spd_alive "$n" || return 1; done; }
status() { "$B/bin/mpispctl" -s "$SPD/$1.sock" status; }
master() { status n1 | sed -n 's/^\(n[0-9]\), master.*/\1/p'; }
mastered() { [ -n "$(master)" ]; }

for which in other master; do
	for n in n0 n1 n2; do
		: >"$SPD/$n.log"
		ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 SPD_FAST=$SPD/fast.$which.$n \
			LD_PRELOAD=$SPD/fast.so spd_daemon $n --new
	done
	spd_wait "four ranks" ranks 4 && spd_wait "a master" mastered || fail "the ranks do not start"
	m=$(master)
	victim=$m said="the clock of this node is 2[0-9][0-9] thousandths off" # of its own seconds
	if [ $which = other ]; then
		victim=$([ "$m" = n2 ] && echo n1 || echo n2)
		said="the clock of unit $victim is [34][0-9][0-9] thousandths off"
	fi
	n=$(grep -hc '^takeover: rank [0-9]* is' "$SPD/$victim.log")
	touch "$SPD/fast.$which.$victim"
	spd_wait "the clock of $victim" grep -q "$said" "$SPD/$m.log" ||
		fail "$m does not say that the clock of $victim is wrong"
	spd_wait "$n new ranks" ranks $((4 + n)) || fail "nobody takes over for $victim ($which)"
	grep -h "$said" "$SPD/$m.log"
	spd_wait "the end" over n0 n1 n2 || fail "it does not end"
	why=$(grep -hq '^takeover: 1200 steps are right' "$SPD"/n*.log || [ "$victim" = n0 ] || echo "no result")
	[ $which = other ] || [ "$(grep -h 'the clock of unit' "$SPD"/n*.log)" = '' ] ||
		why+=" others were named, too"
	verdict "a clock that is too fast: $which" "$why"
done
exit $rc
