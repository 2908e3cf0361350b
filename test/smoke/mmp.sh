#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libmmp: installed and used from there; two nodes of two ranks, all to all with every byte
# checked, by the thread and inline, in a small area, without shared memory, under mpirun; a rank
# that is killed ends the waits of the others; a receiver that makes no call; mmp-perf.
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
CLUSTERS=a NODES=2 RELAYS=1
. tools/testbed/lib.sh
. test/run-lib
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mmp
ALL=$PWD/$B/examples/mmp-all PERF=$PWD/$B/bin/mmp-perf
W=$(mktemp -d)

# ---- what a user of the installed library does
installed() {
	local vars
	vars=$(setting_of "$B")
	eval make -s "$vars" PREFIX="$W/prefix" install-libmmp >"$W/log" 2>&1 ||
		fail "make install-libmmp: $(tail -3 "$W/log")"
	export PKG_CONFIG_PATH=$W/prefix/lib/pkgconfig
	for f in include/mmp.h lib/libmmp.so.1 share/man/man3/mmp.3 share/man/man1/mmp-perf.1; do
		[ -s "$W/prefix/$f" ] || fail "$f is not installed"
	done
	# shellcheck disable=SC2046
	echo '#include <mmp.h>' | c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only \
		$(pkg-config --cflags mmp) -x c++ - || fail "mmp.h is not C++"
	# shellcheck disable=SC2046
	cc -std=c17 -D_GNU_SOURCE -O2 $(pkg-config --cflags mmp) -o "$W/all" examples/mmp-all.c \
		$(pkg-config --libs mmp) || fail "the example does not compile"
	nm -D --defined-only "$W/prefix/lib/libmmp.so.1" | awk '$2 == "T" {print $3}' |
		grep -qv '^MP_' && fail "libmmp.so exports more than MP_*"
	"$W/all" - 3 1000 >"$W/log" 2>&1 || fail "alone: $(cat "$W/log")"
	pass "installed with mmp.pc and man pages"
}
case $B in
*-*) echo "SKIP $SCENARIO: a library with sanitizers is not linked like a user's" ;;
*) installed ;;
esac

# ---- two nodes of two ranks
testbed_up || fail "no testbed"
for n in a0 a1; do
	at=$("$TB_DIR/in" $n ip -4 -o addr show eth0 | awk '{sub("/.*", "", $4); print $4}')
	printf '%s 7801\n%s 7802\n' "$at" "$at"
done >"$W/hosts"

# ranks NAME=VALUE... -- PROGRAM ARG...: one each; their output in $W/out.
begin() {
	local env=() i
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	pids=()
	for i in 0 1 2 3; do
		env "${env[@]}" LIBMMP_RANK=$i timeout 200 "$TB_DIR/in" a$((i / 2)) "$@" >"$W/out$i" 2>&1 &
		pids+=($!)
	done
}
ranks() {
	begin "$@"
	local bad=0 i
	for i in 0 1 2 3; do wait "${pids[i]}" || bad=1; done
	return $bad
}
all() { # WHAT ROUNDS BYTES NAME=VALUE...
	local what=$1 rounds=$2 bytes=$3
	shift 3
	if ranks "$@" -- "$ALL" "${HOSTS:-$W/hosts}" "$rounds" "$bytes" &&
		[ "$(cat "$W"/out? | grep -c 'all bytes right')" = 4 ]; then
		pass "$what"
	else
		fail "$what: $(tail -n 3 "$W"/out?)"
	fi
}
for mode in thread inline; do
	all "all to all, $mode: short" 50 20 LIBMMP_PROGRESS=$mode
	all "all to all, $mode: 300 KB" 5 300000 LIBMMP_PROGRESS=$mode
	all "all to all, $mode: longer than the area" 1 20000000 LIBMMP_PROGRESS=$mode
done
all "all to all in an area of 64 KiB" 5 100000 LIBMMP_AREA=64K
all "all to all without shared memory" 5 100000 LIBMMP_SHM=0

