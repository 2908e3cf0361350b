# SPDX-License-Identifier: BSD-2-Clause
# Sourced: nodes with an mpispd each, as namespaces on one switch.
# shellcheck shell=bash
#
#	spd_up N [MS]		n0 .. n(N-1), 10.99.0.1 ..; packets take MS ms each way
#	spd_conf PROGRAM...	configuration for them: $SPD/conf.json; knobs below
#	spd_start		a daemon on each; logs $SPD/n0.log ..
#
# Knobs: SPD_COMPUTE, SPD_SPARES, SPD_MORE (members of the file, with a comma before them); SPD_FILE
# another file for spd_daemon.

SPD=$(mktemp -d /tmp/spd.XXXXXX)
SPD_ID=spd$$
: "${SPD_COMPUTE:=4}" "${SPD_SPARES:=2}" "${SPD_MORE:=}"

spd_ns() { echo "$SPD_ID-$1"; }
spd_pid() { cat "$SPD/$1.pid"; }
spd_alive() { kill -0 "$(spd_pid "$1")" 2>/dev/null; }

spd_down() {
	local n
	for n in "${spd_nodes[@]:-}"; do
		[ -z "$n" ] || for p in $(ip netns pids "$(spd_ns "$n")" 2>/dev/null); do { kill -9 "$p" && wait "$p"; } 2>/dev/null; done
	done
	printf "netns del $SPD_ID-%s\n" hub "${spd_nodes[@]:-}" | ip -force -batch - 2>/dev/null
	rm -rf "$SPD"
}

spd_up() {
	local i n hub=$SPD_ID-hub links ports='' # for ip -batch: of all, and within the hub
	spd_nodes=()
	links="netns add $hub"$'\n'"link add br0 netns $hub type bridge"$'\n'
	for ((i = 0; i < $1; i++)); do
		spd_nodes+=("n$i")
		links+="netns add $SPD_ID-n$i"$'\n'
		links+="link add p$i netns $hub type veth peer name eth0 netns $SPD_ID-n$i"$'\n'
		ports+="link set p$i master br0 up"$'\n'
	done
	ip -batch - <<<"$links" && ip -n "$hub" -batch - <<<"link set br0 up"$'\n'"$ports" || return
	for n in "${spd_nodes[@]}"; do
		printf '%s\n' 'link set lo up' "addr add 10.99.0.$((${n#n} + 1))/24 dev eth0" 'link set eth0 up' |
			ip -n "$SPD_ID-$n" -batch - || return
	done
}

spd_conf() {
	local units='' at='' n i=0 words
	for n in "${spd_nodes[@]}"; do
		units+="${units:+,}\"$n\""
		at+="${at:+,}\"$n\":\"10.99.0.$((++i))\""
	done
	words=$(printf ',"%s"' "$@")
	(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$SPD/key")
	cat >"$SPD/conf.json" <<END
{ "universe": { "name": "smoke", "psk_file": "$SPD/key", "state": "$SPD/state", "start_timeout_s": 60 },
  "units": { $at },
  "clusters": { "steps": { "units": [ $units ], "program": [ ${words#,} ],
                "compute": $SPD_COMPUTE, "spares": $SPD_SPARES } }$SPD_MORE }
END
}

# spd_daemon NODE [OPTION...]
spd_daemon() {
	local n=$1
	shift
	mkdir -p "$SPD/state"
	ip netns exec "$(spd_ns "$n")" "$B/bin/mpispd" --unit "$n" --socket "$SPD/$n.sock" "$@" "${SPD_FILE:-$SPD/conf.json}" \
		>>"$SPD/$n.log" 2>&1 </dev/null &
	echo $! >"$SPD/$n.pid"
}

spd_start() {
	local n
	for n in "${spd_nodes[@]}"; do
		: >"$SPD/$n.log"
		spd_daemon "$n" --new
	done
}

# The newest process that plays a rank.
spd_rank_pid() { sed -n "s/^takeover: rank $1 is process \([0-9]*\).*/\1 /p" "$SPD"/n*.log | tail -1; }
spd_rank_node() { grep -l "^takeover: rank $1 is process $(spd_rank_pid "$1")" "$SPD"/n*.log | sed 's/.*\/\(n[0-9]*\).log/\1/'; }
# spd_wait WHAT COMMAND...: until it succeeds; as long as a loaded machine takes
spd_wait() {
	local i what=$1
	shift
	for ((i = 0; i < 1200; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	echo "waited a minute for $what"
	return 1
}
