# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scenarios of optical switches.
# shellcheck shell=bash
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
OCSCTL=$PWD/$B/bin/ocsctl
OCS_DIR=$(mktemp -d)
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
tell_logs() { tail -n 30 "$OCS_DIR"/*.log; }
# What this shell started and has not waited for: numbers of others may be somebody else's by now.
ocs_kill() {
	local p
	for p in $(jobs -p); do kill -9 "$p" 2>/dev/null; done
}
ocs_end() {
	ocs_kill
	rm -rf "$OCS_DIR"
}
trap ocs_end EXIT

# wait_for SECONDS COMMAND...: until it is true.
wait_for() {
	local end=$((SECONDS + 5 * $1)) # of what hangs, on a loaded machine, too
	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# emulator LOG OPTIONS...: starts one; its address in $EMU_AT, its process in $EMU.
emulator() {
	local log=$OCS_DIR/$1.log
	shift
	: >"$log"
	python3 -B tools/ocs-emulator/ocs-emulator "$@" >"$log" 2>&1 &
	EMU=$!
	wait_for 20 grep -q ready "$log" || fail "the emulator does not start"
	EMU_AT=$(sed -n 's/^ready //p' "$log")
}

# ctl OPTIONS...: ocsctl with the options of this switch in CTL.
ctl() { timeout 400 "$OCSCTL" "${CTL[@]}" "$@"; }

# field NAME FILE: of the line of figures that churn prints.
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2" | tail -1; }

# shown WHAT: the circuits of the switch, in one line.
shown() { ctl show | sed -n 's/^\([0-9]*:[0-9]*\) \(.*\)/\1/p' | sort | tr '\n' ' '; }
