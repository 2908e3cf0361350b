#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make attack` in its short form: each attack for a second.  What kills programs while a job starts is
# in attack-starts.
# ipv6: no, because its attackers forge IPv4 frames (`relayd-ipv6` has some of IPv6)
# timeout: 500
# alone: how late jobs start beside an attack is measured
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
need_root attack
exec env S=1 SKIP=start_kills test/attack/run
