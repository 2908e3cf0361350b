#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clusters that go on: three nodes with mpispd, a program of four ranks and two spares.  A rank is
# killed, a node, the master's node; each time a spare takes over, and every sum stays right.
# timeout: 170
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpispd
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT
tell_logs() { tail -n 12 "$SPD"/n*.log; }
# Slow beats: processors are shared with other scenarios, and who gets none for long is dead.
SPD_MORE=', "detect": { "beat_ms": 100, "missed": 8 }'

spd_up 3 || fail "no namespaces"
spd_conf "$B/examples/takeover" 400 10

# ---- what cannot work ----
"$B/bin/mpispd" --check "$SPD/conf.json" >"$SPD/check" || fail "--check: $(cat "$SPD/check")"
sed 's/"compute": 4/"compute": 4000/' "$SPD/conf.json" >"$SPD/bad.json"
verdict "--check names a table that is too small" \
	"$("$B/bin/mpispd" --check "$SPD/bad.json" 2>&1 | grep -q 'clusters.steps: 4002 processes.*slots_max is 1024' || echo "it does not")"

# Files that are in the way are not the daemon's to change: of a universe of one unit.
cat >"$SPD/alone.json" <<END
{ "universe": { "name": "alone", "psk_file": "$SPD/key", "state": "$SPD/own" },
  "units": { "n0": "10.99.0.1:7999" },
  "clusters": { "alone": { "units": [ "n0" ], "program": [ "/bin/true" ], "compute": 1, "spares": 0 } } }
END
# alone SOCKET PATTERN: a daemon of it does not begin, says why, and leaves the file alone.
alone() {
	local said
	said=$(timeout 60 ip netns exec "$(spd_ns n0)" "$B/bin/mpispd" --unit n0 --socket "$1" "$SPD/alone.json" 2>&1 </dev/null)
	[ $? -eq 1 ] && grep -q "$2" <<<"$said" && [ "$(cat "$SPD/kept")" = kept ] || echo "$said"
}
echo kept >"$SPD/kept"
verdict "a file in the control socket's place stays" "$(alone "$SPD/kept" 'is no socket, and stays')"
mkdir "$SPD/own" && ln -s "$SPD/kept" "$SPD/own/alone.n0.life.new" && ln -s "$SPD/kept" "$SPD/own/alone.n0.journal"
verdict "no link is followed out of the folder of journals" "$(alone "$SPD/own.sock" 'the journal in .*symbolic links')"
rm "$SPD/own/alone.n0.journal" && touch "$SPD/own/alone.n0.journal" && chown daemon "$SPD/own/alone.n0.journal"
verdict "a journal of somebody else is not read" "$(alone "$SPD/own.sock" 'the journal in .*not permitted')"

# Two nodes with two keys do not hear each other, and say what that may be.
(umask 077 && echo "1 $(printf '6%.0s' {1..64})" >"$SPD/key.n1" && cp "$SPD/key" "$SPD/key.n0")
for n in n0 n1; do
	cat >"$SPD/$n.json" <<END
{ "universe": { "name": "keys", "psk_file": "$SPD/key.$n", "state": "$SPD/keys", "start_timeout_s": 2 },
  "units": { "n0": "10.99.0.1:7998", "n1": "10.99.0.2:7998" },
  "clusters": { "keys": { "units": [ "n0", "n1" ], "program": [ "/bin/true" ], "compute": 2 } } }
