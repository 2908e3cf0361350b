#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of another version (doc/compatibility.md): the number in a copy of the binary is another
# one.  A relay beside it says so and jobs go on; libmpi begins no job with another one in its cluster,
# or with one of another release in another cluster.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root versions
NODES=1 RELAYS_A=2 RELAYS_B=1
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
OLD=$(mktemp -d)
on_exit() {
	local status=$?
	rm -rf "$OLD"
	[ "$TB_UP" = 0 ] || testbed_down
	exit $status
}
trap on_exit EXIT
now=$("$B/bin/relayd" --version | cut -d' ' -f2)
then=$(tr '0-9' '1-90' <<<"$now") # as many characters
# old FILE: a copy of it with the other number.
old() { sed "s/${now//./\\.}/$then/g" "$1" >"$OLD/${1##*/}" && chmod +x "$OLD/${1##*/}"; }
old "$B/bin/relayd"
old "$B/lib/libmpi_abi.so.1"

said=$("$B/bin/mpirun" -n 1 "$B/test/mpi/probe" : -n 1 env LD_PRELOAD="$OLD/libmpi_abi.so.1" "$B/test/mpi/probe" 2>&1)
status=$?
WHY=
[ $status -ne 0 ] || WHY="the job begins; "
# Either may be the first to say it, which ends the other.
grep -qE "libmpi: rank (1 has libmpi $then, this one is $now|0 has libmpi $now, this one is $then); fix: the same libmpi on all nodes" <<<"$said" ||
	WHY+="the text is: $said"
verdict "libmpi begins no job with another version in its cluster" "$WHY"

testbed_up || fail "no testbed"
trap on_exit EXIT
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem does not start"
testbed_server "$B" || fail "impi-server does not start"
testbed_relayd "$B" afe1 bfe0 || fail "relayd does not start"
mkdir -p "$OLD/bin" && mv "$OLD/relayd" "$OLD/bin/" && ln -s "$B/bin/relayctl" "$OLD/bin/"
testbed_relayd "$OLD" afe0 || fail "relayd with another number does not start"
says() { grep -q "relay $2 has relayd $3, this one is $4; fix: update the older one" "$TB_LOG/relayd-$1.log"; }
WHY=
testbed_wait 20 "a line of afe1" says afe1 "$(testbed_addr afe0)" "$then" "$now" || WHY+="afe1 does not say it; "
testbed_wait 20 "a line of afe0" says afe0 "$(testbed_addr afe1)" "$now" "$then" || WHY+="afe0 does not say it; "
told=$("$B/bin/relayctl" -s "$TB_ID-afe1" --json status | python3 -c 'import json, sys
print(*(r["version"] for r in json.load(sys.stdin)["cluster_relays"]))')
[ "$told" = "$then $now" ] || WHY+="status has $told; "
verdict "relays of a cluster tell that their versions differ" "$WHY"

testbed_job "$B" job "$B/test/mpi/probe"
ended() { ! testbed_alive job-a && ! testbed_alive job-b; }
WHY=
testbed_wait 60 "the job's end" ended || WHY="it does not end"
grep -qs '^ok' "$TB_LOG/job-a.log" "$TB_LOG/job-b.log" || WHY+="it does not say ok"
verdict "jobs go on over both" "$WHY"

# Through relays, which tell each side what the other one has.
cat >"$OLD/job" <<SH
#!/bin/sh
[ "\$IMPI_CLIENT" = 0 ] || export LD_PRELOAD=$OLD/libmpi_abi.so.1
exec $B/test/mpi/probe
SH
chmod +x "$OLD/job"
testbed_stop job-a 5 >/dev/null 2>&1
testbed_stop job-b 5 >/dev/null 2>&1
testbed_job "$B" job "$OLD/job"
WHY=
testbed_wait 60 "the end of a job of two releases" ended || WHY="it does not end; "
refuses() { # SIDE OTHER THEIRS OWN
	grep -q "libmpi: client $2 has libmpi ${3%.*}, this one is $4; fix: one release of libmpi in all clusters" \
		"$TB_LOG/job-$1.log"
}
# Who says it first ends, which may end the other before it has heard as much.
lost() { grep -q 'libmpi: joining the IMPI job .* (was another client lost?)' "$TB_LOG/job-$1.log"; }
if refuses a 1 "$then" "$now"; then
	refuses b 0 "$now" "$then" || lost b || WHY+="side b does not say it; "
else
	refuses b 0 "$now" "$then" && lost a || WHY+="side a does not say it; "
fi
! grep -qs '^ok' "$TB_LOG/job-a.log" "$TB_LOG/job-b.log" || WHY+="the job runs"
verdict "libmpi begins no job with a cluster that has another release" "$WHY"
# shellcheck disable=SC2154 # of _tell.sh
exit $rc
