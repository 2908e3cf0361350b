# SPDX-License-Identifier: BSD-2-Clause
# Sourced: a relayd with memif legs in a namespace of its own, and the lab file that
# relay-pktgen plays in.  Everything is in $TMP; a trap cleans up.
# shellcheck shell=bash
#
#   relay-pktgen --memif-- private leg | relayd | global leg --memif-- relay-pktgen
#                          10.0.0.2              198.18.0.2
#
# Knobs: RELAYD (that of $B), PG_MTU (1500), PG_IDLE (pause), PG_CPUS ("0 1": control and generator, worker),
# PG_PATHS (4096: limits.paths), PG_GATEWAY (off: the object "gateway"), PG_WORKERS (1: more take the two CPUs in turn, each with a queue of its own), PG_SEALED (0), PG_SIX (0, with IPV6=1 1: by IPv6 on the global leg), PG_RING (10: 2^10 descriptors), PG_SAMPLES (a file: a line for
# each reading of relayd's counters, with its memory), PG_BETWEEN (a command that is run after
# each reading; it may wait, for somebody else who wants the machine).

set -u
: "${B:=build/gcc}"
RUN=pg$$
TMP=$(mktemp -d)
PG_NS=()
: "${PG_SIX:=${IPV6:+1}}" "${PG_SIX:=0}"

