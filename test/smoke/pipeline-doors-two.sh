#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pipeline-doors with two relays in each site, which die one after another.
# ipv6: yes
# timeout: 300
RELAYS=2
# shellcheck source=test/smoke/pipeline-doors.sh
. "$(dirname "$0")/pipeline-doors.sh"
