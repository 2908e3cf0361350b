#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# near.sh BUILD_DIR: messages of a process with one that it has spawned on this machine, beside those
# of two ranks of one job, and Open MPI's, in neighbouring turns.
#
#	ROUNDS=10	turns
#	PEERS="openmpi"
#	FIRST=1		before all else that wants a processor (chrt; root): where the machine is busy
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
ROUNDS=${ROUNDS:-10} PEERS=${PEERS-openmpi}
first=()
[ "${FIRST:-0}" = 0 ] || first=(chrt -f 10)
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

peers_begin near

# turn WHO HOW RANKS NAME: one run, its lines to NAME's rows.
turn() {
	local run
	TB_ID=none peers_run "$1" shm "$3"
	timeout 30 "${first[@]}" "${run[@]}" "$out/near-$1" "$2" >>"$out/near-$4.rows" 2>"$out/near.log" || {
		echo "near: $4 failed:" >&2
		tail -n 3 "$out/near.log" >&2
	}
}

for ((i = 0; i < ROUNDS; i++)); do
	for w in "${who[@]}"; do
		turn "$w" world 2 "$w-world"
		turn "$w" spawn 1 "$w-spawn"
	done
	export LIBMPI_TRANSPORT=udp
	turn ours spawn 1 ours-spawn-udp
	unset LIBMPI_TRANSPORT
done
python3 - "$out" <<'PY'
import glob, os, statistics, sys

rows = {}
for path in sorted(glob.glob(os.path.join(sys.argv[1], "near-*.rows"))):
    for line in open(path):
        n, us, mbs = line.split()
        rows.setdefault(int(n), {}).setdefault(os.path.basename(path)[5:-5], []).append((float(us), float(mbs)))
for n in sorted(rows):
    print(f"{n} bytes: half a round trip in us, MB/s; median (least to most)")
    for name, got in rows[n].items():
        us, mbs = sorted(u for u, _ in got), [m for _, m in got]
        print(f"  {name:18} {statistics.median(us):10.2f} us ({us[0]:.2f} to {us[-1]:.2f})"
              f" {statistics.median(mbs):9.1f} MB/s")
PY
