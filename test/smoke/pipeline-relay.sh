#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses (_sites.sh), one relay each.
# It is killed, at either site, and started again: processes get other addresses and tell them.
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_sites.sh
. test/smoke/_sites.sh

RELAYS=1
sites_up 10.0.0.254:7812
for fe in bfe0 afe0 bfe0; do
	kill_relay $fe
	testbed_nap 2
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
	goes_on "$fe was killed and is there again: frames go on"
	kill_rank 0
done
# Sooner than anybody finds it silent.
kill_relay afe0
testbed_relayd "$B" afe0 || fail "afe0 does not start again"
goes_on "afe0 was killed and started again at once: frames go on"
sites_end
exit $rc
