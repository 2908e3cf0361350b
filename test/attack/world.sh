# SPDX-License-Identifier: BSD-2-Clause
# Sourced by test/attack/run: two clusters under a running job, an attacker on each leg, and
# what is looked at after each attack.
# shellcheck shell=bash

HERE=test/attack
PAUSE_MS=20       # of the job between two rounds: it is here to be hit, not to be fast
LIVE_MS=2000      # silence that counts as death
STALL_MS=2000     # what an attack may make it stand still, on a machine that is its own
HEAP_KB=4000      # what a relay may take more than it says, for requests of its operator and in the kernel
LOG_BYTES=150000  # and what it may write to its log

attack_world()
{
	NODES=2 PPN=1 RELAYS_A=2 RELAYS_B=1 TB_PREFIX_IN=16 TB_PREFIX_WAN=16 TB_AUTH=key
	testbed_plan || return
	# ew: a host of the Internet; el: a tenant of cluster A.
	_tb_ns ew && _tb_link ew eth0 wan ew "$MTU_WAN" && _tb_port wan wanA ew
	_tb_ns el && _tb_link el eth0 asw el "$MTU_IN" && _tb_port asw br0 el
	local i
	for i in 66 {100..119}; do
		_tb_address el eth0 "10.0.0.$i/24"
		_tb_address ew eth0 "198.51.100.$i/16"
	done
	testbed_build || return
	testbed_wanem "$B/bin/wanem" --delay-ms 2 && testbed_server "$B" || return
	TB_RELAY_CONF="\"suci\": { \"liveness_ms\": $LIVE_MS, \"keepalive_ms\": $((LIVE_MS / 4)) },
	\"trunks\": { \"policy\": \"dest\", \"partition_timeout_s\": 6 },
	\"doors\": { \"max\": 8192, \"per_process\": 64 }"
	small_disk || return
	# From the beginning, so that all handshakes are in it.
	evil wan record bfe0 60 20000 "$TB_DIR/record" >"$TB_LOG/record.log" 2>&1 &
	recorder=$!
	testbed_relayd "$B" afe0 afe1 bfe0 && job_start || return
	bound_kb=$(sed -n 's/.*proved nothing takes at most \([0-9]*\) KB.*/\1/p' "$TB_LOG/relayd-afe0.log" | tail -1)
	[ -n "$bound_kb" ] && bound_kb=$((bound_kb + HEAP_KB))
}

# A disk of its own for what relayd of afe0 writes: its log and its stats file.
small_disk()
{
	DISK=$TB_DIR/disk
	mkdir "$DISK" && mount -t tmpfs -o size=2m attack "$DISK" || return
	trap attack_exit EXIT
	ln -s "$DISK/log" "$TB_LOG/relayd-afe0.log"
	TB_STATS_DIR=$DISK
}
no_disk() { umount -l "$DISK" 2>/dev/null; }
attack_exit()
{
	local status=$?
	no_disk
	(exit $status)
	testbed_on_exit
}

evil() { testbed_exec "$1" python3 "$HERE/attacker.py" "${@:2}"; } # NODE ATTACK ARGUMENT...
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
relay_pid() { ip netns pids "$TB_ID-$1" | xargs -rI{} sh -c 'grep -qx relayd /proc/{}/comm && echo {}' | head -1; }
leg_mac() { testbed_exec "$1" cat "/sys/class/net/$2/address"; }
memory() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$(relay_pid "$1")/status" 2>/dev/null; }

# --- the job ------------------------------------------------------------------
job_says() { grep -q "$1" "$TB_LOG/job-a.log" 2>/dev/null; }
job_lives() { testbed_alive job-a && testbed_alive job-b; }
job_start() # sets started_ms
{
	local at=${EPOCHREALTIME/[.,]/}
	rm -f "$TB_DIR"/enough* "$TB_LOG"/job-*.log
	testbed_job "$B" job -x LIBMPI_LIVENESS_MS=$LIVE_MS "$B/test/mpi/failover" 3600 65536 "$TB_DIR/enough" $PAUSE_MS
	testbed_wait 60 "the job to run" job_says '^running' || return
	started_ms=$(((${EPOCHREALTIME/[.,]/} - at) / 1000))
}
job_end() # "" or what is wrong
{
	local s
	touch "$TB_DIR/enough"
	for s in a b; do
		testbed_wait 60 "job-$s to end" eval "! testbed_alive job-$s" 2>/dev/null || echo "side $s hangs"
	done
	job_says '^ok' || echo "the job does not say ok"
}
job_kill() { local s; for s in a b; do testbed_stop "job-$s" 5 >/dev/null 2>&1; done; }

