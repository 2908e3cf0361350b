#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Relays with several workers: MPI jobs between a relay of two and one of four, whose frames
# af_packet spreads as it likes; over jumbo frames; over ports with one queue for two
# workers; and between two relays of two a side over a WAN that loses frames.  Data is right,
# every worker carries its share, what is steered is counted on both sides, nothing is left.
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

relay() { # FRONTEND WORKERS
	TB_LCORES="(0-$2)@(0-$(($(nproc) - 1)))" TB_RELAY_MB=1024 \
		TB_RELAY_CONF="\"workers\": $2, \"suci\": { \"global_mtu_start\": $MTU_WAN, \"liveness_ms\": 10000 },
			\"limits\": { \"segments\": 4096 }" \
		testbed_relayd "$B" "$1" || fail "relayd: does not start"
}

up() { # WORKERS OF A, OF B
	local i
	testbed_up || fail "testbed: not built"
	testbed_wanem "$B/bin/wanem" --delay-ms 1 --loss "$LOSS" || fail "wanem: does not start"
	testbed_server "$B" || fail "impi-server: does not start"
	for ((i = 0; i < RELAYS; i++)); do
		relay "afe$i" "$1"
		relay "bfe$i" "$2"
	done
}

gone() { ! testbed_alive "$1"; }

run_job() { # NAME PROGRAM: WHY is what went wrong
	local s st
	testbed_job "$B" "$1" "$B/test/mpi/$2"
	WHY=
	for s in -a -b; do
		testbed_wait 40 "the job's end" gone "$1$s" || WHY="no end within 40 s"
		gone "$1$s" || testbed_stop "$1$s" 3 >/dev/null 2>&1
		{ wait "$(cat "$TB_DIR/pid-$1$s")"; } 2>/dev/null
		st=$?
		[ $st = 0 ] || WHY=${WHY:-status $st: $(tail -n 2 "$TB_LOG/$1$s.log")}
	done
	[ -n "$WHY" ] || grep -qs '^ok' "$TB_LOG/$1"*.log || WHY="does not say ok"
}

job() { # NAME PROGRAM
	run_job "$@"
	verdict "$1 $2" "$WHY"
}

# shares FRONTEND WORKERS PYTHON: an expression over status s and workers w, or what is wrong.
shares() {
	"$B/bin/relayctl" -s "$TB_ID-$1" --json status --check >"$TB_DIR/q" || { echo "$1 does not answer"; return; }
	python3 - "$1" "$2" "$TB_DIR/q" "$3" <<-'PY'
		import json, sys
		fe, n, path, more = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
		s = json.load(open(path))
		w = s['workers']
		def want(what, ok):
		    if not ok: print(f'{fe}: not {what}: {json.dumps(w)}')
		want(f'{n} workers', len(w) == n)
		want('each on an lcore of its own', len({x['lcore'] for x in w}) == n)
		want('segments through every worker', all(x['segments'] > 50 for x in w))
		want('buffers of its own in every worker', all(x['pool_size'] > 4096 for x in w))
		want('addends', sum(x['segments'] for x in w) == s['segments'])
		want('consistent', s['consistent'] and not s['custody'])
		want(more, eval(more))
	PY
}

stop() { # FRONTEND: everything came back, no counter contradicts another
	local why=
	{ testbed_stop "relayd-$1"; } >/dev/null 2>&1 || why="status $?: $(tail -n 3 "$TB_LOG/relayd-$1.log")"
	[ -n "$why" ] || why=$(python3 - "$TB_DIR/$1.json" <<-'PY'
		import json, sys
		s = json.load(open(sys.argv[1]))
		f, n, legs = s['forwarding'], [], s['legs'].values()
		if f['held'] or s['suci']['held']: n.append('segments are held')
		if not s['consistent']: n.append('counters do not add up')
		if f['jobs_aborted'] or f['jobs_added'] != f['jobs_finished']: n.append('jobs that did not finish')
		handed, taken = sum(l['steered'] for l in legs), sum(l['rx_steered'] for l in legs)
		told = sum(l['steer_told'] for l in legs)
		if handed + told != taken: n.append(f'{handed} frames and {told} news handed over, {taken} taken')
		if len(s['workers']) > 1 and not told: n.append('nobody was told of neighbours')
		print(', '.join(n))
	PY
	)
	verdict "$1 stops clean" "$why"
}