# ---- by IPv6; a list of both kinds is refused
for i in 0 1; do
	testbed_exec a$i sysctl -qw net.ipv6.conf.{lo,eth0}.disable_ipv6=0 &&
		ip -n "$TB_ID-a$i" addr add "fd00:57a6::a$i/64" dev eth0 nodad || fail "no IPv6 in a$i"
	printf 'fd00:57a6::a%d 7801\nfd00:57a6::a%d 7802\n' $i $i
done >"$W/hosts6"
for mode in thread inline; do
	HOSTS=$W/hosts6 all "all to all by IPv6, $mode" 5 300000 LIBMMP_PROGRESS=$mode
done
# shellcheck disable=SC2015
ranks -- "$PERF" pingpong --hosts "$W/hosts6" --size 8,64K --seconds 0.05 && grep -qw 65536 "$W/out0" ||
	fail "mmp-perf by IPv6: $(cat "$W"/out?)"
pass "mmp-perf by IPv6"
{ head -2 "$W/hosts"; tail -2 "$W/hosts6"; } >"$W/both"
LIBMMP_RANK=0 "$TB_DIR/in" a0 "$ALL" "$W/both" 1 1 >"$W/log" 2>&1 && fail "hosts of both kinds are taken"
grep -q 'both:3: fd00:57a6::a1 and .* cannot talk: give all processes of a site addresses of one kind' "$W/log" ||
	fail "hosts of both kinds: $(cat "$W/log")"
pass "hosts of both kinds are refused"

# ---- a receiver that makes no call for as long as the data are not in its area
cat >"$W/busy.py" <<'EOP'
import ctypes, os, sys, time
lib, hosts, flag = sys.argv[1:]
mmp = ctypes.CDLL(lib)
for f in ("MP_send", "MP_receive", "MP_wait"):
    getattr(mmp, f).restype = ctypes.c_int64
mmp.MP_error.restype = ctypes.c_char_p
mmp.MP_wait.argtypes = [ctypes.c_int64, ctypes.c_void_p]
mmp.MP_test.argtypes = [ctypes.c_int64, ctypes.c_void_p]
def ok(x):
    assert x >= 0, mmp.MP_error().decode()
    return x
n = 4 << 20
ok(mmp.MP_init(hosts.encode()))
ok(mmp.MP_barrier())
if mmp.MP_rank() == 0:
    data, word, path = bytes(range(256)) * (n // 256), ctypes.create_string_buffer(4), (ctypes.c_uint64 * 32)()
    ok(mmp.MP_wait(ok(mmp.MP_send(1, data, ctypes.c_uint64(n))), None))
    answer = ok(mmp.MP_receive(1, word, ctypes.c_uint64(4)))
    while True:
        assert mmp.MP_test(answer, None) == 0
        ok(mmp.MP_path(1, path))
        if path[3] == 0:  # nothing of it is left in our half
            break
        time.sleep(0.01)
    open(flag, "w").close()
    ok(mmp.MP_wait(answer, None))
else:
    while not os.path.exists(flag):
        time.sleep(0.01)
    data = ctypes.create_string_buffer(n)
    ok(mmp.MP_wait(ok(mmp.MP_receive(0, data, ctypes.c_uint64(n))), None))
    assert data.raw == bytes(range(256)) * (n // 256)
    ok(mmp.MP_wait(ok(mmp.MP_send(0, data, ctypes.c_uint64(4))), None))
ok(mmp.MP_finalize())
EOP
sed -n '1p;3p' "$W/hosts" >"$W/hosts2"
busy() {
	local i rc=0 pid=()
	for i in 0 1; do
		LIBMMP_PROGRESS=thread LIBMMP_RANK=$i timeout 120 "$TB_DIR/in" a$i python3 "$W/busy.py" \
			"$PWD/$B/lib/libmmp.so.1" "$W/hosts2" "$W/flag" >"$W/out$i" 2>&1 &
		pid+=($!)
	done
	for i in 0 1; do wait "${pid[i]}" || rc=1; done
	return $rc
}
case $B in
*-*) ;; # python has no sanitizer
*)
	if busy; then
		pass "a receiver that makes no call gets 4 MiB into its area"
	else
		fail "a receiver that makes no call: $(cat "$W"/out[01])"
	fi
	;;
