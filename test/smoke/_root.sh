# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scenarios that make network namespaces.
# shellcheck shell=bash

# need_root SCENARIO: run-smoke counts the rest of it as skipped.
need_root()
{
	[ "$(id -u)" -eq 0 ] || { echo "SKIP ${1}: needs root for network namespaces; run it with sudo"; exit 77; }
}

# need_openvswitch NAME: the same for the switch that stands for an optical one.
need_openvswitch() {
	command -v ovs-vswitchd >/dev/null || { echo "SKIP ${1}: openvswitch-switch is not installed; run make deps"; exit 77; }
}