# Rows of workers are told apart, and a round trip takes no less than the wire does, however
# long a worker waited for a core between its clock and its queue.
trunks() { # FRONTEND
	"$B/bin/relayctl" -s "$TB_ID-$1" --json top -n 1 -d 0.5 --no-lanes >"$TB_DIR/q" || { echo "$1 does not answer"; return; }
	python3 - "$1" "$TB_DIR/q" <<-'PY'
		import json, sys
		t = json.load(open(sys.argv[2]))['trunks']
		if len({(r['worker'], r['path']) for r in t}) != len(t) or len(t) < 4:
		    print(f'{sys.argv[1]}: {len(t)} trunks')
		for r in t:
		    if r['tx_bytes_per_s'] < 0 or r['tx_segments_per_s'] < 0:
		        print(f'{sys.argv[1]}: sends less than nothing: {json.dumps(r)}')
		    if r['rtt_min_us'] < 2000:
		        print(f"{sys.argv[1]}: {r['rtt_min_us']} us over a wire of 2000: {json.dumps(r)}")
	PY
}

# What a relay says of the trunks that come to it, measured while jobs run: the WAN's losses.
# A job may take longer to begin than one measurement lasts, so there are several.
advised() { # FRONTEND
	local i why
	for ((i = 0; i < 8; i++)); do
		"$B/bin/relayctl" -s "$TB_ID-$1" --json advise -d 5 >"$TB_DIR/advice-$1" 2>&1
		why=$(python3 - "$1" "$TB_DIR/advice-$1" <<-'PY'
			import json, sys
			try:
			    rows = json.load(open(sys.argv[2]))['received']['trunk']
			except ValueError as e:
			    print(f'{sys.argv[1]}: no advice: {e}')
			    sys.exit()
			if not any(r['rate_bps'] and 1000 < r['loss_ppm'] < 100000 for r in rows):
			    print(f'{sys.argv[1]}: a WAN that loses 5000 ppm: {json.dumps(rows)}')
		PY
		)
		[ -n "$why" ] || return
	done
	echo "$why"
}

down() {
	local i
	for ((i = 0; i < RELAYS; i++)); do
		stop "afe$i"
		stop "bfe$i"
	done
	testbed_down
	verdict "$1: no process or namespace is left" "$(testbed_leftovers)"
}

NODES=2 PPN=2 RELAYS=1 LOSS=0 MTU_WAN=1500
up 2 4
job spread p2p
job order order
verdict "two workers: each has its share" "$(shares afe0 2 "sum(x['steered'] for x in w) > 100")"
verdict "four workers: each has its share" "$(shares bfe0 4 "sum(x['steered'] for x in w) > 100")"
refused=$(grep -c "net_af_packet takes no flow rules (rte_flow_validate of UDP port [0-9]* of [0-9.]* to a queue: " "$TB_LOG/relayd-afe0.log")
[ "$refused" = 2 ] && refused=
verdict "refused flow rules: the driver's words for both legs" "${refused:+$refused of 2 lines}"
verdict "four workers: no transmit queue is shared" "$(shares bfe0 4 "not any(x['tx_steered'] for x in w)")"
ports=$("$B/bin/relayctl" -s "$TB_ID-afe0" --json paths --kind trunk | python3 -c 'import json, sys
print(*sorted({p["peer"] for p in json.load(sys.stdin)}))')
[ "$ports" = "$(for p in 7812 7813 7814 7815; do testbed_outside bfe0 $p; done | xargs)" ] && ports=
verdict "trunks from each worker to each" "${ports:+trunks to $ports}"
down spread

MTU_WAN=9000
up 2 2
job jumbo p2p
verdict "jumbo frames" "$(shares afe0 2 \
	"max(s['global/tx_bytes'] / max(1, s['global/tx_frames']), s['global/rx_bytes'] / max(1, s['global/rx_frames'])) > 1600")"
down jumbo

# One queue on the inner leg: worker 1 receives and sends through worker 0.
MTU_WAN=1500 MTU_IN=1500 TB_DEVICE_PRIVATE=net_af_packet7,iface=priv0,qpairs=1
up 2 2
job one-queue order
verdict "one queue for two workers" "$(shares afe0 2 \
	"w[1]['tx_steered'] > 100 and w[1]['rx_steered'] > 100 and not w[0]['tx_steered']")"
grep -q 'private leg: 2 workers, 1 receive and 1 transmit queues' "$TB_LOG/relayd-afe0.log" ||
	verdict "one queue is said in the log" "no such line"
down one-queue

unset TB_DEVICE_PRIVATE
MTU_IN=9000 RELAYS=2 LOSS=0.005
up 2 2
job lossy p2p
pids=()
for fe in afe0 bfe1; do
	advised "$fe" >"$TB_DIR/advised-$fe" &
	pids+=($!)
done
while
	run_job lossy collv
	[ -z "$WHY" ] && kill -0 "${pids[@]}" 2>/dev/null
do :; done
verdict "lossy collv" "$WHY"
wait "${pids[@]}"
verdict "lossy: advised of what comes" "$(cat "$TB_DIR"/advised-*)"
verdict "lossy: trunks of all workers" "$(trunks afe0)$(trunks bfe1)"
down lossy
exit $rc
