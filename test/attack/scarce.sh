# SPDX-License-Identifier: BSD-2-Clause
# Sourced by test/attack/run: rows in which a process under attack runs out of something.  Limits
# are set from outside, on processes of this testbed, and taken back after the row.
# shellcheck shell=bash

# the_program NODE NAME: its process there.  Where processes come and go, /proc may be read past one:
# a second look finds it.
the_program()
{
	local found k
	for k in 1 2 3 4 5; do
		found=$(ip netns pids "$TB_ID-$1" | while read -r p; do
			[ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$2" ] && echo "$p"
		done | head -1)
		[ -z "$found" ] || break
		sleep 0.2
	done
	echo "$found"
}
said() { grep -c "$2" "$TB_LOG/$1.log"; } # LOG PATTERN

# scarce NAME PID LIMIT VALUE LOG PATTERN COUNTER COMMAND...: COMMAND beside the job while PID has no
# more; PATTERN must be said in LOG more often than before ("": nothing need be), and a relay's COUNTER rise.
scarce()
{
	local name=$1 who=$2 limit=$3 value=$4 in=$5 pattern=$6 counter=$7 before did why="" old
	shift 7
	row_begin
	[ -n "$who" ] || why="; there is no such process"
	before=$(said "$in" "${pattern:-.}")
	old=$(prlimit --pid "$who" "--$limit" --noheadings --output SOFT,HARD --raw | tr ' ' :)
	prlimit --pid "$who" "--$limit=$value:" || why+="; the limit cannot be set"
	did=$("$@" 2>&1) || why+="; the attack had its way or did not run: $(tail -1 <<<"$did")"
	prlimit --pid "$who" "--$limit=${old:-unlimited}"
	[ -d "/proc/$who" ] || why+="; the process is gone"
	[ -z "$pattern" ] || [ "$(said "$in" "$pattern")" -gt "$before" ] || why+="; the log does not say '$pattern'"
	sleep 1
	row_end "$name" "$(tail -1 <<<"$did")" "$counter" "$why"
}
descriptors() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
address_space() { awk '$1 == "VmSize:" { print $2 * 1024 }' "/proc/$1/status"; }

# hold_then_probe FLOODER ADDR PORT FROM: silent connections; when they are gone a client is heard.
hold_then_probe()
{
	local sources=() k worst
	for ((k = 100; k < 120; k++)); do
		[ "$1" = el ] && sources+=("10.0.0.$k") || sources+=("198.51.100.$k")
	done
	evil "$1" hold "$2" "$3" "$((S + 1))" 300 "${sources[@]}"
	worst=$(evil "$4" probe "$2" "$3" 1)
	echo "afterwards a start took $worst s"
	awk -v w="$worst" 'BEGIN { exit !(w <= 10) }'
}
emfile_relay()
{
	local p
	p=$(the_program afe0 relayd)
	scarce emfile-relay "$p" nofile $(($(descriptors "$p") + 6)) relayd-afe0 'a listener pauses' control/accept_pauses \
		hold_then_probe el 10.0.0.254 7811 a1
}
# While a job runs its server listens to nobody: another one, which waits for its clients.
second_server()
{
	testbed_spawn srv second env "$(_tb_auth)" "$B/bin/impi-server" -server 2 -port 7830
	testbed_wait 10 "a second impi-server" grep -q ':7830' "$TB_LOG/second.log"
	second=$(ip netns pids "$TB_ID-srv" | while read -r p; do
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q '^[^ ]*impi-server .*7830' && echo "$p"
	done | head -1)
}
emfile_server()
{
	second_server
	scarce emfile-server "$second" nofile $(($(descriptors "$second") + 4)) second 'accept: Too many open files' '' \
		hold_then_probe ew 198.51.100.2 7830 ew
	testbed_stop second 5 >/dev/null 2>&1
}

# No page more than it has: what cannot be begun is refused, counted, and the relay goes on.
# Who has proved nothing takes so little that it is there; a client's job is what there is no memory for.
crowd_and_client()
{
	local did key
	key=$(_tb_auth)
	hold_then_probe el 10.0.0.254 7811 a1 || return
	did=$(evil a1 client 10.0.0.254 7811 "${key#*=}" 5)
	echo "$did"
	[ "$did" = "a client is refused" ]
}
memory_relay()
{
	local p
	p=$(the_program afe0 relayd)
	scarce memory-clients "$p" as "$(address_space "$p")" relayd-afe0 'out of memory' control/refused_memory \
		crowd_and_client
	scarce memory-requests "$p" as "$(address_space "$p")" relayd-afe0 '' '' \
		evil afe0 rpc "/run/relayd/$TB_ID-afe0.sock" "$S" "${SEED:-1}"
}
memory_server()
{
	second_server
	scarce memory-server "$second" as "$(address_space "$second")" second '' '' \
		hold_then_probe ew 198.51.100.2 7830 ew
	testbed_stop second 5 >/dev/null 2>&1
}

# A capture ends when the disk is full, and says so.
full_disk()
{
	local dir=$TB_DIR/full why="" status
	row_begin
	mkdir -p "$dir" && mount -t tmpfs -o size=64k full "$dir" || why="; no full disk"
	timeout -k 5 60 "$B/bin/relayctl" -s "$TB_ID-afe0" capture -w "$dir/frames" >"$TB_DIR/full.log" 2>&1
	status=$?
	grep -q 'No space left' "$TB_DIR/full.log" || why+="; status $status: $(tail -1 "$TB_DIR/full.log")"
	umount "$dir"
	row_end full-disk "$(tail -1 "$TB_DIR/full.log")" '' "$why"
}

# --- what is written when the disk is full ------------------------------------------------
fill_disk() { dd if=/dev/zero of="$DISK/fill" bs=4k status=none 2>/dev/null; ! dd if=/dev/zero of="$DISK/more" bs=4k count=1 status=none 2>/dev/null; }
free_disk() { rm -f "$DISK/fill" "$DISK/more"; }
stats_whole() { python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$DISK/afe0.json" 2>&1 | tail -1; }

# The log and the stats file of a relay that goes on.
disk_relay()
{
	local p why="" before uptime
	p=$(the_program afe0 relayd)
	row_begin
	kill -USR1 "$p"
	testbed_wait 10 "a stats file" test -s "$DISK/afe0.json" || why+="; no stats file"
	fill_disk || why+="; the disk is not full"
	before=$(ctl afe0 drops --all | wc -l)
	kill -USR1 "$p"
	evil el squat 10.0.0.254 7811 "$S" 12345 >"$TB_DIR/squat.full" || why+="; a client had its way"
	[ "$(ctl afe0 drops --all | wc -l)" -eq "$before" ] || why+="; the control socket does not answer"
	why+=$(stats_whole)
	free_disk
	uptime=$(grep uptime_s "$DISK/afe0.json")
	kill -USR1 "$p"
	testbed_wait 10 "a new stats file" eval '[ "$(grep uptime_s "$DISK/afe0.json")" != "$uptime" ]' || why+="; nothing is written afterwards"
	row_end disk-relay "log, stats: $(tail -1 "$TB_DIR/squat.full")" '' "$why"
}
# The log of a server that goes on; the pidfile of one that starts.
disk_server()
{
	local why="" other
	row_begin
	fill_disk || why+="; the disk is not full"
	ln -sf "$DISK/second" "$TB_LOG/second.log"
	testbed_spawn srv second env "$(_tb_auth)" "$B/bin/impi-server" -server 2 -port 7830 -v
	testbed_wait 10 "a server without a log" server_hears || why+="; it does not serve"
	hold_then_probe ew 198.51.100.2 7830 ew >"$TB_DIR/hold.full" || why+="; $(tail -1 "$TB_DIR/hold.full")"
	testbed_alive second || why+="; it is gone"
	other=$(testbed_exec srv env "$(_tb_auth)" timeout 20 "$B/bin/impi-server" -server 2 --pidfile "$DISK/pid" 2>&1)
	grep -q 'pidfile.*No space left' <<<"$other" || why+="; no word of its pidfile: $(tail -1 <<<"$other")"
	[ ! -e "$DISK/pid" ] || why+="; an empty pidfile is left"
	testbed_stop second 5 >/dev/null 2>&1
	rm -f "$TB_LOG/second.log" "$DISK/second"
	free_disk
	row_end disk-server "log, pidfile: $(tail -1 "$TB_DIR/hold.full")" '' "$why"
}
server_hears() { evil ew probe 198.51.100.2 7830 0.1 >"$TB_DIR/hears" && awk '{ exit !($1 < 5) }' "$TB_DIR/hears"; }
# A launcher whose output has no room: the job of one cluster runs and ends.
disk_job()
{
	local why="" env
	row_begin
	fill_disk || why+="; the disk is not full"
	mapfile -t env < <(testbed_mpi_env a)
	testbed_exec a0 env "${env[@]}" timeout 60 mpirun -np 2 --map-by node "$B/test/mpi/failover" 1 1000 >"$DISK/out" 2>"$TB_DIR/job.full"
	[ $? -ne 124 ] || why+="; it does not end"
	free_disk
	row_end disk-job "output: $(wc -c <"$TB_DIR/job.full") bytes of errors" '' "$why"
}

# --- a limit of the kernel's on what a relay may take more -------------------------------
memory_cgroup()
{
	local group=/sys/fs/cgroup/memory/$TB_ID p why="" did
	p=$(the_program afe0 relayd)
	if ! mkdir "$group" 2>/dev/null || ! echo $((bound_kb * 1024)) >"$group/memory.limit_in_bytes"; then
		rmdir "$group" 2>/dev/null
		echo "SKIP attack: memory-cgroup: no memory controller to make a group in"
		return
	fi
	row_begin
	echo "$p" >"$group/cgroup.procs" || why+="; it cannot be put into the group"
	did=$(hold_then_probe el 10.0.0.254 7811 a1 2>&1) || why+="; $(tail -1 <<<"$did")"
	evil ew hello eth0 "$S" $A0 "$(leg_mac afe0 glob0)" 1500 >/dev/null
	did="at most $(($(cat "$group/memory.max_usage_in_bytes") / 1024)) KB more, limit $bound_kb KB"
	grep -q 'oom_kill 0' "$group/memory.oom_control" || why+="; the kernel ended it"
	sleep 1
	row_end memory-cgroup "$did" control/strangers_evicted "$why"
	echo "$p" >/sys/fs/cgroup/memory/cgroup.procs
	rmdir "$group" 2>/dev/null
}
