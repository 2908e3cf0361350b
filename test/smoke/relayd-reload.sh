#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files that change under a job over two relays that checks every byte: settings, policies, who may
# connect, and the keys of both sites in the three steps of a rotation.  Nothing is lost, and the job
# stands still no longer than without (it measures that itself).  A wrong file changes nothing.
#
#	RELOADS=20	so many
#	STALL_MS=50	so long it may stand still where it does not without them
# ipv6: yes
# timeout: 150
# alone: how long a job stands still is measured
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root relayd-reload
B=$(realpath "${B:-build/gcc}")
: "${RELOADS:=20}" "${STALL_MS:=50}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
NODES=1 RELAYS=1 PPN=1
TB_RELAY_CONF='"log_level": "info", "drain_ms": 1000, "trunks": { "policy": "dest", "weight": 100, "pairs": "" }'
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
testbed_relayd "$B" afe0 bfe0 || fail "relayd: does not start"
tell_logs() { tail -n 8 "$TB_LOG"/job-*.log "$TB_LOG"/relayd-*.log; }

conf() { echo "$TB_DIR/conf/$1.json"; }
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
says() { grep -q "$1" "$TB_LOG/job-a.log"; }
gone() { ! testbed_alive "$1"; }
start() {
	rm -f "$TB_DIR/enough"
	testbed_job "$B" job "$B/test/mpi/failover" 3600 100000 "$TB_DIR/enough" 4 10
	testbed_wait 40 "the job to run" says '^running' || fail "the job does not start"
}
finish() { # NAME
	local s why=
	touch "$TB_DIR/enough"
	for s in a b; do
		testbed_wait 30 "the end of job-$s" gone "job-$s" || why+="side $s hangs "
		{ wait "$(cat "$TB_DIR/pid-job-$s")"; } 2>/dev/null || why+="side $s ended with status $? "
	done
	says '^ok' || why+="it does not say ok"
	verdict "$1" "$why"
}
# worst COMMAND...: sets STALL, the longest that the job stood still meanwhile, ms
worst() {
	local before
	before=$(wc -l <"$TB_LOG/job-a.log")
	"$@"
	STALL=$(sed -n "$((before + 1)),\$p" "$TB_LOG/job-a.log" |
		awk '$1 == "stall" && $2 > m { m = $2 } END { print m + 0 }')
}

# ---- one reload ----------------------------------------------------------------------------
reloads=0 refused=
reload() { # FRONTEND: by the control socket and by the signal in turn
	local before
	reloads=$((reloads + 1))
	if ((reloads % 2)); then
		ctl "$1" reload >"$TB_DIR/said" 2>&1 || refused="$1: $(head -1 "$TB_DIR/said")"
	else
		before=$(grep -c 'reload: .* taken over' "$TB_LOG/relayd-$1.log")
		kill -HUP "$(cat "$TB_DIR/pid-relayd-$1")"
		testbed_wait 10 "$1 to reload" more "$1" "$before" || refused="$1: SIGHUP did nothing"
	fi
}
more() { (($(grep -c 'reload: .* taken over' "$TB_LOG/relayd-$1.log") > $2)); } # FRONTEND BEFORE

keys() { (umask 077; printf '%s\n' "$@" >"$TB_DIR/conf/psk.new" && mv "$TB_DIR/conf/psk.new" "$TB_DIR/conf/psk"); }
number=1 key=$(cat "$TB_DIR/conf/psk")
# rotate STEP: of three; both sites have done it before the next.
rotate() {
	case $1 in
	0)
		number=$((number + 1))
		next="$number $(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')"
		keys "$key" "$next"
		;;
	1) keys "$next" "$key" ;;
	2)
		keys "$next"
		key=$next
		;;
	esac
}
# edit FRONTEND N: some other value of a key that can be reloaded
edit() {
	local policies=(dest source stripe) levels=(info debug) c
	c=$(conf "$1")
	sed -i -e "s/\"log_level\": \"[a-z]*\"/\"log_level\": \"${levels[$2 % 2]}\"/" \
		-e "s/\"drain_ms\": [0-9]*/\"drain_ms\": $((1000 + $2))/" \
		-e "s/\"policy\": \"[a-z]*\"/\"policy\": \"${policies[$2 % 3]}\"/" \
		-e "s/\"weight\": [0-9]*/\"weight\": $((100 - $2 % 7))/" \
		-e "s/\"pairs\": \"[^\"]*\"/\"pairs\": \"198.51.100.0\/24=${policies[$2 / 2 % 3]}\"/" \
		-e "s/\"impi\": {[^\"]*\(\"allow\": \"[^\"]*\",\)\?/\"impi\": { \"allow\": \"10.0.0.0\/24,10.$2.0.0\/16\",/" "$c"
}
round() { # N: a step of the keys, other settings, a reload at both sites
	rotate $(($1 % 3))
	for fe in afe0 bfe0; do
		edit $fe "$1"
		reload $fe
		sleep 0.1
	done
}
rounds() { # FROM N
	local i
	for ((i = $1; i < $1 + $2; i++)); do round $i; done
}

# ---- the job, without and with ---------------------------------------------------------------
start
n=$((RELOADS / 2)) from=0 over=
n=$(((n + 2) / 3 * 3)) # whole rotations
# What a machine that does other things stands still for is no reload's; three goes.
for go in 1 2 3; do
	worst sleep "$((RELOADS / 5))"
	quiet=$STALL
	worst rounds $from $n
	from=$((from + n))
	echo "longest stall: $quiet ms without, $STALL ms with $((2 * n)) reloads"
	over=
	((STALL <= STALL_MS || STALL <= 2 * quiet)) && break
	over="it stood still $STALL ms, and $quiet ms without reloads"
