# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the benches print beside their rows; sourced after tools/testbed/lib.sh.

# bench_limits BUILD WHERE OUT SIZES...: a line of the machine's own limits (limits.c) more in OUT.
# WHERE shm: UDP over loopback, else between the nodes of the pair.  Where there is one CPU: none.
bench_limits() {
	local b=$1 where=$2 out=$3 ends=(- - - -)
	shift 3
	(($(nproc) > 1)) || return 0
	[ "$where" = shm ] || ends=("$TB_ID-l" 192.0.2.1 "$TB_ID-r" 192.0.2.2)
	"$b/test/limits" 0 1 "${ends[@]}" "$@" >>"$out" || testbed_die "the machine's limits: see above"
}
