# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scenarios: the lines that run-smoke counts, under the scenario's name.
# shellcheck shell=bash
#
# Sets rc to 0; end with `exit $rc`.  A scenario with other logs to show where something failed
# defines tell_logs after it has sourced this, and may set SCENARIO.

SCENARIO=$(basename "$0" .sh)
rc=0

# tell_logs [NAME...]: the ends of a testbed's logs, of all or of these.
tell_logs()
{
	[ -d "${TB_LOG:-}" ] || return 0
	local log
	[ $# -gt 0 ] || set -- '*'
	for log in "$@"; do
		# shellcheck disable=SC2086
		tail -n 15 "$TB_LOG"/$log.log
	done
}

pass() { echo "PASS $SCENARIO: $1"; }

# fail WHAT: the rest has no sense.
fail()
{
	tell_logs
	echo "FAIL $SCENARIO: $1"
	exit 1
}

# verdict WHAT WHY [LOG...]: FAIL if WHY is not empty, with these logs.
verdict()
{
	local what=$1 why=$2
	if [ -z "$why" ]; then
		pass "$what"
		return
	fi
	shift 2
	tell_logs "$@"
	echo "FAIL $SCENARIO: $what: $why"
	# shellcheck disable=SC2034 # the scenario's status
	rc=1
}

# succeeded STATUS WHAT: a verdict by exit status.
succeeded() { verdict "$2" "$([ "$1" -eq 0 ] || echo "status $1")"; }
