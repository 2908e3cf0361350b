#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What libmpi is told of the way between clusters without relays: keys (LIBMPI_KEY_FILE),
# congestion control (LIBMPI_CC), marks (LIBMPI_ECN).  Two IMPI clients on the loopback of
# a namespace of their own, whose kernel counts the marks.
# ipv6: no, because it starts no relay (`mpi-ipv6` has such jobs)
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
B=${B:-build/gcc}
need_root libmpi-wan
if [ "${1:-}" != inside ]; then
	exec unshare -n -- bash "$0" inside
fi
ip link set lo up
prog=$PWD/$B/test/mpi/p2p
tmp=$(mktemp -d)
# shellcheck source=test/smoke/_clients.sh
. test/smoke/_clients.sh
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
export TMPDIR=$tmp IMPI_AUTH_NONE=1 LIBMPI_STATS=1

# job VARS0 VARS1: two clients of one rank each, with that environment; false: they failed
job() { two_clients 127.0.0.1 127.0.0.1 1 "$prog" "$1" "$2"; }
# Sum over both of a counter of the endpoint; marked packets that came in.
count() { awk -v k="$1" '$3 == "suci" && $4 == k { s += $5 } END { print s + 0 }' "$tmp/c0" "$tmp/c1"; }
tell_logs() { tail -n 15 "$tmp/c0" "$tmp/c1"; }
marked() { awk '/^IpExt:/ { if (n++) print $c; else for (i = 1; i <= NF; i++) if ($i == "InECT0Pkts") c = i }' /proc/net/netstat; }

before=$(marked)
job A=1 A=1 && (($(count rx_segments) > 100 && $(count keys_made) == 0)) && (($(marked) == before)) &&
	has 'path.* cubic' && ! has 'path.* sealed'
succeeded $? "by itself: cubic, not sealed, no marks"

job LIBMPI_CC=bbr LIBMPI_CC=bbr && has 'path.* bbr' && ! has 'path.* cubic'
succeeded $? "LIBMPI_CC=bbr"
job LIBMPI_CC=reno A=1 && grep -q 'LIBMPI_CC=reno is none of cubic, bbr; using cubic' "$tmp/c0"
succeeded $? "LIBMPI_CC=reno is refused, and says so"

before=$(marked)
job LIBMPI_ECN=1 LIBMPI_ECN=1 && (($(marked) - before > 100)) && (($(count ecn_failed) == 0))
succeeded $? "LIBMPI_ECN=1: $(($(marked) - before)) marked packets came, $(count rx_datagrams) in all"

key() { echo "$1 $(printf '%02x' $(seq "$2" $(($2 + 31))))"; }
key 7 1 >"$tmp/key" && key 7 2 >"$tmp/other" && { key 8 3; key 7 1; } >"$tmp/both"
chmod 600 "$tmp/key" "$tmp/other" "$tmp/both"
job "LIBMPI_KEY_FILE=$tmp/key" "LIBMPI_KEY_FILE=$tmp/both" && (($(count keys_made) >= 4)) &&
	has 'path.* sealed' &&
	(($(count drop_seal) + $(count drop_unsealed) == 0))
succeeded $? "LIBMPI_KEY_FILE: sealed, one end has two keys"

key 7 1 >"$tmp/loose"; chmod 644 "$tmp/loose"
key 7 1 | cut -c1-40 >"$tmp/half"; chmod 600 "$tmp/half"
# what | file | words
while IFS='|' read -r what file words; do
	LIBMPI_TRANSPORT=udp LIBMPI_KEY_FILE="$file" timeout -k 5 300 "$B/bin/mpirun" -n 2 "$prog" \
		>"$tmp/c0" 2>&1 </dev/null
	status=$?
	: >"$tmp/c1"
	[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "LIBMPI_KEY_FILE=$file: .*$words" "$tmp/c0"
	succeeded $? "key file $what: says so"
done <<-ROWS
	that is not there|$tmp/none|No such file
	that others may read|$tmp/loose|chmod it to 0600
	with half a key|$tmp/half|64 hexadecimal digits
ROWS