done
verdict "the job goes on through $reloads reloads" "$over"
verdict "all reloads are done" "$refused"
grep -q "\"log_level\": \"$(ctl afe0 set | awk '$1 == "log_level" { print $2 }')\"" "$(conf afe0)"
succeeded $? "the last file is what runs"
ctl afe0 reload --check >"$TB_DIR/said" && grep -q 'nothing is different' "$TB_DIR/said"
succeeded $? "--check: nothing is different"

# ---- how paths are, of one that is up, too -----------------------------------------------------
cp "$(conf afe0)" "$TB_DIR/good"
sed -i -e '0,/{/s//{ "suci": { "global_cc": "bbr", "keepalive_ms": 500, "credit": 300 },/' "$(conf afe0)"
ctl afe0 reload >"$TB_DIR/said"
grep -q 'suci.global_cc: cubic -> bbr$' "$TB_DIR/said" && grep -q 'suci.credit: .*needs a restart' "$TB_DIR/said"
succeeded $? "settings of paths are taken over, their credit needs a restart"
used=$(ctl afe0 paths --kind trunk --json | sed -n 's/.*"cc": "\([a-z]*\)".*/\1/p' | sort -u)
verdict "the trunk that is up has another congestion control" "$([ "$used" = bbr ] || echo "it has $used")"
# Who asks at once after a reload sees it, and not what was looked at before.
cp "$TB_DIR/good" "$(conf afe0)"
used=$(python3 - "$TB_ID-afe0" <<-'END'
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(f"/run/relayd/{sys.argv[1]}.sock")
	f = s.makefile("rw")
	for number, method in enumerate(("paths", "reload", "paths")):
	    f.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}) + "\n")
	    f.flush()
	    got = json.loads(f.readline())["result"]
	print(*{p["cc"] for p in got["paths"] if p["kind"] == "trunk"})
END
)
verdict "and back, for those who ask at once" "$([ "$used" = cubic ] || echo "it has $used")"

# ---- ports that are reset under the job --------------------------------------------------------
done_resets() { ctl afe0 ports --json | grep -o '"resets_done": [0-9]*' | sort | uniq -c | tr -s ' '; }
was_reset() { (($(grep -c 'leg: .* was reset' "$TB_LOG/relayd-afe0.log") >= $1)); }
segments() { ctl afe0 status --json | sed -n 's/^  "segments": \([0-9]*\).*/\1/p'; }
for n in 1 2; do
	ctl afe0 reset "$([ $n = 1 ] && echo global || echo private)" >"$TB_DIR/said"
	testbed_wait 10 "the port" was_reset $n
done
succeeded $? "both ports are reset"
verdict "and that is counted" "$([ "$(done_resets)" = ' 2 "resets_done": 1' ] || done_resets)"
before=$(segments)
went_on() { (($(segments) > before + 1000)); }
testbed_wait 20 "the job" went_on
succeeded $? "the job goes on over ports that were reset"

# ---- what needs a restart, what is wrong ------------------------------------------------------
cp "$(conf afe0)" "$TB_DIR/good"
sed -i -e 's/"log_level": "[a-z]*"/"log_level": "warning"/' -e 's/"hugepages"/"extra": ["--no-pci"], &/' "$(conf afe0)"
ctl afe0 reload --check >"$TB_DIR/said" && grep -q 'eal.extra: .*needs a restart' "$TB_DIR/said" &&
	grep -q 'log_level: .* -> warning$' "$TB_DIR/said" && ! ctl afe0 set | grep -q 'log_level *warning'
succeeded $? "--check: the difference, and what needs a restart; nothing is changed"
ctl afe0 reload >"$TB_DIR/said" && ctl afe0 set | grep -q 'log_level *warning'
succeeded $? "what can be taken over is, what cannot stays"
cp "$TB_DIR/good" "$(conf afe0)"
ctl afe0 reload >/dev/null
before=$(ctl afe0 set)
sed -i -e 's/"drain_ms": [0-9]*/"drain_ms": 7/' -e 's/"policy": "[a-z]*"/"policy": "dset"/' "$(conf afe0)"
! ctl afe0 reload 2>"$TB_DIR/said" && grep -q 'afe0.json:[0-9]*: /trunks/policy: "dset" is not one of' "$TB_DIR/said"
succeeded $? "a wrong file is refused, with place and reason"
kill -HUP "$(cat "$TB_DIR/pid-relayd-afe0")"
testbed_wait 10 "the refusal" grep -q 'nothing was changed' "$TB_LOG/relayd-afe0.log"
succeeded $? "and by SIGHUP, in the log"
verdict "and nothing of it is taken over" "$([ "$before" = "$(ctl afe0 set)" ] || echo "$before" "$(ctl afe0 set)")"
cp "$TB_DIR/good" "$(conf afe0)"
chmod 0644 "$TB_DIR/conf/psk"
! ctl afe0 reload 2>"$TB_DIR/said" && grep -q 'sealing.key_file: .*chmod' "$TB_DIR/said"
succeeded $? "a key file that others may read is refused"
chmod 0600 "$TB_DIR/conf/psk"
finish "the job: nothing lost, nothing twice"

# Paths opened from now on have the last key: here by a reload, there by the start.
testbed_stop relayd-bfe0 20 >/dev/null
testbed_relayd "$B" bfe0 || fail "relayd: does not start again"
start
used=$(ctl afe0 paths --kind trunk --json | sed -n 's/.*"key": \([0-9]*\).*/\1/p' | sort -u)
verdict "a new trunk has the key $number" "$([ "$used" = "$number" ] || echo "it has $used")"
finish "a job under the new key"
testbed_down
verdict "no process or namespace is left" "$(testbed_leftovers)"
exit $rc
