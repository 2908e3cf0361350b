# SPDX-License-Identifier: BSD-2-Clause
# Sourced by relay.sh: PARTS=workers, two workers with work at the same time.
# shellcheck shell=bash
#
#   workers-both    one relayd, two workers, both with work
#   workers-one0    the same, and only the one on this CPU has work: what one is alone
#   workers-one1
#   workers-apart   two relayds with a worker each, both with work: one third cache and one memory for both
#                   cores, but nothing of ours is shared
#
#   WORKERS_WINDOW (512)    of a path: what a worker gets in one go
#   WORKERS_TURN_MS (100)   FILL_US (700)   CHEW_US (900)   relay-workers.py

WORKERS_WINDOW=${WORKERS_WINDOW:-512}

# lab_of NAME WORKERS: for a generator with a queue for each worker.
lab_of() {
	lab "$1" "$(pg_memif "$1-p" client 0)" "$(pg_memif "$1-g" client 1)"
	sed -i "s/\"relay\":/\"shards\": $2, \"queues\": true, \"relay\":/" "$TMP/$1.lab"
}
# worker_stand NAME CPUS WORKERS: a relayd that is stopped.
worker_stand() {
	local WINDOW=$WORKERS_WINDOW
	pg_conf "$1" "$(pg_memif "$1-p" server 0)" "$(pg_memif "$1-g" server 1)" "$2" 10.0.0.2 198.18.0.2 10.0.0.1
	sed -i "s/\"idle\":/\"workers\": $3, \"idle\":/" "$TMP/$1.json"
	rm -f "$TMP/$1.log"
	pg_start "$1" || return 1
	kill -STOP "$(pid_of "$1")"
	lab_of "$1" "$3"
	sed -i "s/\"lcores\": \"0@0\"/\"lcores\": \"0@${2##*@}\"/" "$TMP/$1.lab"
}
# worker_contend NAME HOSTS STAND...: those stands are measured together; HOSTS of each, one a worker.
worker_contend() {
	local name=$1 hosts=$2 stand args=()
	shift 2
	for stand in "$@"; do
		GEN=template WINDOW=$WORKERS_WINDOW scenario "$stand" "$hosts" 1 "$hosts" 0 pairs 64
		args+=("$stand" "$(pid_of "$stand")")
	done
	python3 - "$name" "$((hosts * $#))" "$B/bin/relay-pktgen" "$TMP" "${args[@]}" <<'PY' >>"$TMP/contenders"
import json, sys
name, workers, generator, tmp, *rest = sys.argv[1:]
stands, pids = rest[::2], [int(p) for p in rest[1::2]]
print(json.dumps({"name": name, "workers": int(workers), "pids": pids,
                  "stats": [f"{tmp}/{s}-stats.json" for s in stands],
                  "commands": [[generator, "--lab", f"{tmp}/{s}.lab", "--turns", f"{tmp}/{s}.scenario"]
                               for s in stands]}))
PY
}
workers_session() { # SESSION
	local rc s
	# Of one process it is the second worker's.
	worker_stand both "0@0,1@0,2@1" 2 && worker_stand one0 "0@0,1@1,2@0" 2 &&
		worker_stand one1 "0@0,1@0,2@1" 2 &&
		worker_stand apart0 "0@0,1@0" 1 && worker_stand apart1 "0@0,1@1" 1 || return 1
	worker_contend workers-both 2 both
	worker_contend workers-one0 1 one0
	worker_contend workers-one1 1 one1
	worker_contend workers-apart 1 apart0 apart1
	boost -19
	SESSION=$1 ROUNDS=$ROUNDS test/bench/relay-workers.py "$TMP/contenders" "$rows"
	rc=$?
	boost 0
	rm -f "$TMP/contenders"
	for s in both one0 one1 apart0 apart1; do pg_stop "$(pid_of "$s")"; done
	rm -f "$TMP"/*.sock "$TMP"/*.pid
	return $rc
}
workers_part() {
	local i keep=$PG_SUCI
	PG_MEMORY_MB=900
	PG_SUCI=${keep//$WINDOW/$WORKERS_WINDOW}
	for ((i = 0; i < SESSIONS; i++)); do
		echo "  two workers, session $((i + 1)) of $SESSIONS" >&2
		workers_session "$i" || return 1
	done
	PG_SUCI=$keep
	unset PG_MEMORY_MB
}