pg_cleanup()
{
	local rc=$? ns f
	trap - EXIT INT TERM
	[ "$(type -t pmd_stop)" != function ] || pmd_stop # of test/bench/relay.sh
	for f in "$TMP"/*.pid; do
		[ -f "$f" ] && pg_stop "$(cat "$f")"
	done
	[ "$PG_SIX" = 0 ] || cat "$TMP"/relayd*.log | grep -c "path to \[$PG_SIX_NET" >>"${SMOKE_SIX:-/dev/null}"
	for ns in "${PG_NS[@]}"; do ip netns del "$ns" 2>/dev/null; done
	if [ $rc -ne 0 ] && [ -s "$TMP/relayd.log" ]; then
		echo "--- relayd.log"
		tail -n 20 "$TMP/relayd.log"
	fi
	rm -rf "$TMP" "/var/run/dpdk/$RUN"* "/run/relayd/$RUN"*
	exit $rc
}
trap pg_cleanup EXIT
trap 'exit 130' INT TERM

pg_stop()
{
	local i
	[ -n "$1" ] && kill -TERM "$1" 2>/dev/null || return 0
	kill -CONT "$1" 2>/dev/null
	for ((i = 0; i < 80; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null
}

# pg_memif NAME ROLE: a vdev string.
pg_memif() { echo "net_memif$3,role=$2,socket=$TMP/$1.sock,socket-abstract=no,rsize=${PG_RING:-10},bsize=$PG_BSIZE"; }

# pg_six ADDRESS: its IPv6 address in the lab.
PG_SIX_NET=fd00:57a6::
pg_six() { local IFS=.; set -- $1; printf '%s%x:%x' $PG_SIX_NET $(($1 << 8 | $2)) $(($3 << 8 | $4)); }
# What relayd's configuration says then: its own address, and those of 16 remote relays.
pg_six_leg() { [ "${PG_SIX:-0}" = 0 ] || echo ", \"ipv6\": \"$(pg_six "$1")/96\""; }
pg_six_trunks() {
	local i list=
	[ "${PG_SIX:-0}" != 0 ] || return 0
	for ((i = 0; i < 16; i++)); do list+="${list:+,}198.18.16.$i=$(pg_six 198.18.16.$i)"; done
	echo " \"trunks\": { \"ipv6\": \"$list\" },"
}

# pg_conf NAME PRIVATE GLOBAL CPUS PRIV-ADDR GLOB-ADDR PRIMARY: relayd's configuration.
pg_conf()
{
	local sealing=off
	[ "${PG_SEALED:-0}" = 0 ] || sealing=on
	[ -s "$TMP/psk" ] ||
		(umask 077; echo "1 $(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')" >"$TMP/psk")
	cat >"$TMP/$1.json" <<END
{
 "cluster": { "name": "$1", "relays": [
	{ "private": "$7", "global": "${6%.*}.1" }, { "private": "$5", "global": "$6" } ] },
 "ports": {
  "private": { "device": "$2", "address": "$5", "prefix_len": 16, "mtu": $PG_MTU,
	"rx_descriptors": 1024, "tx_descriptors": 1024 },
  "global": { "device": "$3", "address": "$6", "prefix_len": 16, "mtu": $PG_MTU,
	"rx_descriptors": 1024, "tx_descriptors": 1024, "sealing": "$sealing"$(pg_six_leg "$6") } },
$(pg_six_trunks)
 "impi": { "server": "198.18.255.254:7810" },
 "sealing": { "key_file": "$TMP/psk" },
 "eal": { "lcores": "$4", "file_prefix": "$RUN-${1:0:20}", "hugepages": false, "memory_mb": ${PG_MEMORY_MB:-512} },
 "idle": "${PG_IDLE:-pause}",
 "limits": { "jobs": 64, "procs": 131072, "hosts": 256, "trunks": 128, "paths": ${PG_PATHS:-4096},
	"segments": ${PG_SEGMENTS:-16384}, "queue": 4096, "window": 4096 },
 "neighbours": { "entries": $((2 * ${PG_PATHS:-4096})) },
 "gateway": ${PG_GATEWAY:-{ \"enable\": false \}},
 "suci": { "global_mtu_start": $PG_MTU ${PG_SUCI:-} },
 "drain_ms": 1000, "log_level": "${PG_LOG:-info}",
 "pidfile": "$TMP/$1.pid", "stats_file": "$TMP/$1-stats.json"
}
END
}

# pg_start NAME: relayd in its namespace.
pg_start()
{
	local i ns=$RUN-$1
	if [[ " ${PG_NS[*]} " != *" $ns "* ]]; then
		ip netns add "$ns" && ip -n "$ns" link set lo up || return 1
		PG_NS+=("$ns")
	fi
	ip netns exec "$ns" "${RELAYD:-$B/bin/relayd}" "$TMP/$1.json" >>"$TMP/$1.log" 2>&1 &
	disown
	for ((i = 0; i < 200; i++)); do
		[ -f "$TMP/$1.pid" ] && grep -q '^relayd: ready$' "$TMP/$1.log" && return 0
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	echo "relayd $1 does not start:" >&2
	tail -n 5 "$TMP/$1.log" >&2
	return 1
}

# Scripts that the lab file names: a fresh stats file; relayd anew.
pg_scripts()
{
	cat >"$TMP/stats" <<END
#!/bin/bash
f=$TMP/relayd-stats.json
rm -f \$f
kill -USR1 "\$(cat $TMP/relayd.pid)" || exit 1
for ((i = 0; i < 500; i++)); do [ -s \$f ] && break; sleep 0.01; done
cat \$f
[ -n "${PG_SAMPLES:-}" ] || exit 0
p=\$(cat $TMP/relayd.pid)
kb=\$(sed -n 's/^Vm\(RSS\|Data\):[[:space:]]*\([0-9]*\) kB/, "\1": \2/p' /proc/\$p/status | tr -d '\n')
# What is there: DPDK's memory, the rings that the other end of a memif brings, the rest.
kb+=\$(awk '/^[0-9a-f]+-/ { what = \$6 ~ /memif_region/ ? "rings" : \$6 ~ /nohuge/ ? "packets" : "own" }
	/^(Size|Rss):/ { kb[\$1 what] += \$2 }
	END { printf ", \"packets\": %d, \"rings\": %d, \"own\": %d",
		kb["Rss:packets"], kb["Size:rings"], kb["Rss:own"] }' /proc/\$p/smaps)
files=(/proc/\$p/fd/*)
printf '{"s": %s, "pid": %s%s, "files": %s, "stats": %s}\n' "\$EPOCHSECONDS" \
	"\$p" "\$kb" "\${#files[@]}" "\$(tr -d '\n\t' <\$f)" >>"${PG_SAMPLES:-}"
${PG_BETWEEN:-:} >&2
END
	cat >"$TMP/restart" <<END
#!/bin/bash
p=\$(cat $TMP/relayd.pid)
kill -KILL \$p
for ((i = 0; i < 200; i++)); do kill -0 \$p 2>/dev/null || break; sleep 0.02; done
rm -f $TMP/relayd.pid $TMP/*.sock
: >$TMP/relayd.log
for ((i = 0; i < 100; i++)); do ip -n $RUN-relayd link show relay-priv >/dev/null 2>&1 || break; sleep 0.02; done
ip netns exec $RUN-relayd $PWD/$B/bin/relayd $TMP/relayd.json >>$TMP/relayd.log 2>&1 </dev/null &
for ((i = 0; i < 400; i++)); do grep -q '^relayd: ready$' $TMP/relayd.log && exit 0; sleep 0.05; done
exit 1
END
	chmod +x "$TMP/stats" "$TMP/restart"
}

# pg_lab: relayd with both legs at the generator.
pg_lab()
{
	local key=
	: "${PG_MTU:=1500}"
	PG_BSIZE=$((PG_MTU > 1900 ? 10240 : 2048))
	local g w i cpus queues= six=
	[ "${PG_SIX:-0}" = 0 ] || six=", \"ipv6\": \"$PG_SIX_NET/96\""
	read -r g w <<<"${PG_CPUS:-0 1}"
	cpus=0@$g,1@$w
	for ((i = 2; i <= ${PG_WORKERS:-1}; i++)); do cpus+=,$i@$((i % 2 ? w : g)); done
	pg_conf relayd "$(pg_memif priv server 0)" "$(pg_memif glob server 1)" "$cpus" \
		10.0.0.2 198.18.0.2 10.0.0.1
	if [ "${PG_WORKERS:-1}" -gt 1 ]; then
		sed -i "s/\"idle\":/\"workers\": $PG_WORKERS, \"idle\":/" "$TMP/relayd.json"
		queues="\"shards\": $PG_WORKERS, \"queues\": true, "
	fi
	pg_scripts
	[ "${PG_SEALED:-0}" = 0 ] || key=$TMP/psk
	cat >"$TMP/lab.json" <<END
{
 "private": { "port": "$(pg_memif priv client 0)", $queues"mtu": $PG_MTU, "prefix_len": 16,
	"relay": "10.0.0.2", "relay_global": "198.18.0.2", "primary": "10.0.0.1", "first": "10.0.16.0" },
 "global": { "port": "$(pg_memif glob client 1)", $queues"mtu": $PG_MTU, "prefix_len": 16,
	"relay": "198.18.0.2", "first": "198.18.16.0"$six },
 "stats": "$TMP/stats", "restart": "$TMP/restart", "key_file": "$key",
 "lcores": "0@$g", "file_prefix": "$RUN-gen", "sleep": ${PG_SLEEP:-false}
}
END
	pg_start relayd
}