esac

# ---- who calls is there before the one it calls: nobody is at that address yet
late() {
	local early rc
	LIBMMP_START_S=20 LIBMMP_RANK=1 timeout 60 "$TB_DIR/in" a1 "$ALL" "$W/hosts2" 1 100 >"$W/out1" 2>&1 &
	early=$!
	sleep 0.5
	LIBMMP_START_S=20 LIBMMP_RANK=0 timeout 60 "$TB_DIR/in" a0 "$ALL" "$W/hosts2" 1 100 >"$W/out0" 2>&1
	rc=$?
	wait "$early" && [ $rc = 0 ]
}
if late; then
	pass "a rank that starts late is met"
else
	fail "a rank that starts late: $(cat "$W"/out[01])"
fi

# ---- sealed between the nodes; who has no key, or another, is not met
umask 077
for k in 1 2; do
	printf '1 %s\n' "$(head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n')" >"$W/key$k"
done
for mode in thread inline; do
	all "all to all, sealed, $mode" 3 300000 LIBMMP_PROGRESS=$mode LIBMMP_KEY_FILE="$W/key1"
done
for other in '' "$W/key2"; do
	LIBMMP_START_S=2 LIBMMP_KEY_FILE="$W/key1" LIBMMP_RANK=0 timeout 60 "$TB_DIR/in" a0 "$ALL" "$W/hosts2" 1 100 >"$W/out0" 2>&1 &
	early=$!
	LIBMMP_START_S=2 LIBMMP_KEY_FILE="$other" LIBMMP_RANK=1 timeout 60 "$TB_DIR/in" a1 "$ALL" "$W/hosts2" 1 100 >"$W/out1" 2>&1 &&
		fail "${other:-no key} is as good as the key"
	wait "$early" && fail "${other:-no key} is met"
done
LIBMMP_KEY_FILE=$W/none LIBMMP_RANK=0 "$TB_DIR/in" a0 "$ALL" "$W/hosts2" 1 1 >"$W/log" 2>&1 && fail "a key file that is not there is taken"
grep -q "LIBMMP_KEY_FILE=$W/none: " "$W/log" || fail "no key file: $(cat "$W/log")"
pass "without the key a rank is not met"

# ---- NPB kernels between two nodes: the hosts file says who is in the job
npb() { # STATUS VERDICT VARIANT KERNEL NAME=VALUE...
	local want=$1 says=$2 kernel=$3/$4 i rc pid=()
	shift 4
	for i in 0 1; do
		env "$@" NPB_HOSTS="$W/hosts2" LIBMMP_RANK=$i timeout 60 "$TB_DIR/in" a$i \
			"$PWD/$B/examples/$kernel" S >"$W/out$i" 2>&1 &
		pid+=($!)
	done
	for i in 0 1; do
		wait "${pid[i]}"
		rc=$?
		[ $rc = "$want" ] || { fail "$kernel, $*: rank $i ends with $rc: $(tail -n 3 "$W"/out[01])"; return; }
	done
	if grep -q "^ Verification *= *$says\$" "$W/out0"; then
		pass "$kernel between two nodes, $*: $says"
	else
		fail "$kernel, $*: $(cat "$W/out0")"
	fi
}
for kernel in is cg ep ft mg; do
	npb 0 SUCCESSFUL npb-mmp $kernel LIBMMP_PROGRESS=inline
	npb 0 SUCCESSFUL npb-mmp $kernel LIBMMP_PROGRESS=thread
	npb 1 UNSUCCESSFUL npb-mmp-planted $kernel LIBMMP_PROGRESS=inline
