# Sourced by test/attack/run: rows in which a process under attack runs out of something.  Limits
# are set from outside, on processes of this testbed, and taken back after the row.
# shellcheck shell=bash

# the_program NODE NAME: its process there.
the_program()
{
	ip netns pids "$TB_ID-$1" | while read -r p; do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" = "$2" ] && echo "$p"
	done | head -1
}
said() { grep -c "$2" "$TB_LOG/$1.log"; } # LOG PATTERN

# scarce NAME PID LIMIT VALUE LOG PATTERN COMMAND...: COMMAND beside the job while PID has no more;
# PATTERN must be said in LOG more often than before ("": nothing need be).
scarce()
{
	local name=$1 who=$2 limit=$3 value=$4 in=$5 pattern=$6 before did why="" old
	shift 6
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
	row_end "$name" "$(tail -1 <<<"$did")" '' "$why"
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
	scarce emfile-relay "$p" nofile $(($(descriptors "$p") + 6)) relayd-afe0 'a listener pauses' \
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
	scarce emfile-server "$second" nofile $(($(descriptors "$second") + 4)) second 'accept: Too many open files' \
		hold_then_probe ew 198.51.100.2 7830 ew
	testbed_stop second 5 >/dev/null 2>&1
}

# No page more than it has: requests are refused for want of memory, or served.
memory_relay()
{
	local p
	p=$(the_program afe0 relayd)
	scarce memory-relay "$p" as "$(address_space "$p")" relayd-afe0 '' \
		evil afe0 rpc "/run/relayd/$TB_ID-afe0.sock" "$S" "${SEED:-1}"
}
memory_server()
{
	second_server
	scarce memory-server "$second" as "$(address_space "$second")" second '' \
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