END
	timeout 60 ip netns exec "$(spd_ns $n)" "$B/bin/mpispd" --unit $n --socket "$SPD/$n.keys" "$SPD/$n.json" \
		>"$SPD/$n.said" 2>&1 </dev/null &
	keys[${n#n}]=$!
done
wait "${keys[0]}" "${keys[1]}"
verdict "a node with another key is named" \
	"$(grep -q 'these units are not up: n1 .*with the same key' "$SPD/n0.said" || cat "$SPD"/n?.said)"
chmod 644 "$SPD/key.n1"
verdict "--check notes a key that cannot be used" \
	"$("$B/bin/mpispd" --check "$SPD/n1.json" | grep -q 'note: universe.psk_file: .*no daemon begins here' || "$B/bin/mpispd" --check "$SPD/n1.json")"

# ---- deaths ----
# The disk of n1, while $SPD/slow is there: each write takes longer than a node may be silent.
${CC:-cc} -shared -fPIC -o "$SPD/slow.so" -x c - <<'END' || fail "no compiler"
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <stdlib.h>
int fdatasync(int fd)
{
	FILE *f;
	if (access(getenv("SPD_SLOW"), F_OK) == 0) {
		sleep(2);
		if ((f = fopen(getenv("SPD_SLEPT"), "a")))
			fclose(f);
	}
	return (int)syscall(SYS_fdatasync, fd);
}
END
ranks() { [ "$(grep -h '^takeover: rank [0-9]* is' "$SPD"/n*.log | wc -l)" -ge "$1" ]; }
over() { for n in "$@"; do ! spd_alive "$n" || return 1; done; }
status() { "$B/bin/mpispctl" -s "$SPD/$1.sock" status; }

for n in n0 n1 n2; do
	: >"$SPD/$n.log"
	if [ $n = n1 ]; then
		ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 SPD_SLOW=$SPD/slow SPD_SLEPT=$SPD/slept \
			LD_PRELOAD=$SPD/slow.so spd_daemon $n --new
	else
		spd_daemon $n --new
	fi
done
spd_wait "four ranks" ranks 4 || fail "the ranks do not start"
verdict "a second daemon does not take the control socket" "$(alone "$SPD/n0.sock" 'answers there already')"
verdict "mpispctl shows the tree" "$(status n0 | grep -q 'rank 0 of steps  (pid' || status n0 2>&1)"
# Somebody without the key, at a unit's own address and at another one: nothing moves, little is said.
# All sums are looked at below.
ip -n "$(spd_ns n2)" addr add 10.99.0.77/24 dev eth0
lines=$(wc -l <"$SPD/n0.log")
ip netns exec "$(spd_ns n2)" python3 - <<'PY'
import random, socket
random.seed(1)
for source in ("10.99.0.3", "10.99.0.77"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((source, 0))
    for i in range(4000):
        body = bytes([0x10 | i & 15]) + random.randbytes(random.randrange(1400))
        s.sendto(body, ("10.99.0.1", 7820))
PY
lines=$(($(wc -l <"$SPD/n0.log") - lines))
verdict "8000 datagrams without the key change nothing" "$(spd_alive n0 && [ $lines -lt 100 ] || echo "$lines lines in the log")"
before=$(date +%s%N)
touch "$SPD/slow"
kill -9 "$(spd_rank_pid 2)"
spd_wait "a new rank 2" ranks 5 || fail "nobody takes rank 2 over"
echo "rank 2 killed; its spare says so $((($(date +%s%N) - before) / 1000000)) ms later, as seen from here"
verdict "a spare takes a killed rank over" "$(grep -hq '^takeover: rank 2 is process [0-9]*, a new one' "$SPD"/n*.log || echo no)"
verdict "a node whose disk is slow is not dead" "$(spd_wait "a slow write" test -e "$SPD/slept"
	grep -h 'unit .* is down' "$SPD"/n*.log)"
rm -f "$SPD/slow"

spd_wait "the cluster's end" over n0 n1 n2 || fail "it does not end"
verdict "all sums are right" "$(grep -hq '^takeover: 400 steps are right; [1-9]' "$SPD"/n*.log || echo no)"
grep -h '^takeover: 400 steps' "$SPD"/n*.log
for n in n0 n1 n2; do
	wait "$(spd_pid $n)" || verdict "the daemon of $n ends well" "status $?"
done

# ---- a node: not the master's, then the master's ----
node_dies() { # NODE
	for p in $(ip netns pids "$(spd_ns "$1")"); do { kill -9 "$p" && wait "$p"; } 2>/dev/null; done
}
master() { status n1 | sed -n 's/^\(n[0-9]\), master.*/\1/p'; }
mastered() { [ -n "$(master)" ]; }
for which in other master; do
	spd_start
	spd_wait "four ranks" ranks 4 && spd_wait "a master" mastered || fail "the ranks do not start again"
	m=$(master)
	victim=$m
	[ $which = master ] || victim=$([ "$m" = n2 ] && echo n1 || echo n2)
	n=$(grep -hc '^takeover: rank [0-9]* is' "$SPD/$victim.log")
	node_dies "$victim"
	spd_wait "$n new ranks" ranks $((4 + n)) || fail "nobody takes over for $victim ($which)"
	left=()
	for k in n0 n1 n2; do [ $k = "$victim" ] || left+=($k); done
	spd_wait "the end without $victim" over "${left[@]}" || fail "it does not end without $victim ($which)"
	verdict "a node dies: $which" "$(grep -hq '^takeover: 400 steps are right' "$SPD"/n*.log ||
		[ "$victim" = n0 ] || echo "no result")"
done

# ---- a daemon that comes back, a unit that is emptied, the end by an operator ----
spd_conf "$B/examples/takeover" 1000000 10
spd_start
spd_wait "four ranks" ranks 4 && spd_wait "a master" mastered || fail "the ranks do not start once more"
# Out of descriptors: who asks waits, the daemon does not turn meanwhile, and answers when it has some.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
daemon=$(spd_pid n0)
limit=$(prlimit --pid "$daemon" --nofile --noheadings --output SOFT)
prlimit --pid "$daemon" --nofile=20: # less than it polls, and than it has with all clients
python3 -c 'import socket, sys, time
all = [socket.socket(socket.AF_UNIX) for i in range(36)]
for s in all: s.setblocking(False)
while True:
    for s in all: s.connect_ex(sys.argv[1])
    time.sleep(0.1)' "$SPD/n0.sock" &
knocks=$!
spd_wait "a pause" grep -q 'Too many open files; the control socket pauses' "$SPD/n0.log"
used=$(ticks "$daemon") since=$(date +%s%N)
sleep 1
used=$(($(ticks "$daemon") - used)) since=$((($(date +%s%N) - since) / 10000000))
prlimit --pid "$daemon" --nofile="${limit// /}":
{ kill $knocks && wait $knocks; } 2>/dev/null
answers() { status n0 | grep -q 'rank 0.*(pid'; }
verdict "the control socket waits for descriptors" "$(spd_wait "an answer" answers
	[ $((2 * used)) -lt $since ] || echo "the daemon took $used ticks of $since")"