done

# ---- a rank that is killed
for case in "thread hosts (.*)" "inline hosts (.*)" 'inline hosts6 (\[fd00:57a6::a0\]:7802)'; do
	read -r mode hosts where <<<"$case"
	begin LIBMMP_PROGRESS="$mode" -- "$ALL" "$W/$hosts" 1000000 5000
	testbed_wait 60 "rank 1" pgrep -P "${pids[1]}" mmp-all
	sleep 1
	victim=$(pgrep -P "${pids[1]}" mmp-all)
	kill -9 "$victim"
	for i in 0 2 3; do
		wait "${pids[i]}"
		[ $? = 2 ] || fail "killed, $mode, $hosts: rank $i did not end with an error: $(cat "$W/out$i")"
	done
	wait "${pids[1]}"
	grep -qh "rank 1 $where " "$W/out0" "$W/out2" "$W/out3" ||
		fail "killed, $mode, $hosts: nobody says who: $(cat "$W"/out?)"
	pass "a killed rank ends the waits of all others, $mode, $hosts"
done

# ---- wrong words
LIBMMP_RANK=9 "$ALL" "$W/hosts" 1 1 >"$W/log" 2>&1 && fail "a wrong rank is taken"
grep -q 'LIBMMP_RANK=9 is not a number from 0 to 3' "$W/log" || fail "wrong rank: $(cat "$W/log")"
echo '10.0.0.1' >"$W/bad"
LIBMMP_RANK=0 "$ALL" "$W/bad" 1 1 >"$W/log" 2>&1 && fail "a line without a port is taken"
grep -q "bad:1: " "$W/log" || fail "wrong line: $(cat "$W/log")"
LIBMMP_START_S=1 LIBMMP_RANK=1 "$TB_DIR/in" a0 "$ALL" "$W/hosts" 1 1 >"$W/log" 2>&1 &&
	fail "it starts without the others"
grep -q '3 of 4 processes are not there after 1 s' "$W/log" || fail "alone: $(cat "$W/log")"
pass "clear words for a wrong rank, a wrong file, missing processes"

# ---- the launcher
if [ -x "$B/bin/mpirun" ]; then
	# shellcheck disable=SC2015
	timeout 200 "$B/bin/mpirun" -np 3 "$ALL" - 10 50000 >"$W/log" 2>&1 &&
		[ "$(grep -c 'of 3: 10 rounds of 50000 bytes, all bytes right' "$W/log")" = 3 ] ||
		fail "under mpirun: $(cat "$W/log")"
	pass "under mpirun"
fi

# ---- mmp-perf
for mode in pingpong burst overlap; do
	# shellcheck disable=SC2015
	timeout 200 "$PERF" $mode --local --size 0,4K,1M --seconds 0.05 --json "$W/json" >"$W/log" 2>&1 &&
		python3 -c "
import json, sys
r = json.load(open('$W/json'))
assert r['mode'] == '$mode' and [x['size'] for x in r['results']] == [0, 4096, 1048576], r" ||
		fail "mmp-perf $mode: $(cat "$W/log" "$W/json")"
done
# shellcheck disable=SC2015
timeout 200 "$PERF" sweep --local --size 256K --seconds 0.01 --json "$W/json" >"$W/log" 2>&1 &&
	python3 -c "
import json
r = json.load(open('$W/json'))['results']
rates = {x['fragment']: x['mb_per_s'] for x in r if 'fragment' in x}
assert len(rates) > 20 and r[-1]['best_mb_per_s'] == max(rates.values()) == rates[r[-1]['best_fragment']], r" ||
	fail "mmp-perf sweep: $(cat "$W/log" "$W/json")"
pass "mmp-perf in all modes, as JSON"

testbed_down
rm -rf "$W"
exit $rc
