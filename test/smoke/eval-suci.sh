#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make eval-suci` in a tiny form, without MPICH and Open MPI: every row is there, memory is told; and
# a stream whose blocks are all accounted for.  How fast any of it is is not judged.
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build/gcc}
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

ROUNDS=1 ROW_S=0.02 FIGURES="burst gather" SENDERS=3 PEERS="" STREAM_S=0 IDS=50 OUT=$work \
	test/eval/suci "$B" >"$work/said" 2>&1
status=$?
verdict "eval-suci ends well" "$([ $status = 0 ] || tail -n 3 "$work/said")"
verdict "its results are whole" "$(python3 - "$work/suci.json" 2>&1 <<'END'
import json, sys

r = json.load(open(sys.argv[1]))
for name, rows in (("burst 2", 11), ("gather 4", 8)):
    if len(r[name]) != rows or not all(x["mb_per_s"]["suci"][0] > 0 for x in r[name]):
        print(name, r[name])
if r["memory"]["peers"] != 50 or r["memory"]["suci_process"] <= 0:
    print(r["memory"])
END
)"

printf '0 127.0.0.1 %d\n1 127.0.0.1 %d\n' $((20000 + $$ % 10000)) $((30000 + $$ % 10000)) >"$work/hosts"
timeout 200 "$B/examples/suci-stream" "$work/hosts" 1 >"$work/stream" 2>&1 &
timeout 200 "$B/examples/suci-stream" "$work/hosts" 0 know 1 >"$work/maker" 2>&1
status=$?
wait $! || status=1
verdict "a stream: what is made is shown, late or dropped" "$(
	[ $status = 0 ] || cat "$work/maker" "$work/stream"
	python3 - "$work/stream" 2>&1 <<'END'
import json, sys

r = json.load(open(sys.argv[1]))
if r["pictures"] != 50 or any(r[k] + r["late"][i] + r["dropped"][i] != 50 for i, k in enumerate(("base", "detail"))):
    print(r)
END
)"
exit $rc
