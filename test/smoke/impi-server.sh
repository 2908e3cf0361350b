#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The real impi-server and impirun on loopback, against clients scripted in Python.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
exec python3 test/smoke/_impi_server.py "$B"