# What was counted: all that the page of reference lists, and no more of it.
verdict "mpispctl counters tells what is counted, by the names of the documents" "$(
	"$B/bin/mpispctl" -s "$SPD/n0.sock" --json counters >"$SPD/counters" && python3 - "$SPD/counters" <<-'PY'
		import json, re, sys
		got = json.load(open(sys.argv[1]))['counters']
		page = open('doc/counters.md').read()
		def names(title):
		    text = page.split(f'\n## {title}\n', 1)[1].split('\n## ', 1)[0]
		    return set(re.findall(r'^\| `(\w+)` \|', text, re.M))
		for group in 'node', 'quorum':
		    if set(got[group]) != names(f'mpispd: {group}'):
		        print(group, sorted(set(got[group]) ^ names(f'mpispd: {group}')))
		suci, other = names('suci'), names('sockets of Suci')
		for name in got['network']:
		    kind, name = name.split('_', 1)
		    if name not in (suci if kind == 'suci' else other):
		        print('not in the page:', kind, name)
		n = got['node']
		if not (n['sent'] and n['received'] and n['beats'] and n['views'] and got['network']['suci_rx_datagrams']):
		    print('nothing was counted:', n)
	PY
)"
some=$("$B/bin/mpispctl" -s "$SPD/n0.sock" counters) all=$("$B/bin/mpispctl" -s "$SPD/n0.sock" counters all)
verdict "mpispctl counters leaves out what is 0" "$(
	grep -q '^node *views  *[1-9]' <<<"$some" && ! grep -q ' 0$' <<<"$some" && grep -q '^blocks *malformed  *0$' <<<"$all" || echo "$some")"
# The same for Prometheus, and rules that ask for nothing else.
WHY=
"$B/bin/mpispctl" -s "$SPD/n0.sock" metrics >"$SPD/metrics" || WHY+="status $? "
WHY+=$(python3 test/smoke/_monitoring.py "$SPD/metrics" conf/monitoring/mpispd-alerts.yml)
grep -q '^mpispd_processes{universe="smoke",unit="n0",state="spare"} [0-9]' "$SPD/metrics" || WHY+="no spares "
if command -v promtool >/dev/null; then
	said=$(promtool check metrics <"$SPD/metrics" 2>&1) || WHY+=$said
	said=$(promtool test rules test/smoke/alerts-mpispd.yml 2>&1) || WHY+=$said
else
	echo "SKIP mpispd: prometheus is not installed; run make deps"
