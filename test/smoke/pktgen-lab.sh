#!/usr/bin/env bash
# A few of the stateful scenarios over memif, as `make pktgen` plays them all.
# timeout: 180
cd "$(dirname "$0")/../.." || exit 2
if out=$(test/pktgen/run "${B:=build/gcc}" imix trunk-flap abort many-jobs 2>&1); then
	echo "PASS pktgen-lab"
else
	rc=$?
	echo "$out"
	[ $rc -ne 77 ] || exit 77
	echo "FAIL pktgen-lab: a scenario failed, see above"
	exit 1
fi