# goes_on: a round of the job ends, so the stall that it had is in its log and not in the next row's.
# Frames do not show it, for what is sent again are frames, too.  A kernel believes a forged neighbour for 9 s.
answered() { [ ! -e "$TB_DIR/enough.ask" ] || ! job_lives; }
goes_on() { touch "$TB_DIR/enough.ask"; testbed_wait 40 "the job to go on" answered 2>/dev/null; }

# relays_back: those that are no more are started again.
relays_back()
{
	local fe
	for fe in afe0 afe1 bfe0; do
		[ -n "$(relay_pid $fe)" ] || testbed_relayd "$B" $fe
	done
}

# while_loaded MS: as long, while more want to run than there are processors.
while_loaded() { awk -v ms="$1" -v cpus="$(nproc)" '{ print int($1 > cpus ? ms * $1 / cpus : ms) }' /proc/loadavg; }

# --- a row ----------------------------------------------------------------------
# rose_since BEFORE AFTER: each counter of a relay that rose, and by how much.
rose_since()
{
	awk 'FNR == NR { was[$1, $2] = $3; next } $3 > was[$1, $2] + 0 && $3 ~ /^[0-9]+$/ { print $2, $3 - was[$1, $2] }' "$@"
}
counters() { for fe in afe0 afe1 bfe0; do ctl $fe drops --all 2>/dev/null | sed "s/^/$fe /"; done; }
row_begin()
{
	local fe
	[ -n "${job_is_dead:-}" ] && { relays_back; job_start; job_is_dead=; }
	lines=$(wc -l <"$TB_LOG/job-a.log")
	for fe in afe0 afe1 bfe0; do
		mem[$fe]=$(memory $fe) log[$fe]=$(stat -Lc %s "$TB_LOG/relayd-$fe.log") pid[$fe]=$(relay_pid $fe)
	done
	counters >"$TB_DIR/counters.0"
}

# row_end NAME WHAT-WAS-DONE COUNTER-PATTERN [WHY]: the verdict.
row_end()
{
	local name=$1 did=$2 pattern=$3 why=${4:-} fe n stall rose grew=0
	goes_on || why+="; the job stands still"
	job_lives || { why+="; job dead: $(grep -h 'ending the job' "$TB_LOG"/job-?.log | head -1 | cut -c1-160)"; job_is_dead=1; }
	stall=$(sed -n "$((lines + 1)),\$p" "$TB_LOG/job-a.log" | awk '$1 == "stall" && $2 > m { m = $2 } END { print m + 0 }')
	((stall <= $(while_loaded "$STALL_MS"))) || [ -n "${may_stall:-}" ] || why+="; the job stood still for $stall ms"
	for fe in afe0 afe1 bfe0; do
		[ "$(relay_pid $fe)" = "${pid[$fe]}" ] || { why+="; relayd of $fe is gone"; job_is_dead=1; continue; }
		n=$(($(memory $fe) - mem[$fe]))
		((grew = n > grew ? n : grew, n <= bound_kb)) || why+="; $fe grew by $n KB, more than the $bound_kb that it says"
		n=$(($(stat -Lc %s "$TB_LOG/relayd-$fe.log") - log[$fe]))
		((n <= LOG_BYTES)) || why+="; $fe logged $n bytes"
	done
	counters >"$TB_DIR/counters.1"
	rose=$(rose_since "$TB_DIR/counters.0" "$TB_DIR/counters.1" | awk '{ print $1 }' | sort -u | paste -sd' ')
	[ -z "$pattern" ] || grep -qE "$pattern" <<<"$rose" || why+="; no counter names it (of: $rose)"
	printf '%-18s %s; stall %s ms; grew by %s KB; rose: %s\n' "$name" "$did" "$stall" "$grew" "${rose:-nothing}" | cut -c1-300
	verdict "$name" "${why#; }" impi-server
	if [ -n "${job_is_dead:-}" ]; then job_kill; fi
}
declare -A mem log pid
