#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Circuits that a job's collective calls ask for, while the switch, a relay and the controller are
# killed and started again (_light.sh).
# ipv6: yes
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_light.sh
. test/smoke/_light.sh
LIGHT_PROTOCOL=openflow
light_scenario "switch relay controller"
