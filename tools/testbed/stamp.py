# SPDX-License-Identifier: BSD-2-Clause
"""stamp.py: lines of stdin, each with the monotonic time before it."""
import sys
import time

for line in sys.stdin:
    print(f"{time.monotonic():.6f} {line}", end="", flush=True)