fi
verdict "mpispctl metrics is what Prometheus takes, and the alert rules ask for" "$WHY"
# Keys change in three steps; who comes back after that has the new one alone.
keys=("1 $(printf '5%.0s' {1..64})" "2 $(printf '7%.0s' {1..64})")
reloaded() { [ "$(cat "$SPD"/n*.log | grep -c '^mpispd n[0-9]: reload: keys of')" -ge "$1" ]; }
reload_keys() { # STEP KEY...: at the nodes by both ways
	(umask 077 && printf '%s\n' "${@:2}" >"$SPD/key.new" && mv "$SPD/key.new" "$SPD/key")
	"$B/bin/mpispctl" -s "$SPD/n0.sock" reload && "$B/bin/mpispctl" -s "$SPD/n1.sock" reload &&
		kill -HUP "$(spd_pid n2)" && spd_wait "keys of step $1" reloaded $((3 * $1))
}
reload_keys 1 "${keys[@]}" && reload_keys 2 "${keys[1]}" "${keys[0]}" && reload_keys 3 "${keys[1]}"
succeeded $? "mpispctl reload and SIGHUP take other keys"
chmod 644 "$SPD/key"
said=$("$B/bin/mpispctl" -s "$SPD/n0.sock" reload 2>&1)
verdict "a key file that others may read is refused" "$(grep -q 'chmod' <<<"$said" || echo "$said")"
chmod 600 "$SPD/key"
victim=$([ "$(master)" = n2 ] && echo n1 || echo n2)
n=$(grep -hc '^takeover: rank [0-9]* is' "$SPD/$victim.log")
node_dies "$victim"
spd_wait "$n new ranks" ranks $((4 + n)) || fail "nobody takes over for $victim"
spd_daemon "$victim"
back() { status n0 | grep -q "^$victim.*, life 2"; }
spd_wait "$victim in its second life" back || fail "$victim does not come back"
other=$([ "$victim" = n2 ] && echo n1 || echo n2)
"$B/bin/mpispctl" -s "$SPD/$other.sock" cluster drain || fail "no drain"
emptied() { status "$other" | grep -q 'dead: its node is being emptied'; }
spd_wait "$other to be empty" emptied || fail "$other is not emptied"
"$B/bin/mpispctl" -s "$SPD/n0.sock" cluster stop || fail "no stop"
spd_wait "the end" over n0 n1 n2 || fail "an operator does not end it"
verdict "a daemon comes back, a unit is emptied, an operator ends it" "$(grep -h 'the sum is' "$SPD"/n*.log)"

# ---- no spare is left: the others go on; a spare that was used is made up for ----
stop_all() {
	"$B/bin/mpispctl" -s "$SPD/n0.sock" cluster stop || fail "no stop"
	spd_wait "the end" over n0 n1 n2 || fail "an operator does not end it"
}
SPD_SPARES=0 SPD_MORE+=', "spares": { "none_left": "shrink" }'
spd_conf "$B/examples/takeover" 1000000 10
spd_start
spd_wait "four ranks" ranks 4 || fail "the ranks do not start to shrink"
kill -9 "$(spd_rank_pid 1)"
smaller() { [ "$(grep -h '^takeover: rank [0-9] of 3 goes on' "$SPD"/n*.log | sort -u -k3,3 | wc -l)" = 3 ]; }
spd_wait "a world of three" smaller
verdict "without a spare the others go on" "$(smaller || tell_logs)$(grep -h 'the sum is' "$SPD"/n*.log)"
stop_all
SPD_SPARES=1
SPD_MORE=', "detect": { "beat_ms": 100, "missed": 8 }, "severity": { "process": "takeover" }, "spares": { "refill": true }'
# A process of these that comes while $SPD/hold is there waits behind MPI_Init until it is not.
${CC:-cc} -shared -fPIC -o "$SPD/hold.so" -x c - <<'END' || fail "no compiler"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int PMPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
	int rc = PMPI_Init(argc, argv);
	while (access(getenv("SPD_HOLD"), F_OK) == 0) {
		close(creat(getenv("SPD_HELD"), 0600));
		usleep(10000);
	}
	return rc;
}
END
spd_conf /usr/bin/env "ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0" "SPD_HOLD=$SPD/hold" "SPD_HELD=$SPD/held" \
	"LD_PRELOAD=$SPD/hold.so" "$B/examples/takeover" 1000000 10
spd_start
spd_wait "four ranks" ranks 4 || fail "the ranks do not start to refill"
kill -9 "$(spd_rank_pid 1)"
spd_wait "rank 1 again" ranks 5 || fail "nobody takes rank 1 over"
touch "$SPD/hold"
kill -9 "$(spd_rank_pid 1)"
spd_wait "a new process that is held" test -e "$SPD/held" || fail "nobody takes rank 1 over once more"
# Another one goes before the new process has asked whether it is new: it still is.
kill -9 "$(spd_rank_pid 2)"
spd_wait "a new rank 2" grep -qh 'takes over role 2' "$SPD/n0.log" "$SPD/n1.log" "$SPD/n2.log" || fail "nobody takes rank 2 over"
rm "$SPD/hold"
spd_wait "ranks 1 and 2 again" ranks 7 || fail "the ranks do not go on"
verdict "a spare that was used is made up for" "$(grep -h 'the sum is' "$SPD"/n*.log)"
verdict "who is new is told so also in a later epoch" "$(grep -h '^takeover: rank 1 is' "$SPD"/n*.log | grep -vc 'a new one' | grep -v '^1$')"
stop_all
exit $rc
