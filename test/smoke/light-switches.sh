#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same as light-circuits over switches that are spoken to by TL1 and SCPI - ocs-emulator
# keeps the circuits - and by NETCONF - netconfd does -, with Open vSwitch for the light (_light.sh).
#
#	PROTOCOLS='netconf tl1-polatis tl1-calient tl1-glimmerglass scpi'	all there are (make check: three)
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_light.sh
. test/smoke/_light.sh
for LIGHT_PROTOCOL in ${PROTOCOLS:-netconf tl1-calient scpi}; do light_scenario "switch controller"; done
