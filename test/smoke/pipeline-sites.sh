#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses (_sites.sh), one relay each.
# Meanwhile the filter loses processes.
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_sites.sh
. test/smoke/_sites.sh

RELAYS=1
sites_up 10.0.0.254:7812
# Two processes of a node, and those of one site, reach each other without their relay.
here=$(for fe in $FRONTENDS; do "$B/bin/relayctl" -s "$TB_ID-$fe" drops --all; done |
	awk '/relay\/door_here/ { n += $1 ~ /^[0-9]+$/ ? $1 : $2 } END { print n + 0 }')
verdict "no relay is asked for what is in its own site" "$([ "$here" = 0 ] || echo "door_here $here")"
for rank in 0 1 0 1; do
	kill_rank $rank
done
sites_end
exit $rc
