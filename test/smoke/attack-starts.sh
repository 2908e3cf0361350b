#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rows of `make attack` that measure no time, in their short form: each program is killed while a job
# starts.
# ipv6: no, because it is of the same world as `attack`
# timeout: 300
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
need_root attack-starts
exec env S=1 ONLY=start_kills test/attack/run
