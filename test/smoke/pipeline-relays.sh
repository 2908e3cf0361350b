#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses (_sites.sh), two relays each.
# Each relay is killed and started again, and processes of the filter between.
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_sites.sh
. test/smoke/_sites.sh

RELAYS=2
sites_up 10.0.0.254:7812,10.0.0.253:7812
rank=0
for fe in bfe0 afe1 bfe1 afe0; do
	kill_relay $fe
	goes_on "$fe is killed: frames go on"
	kill_rank $((rank = !rank))
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
	goes_on "$fe is there again: frames go on"
	kill_rank $((rank = !rank))
	testbed_nap 1
done
sites_end
exit $rc
