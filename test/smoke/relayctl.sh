#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayctl and the control socket while an MPI job runs over two relays: every command, as
# text and as JSON; captures read back; what goes wrong, by exit status; hostile clients.
# ipv6: yes
# timeout: 300
# alone: turns in a second are counted
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root relayctl
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

give_up() {
	verdict "$1" "$2"
	exit 1
}
ctl() { "$B/bin/relayctl" -s "$TB_ID-afe0" "$@"; }
# json NAME PYTHON-EXPRESSION COMMAND...: over v, its JSON; what is wrong, or nothing.
json() {
	local name=$1 expr=$2
	shift 2
	ctl --json "$@" >"$TB_DIR/out.json" 2>"$TB_DIR/err" || { echo "$name: status $?: $(cat "$TB_DIR/err") "; return; }
	python3 - "$name" "$expr" "$TB_DIR/out.json" 2>&1 <<'PY'
import json, sys
name, expr, path = sys.argv[1:]
v = [json.loads(l) for l in open(path)] if name.startswith("lines") else json.load(open(path))
if not eval(f"({expr})"):
    print(f"{name}: {expr} does not hold: {json.dumps(v)[:300]} ")
PY
}
status_is() { # WANTED COMMAND...: what is wrong, or nothing
	local want=$1 got
	shift
	"$@" >"$TB_DIR/out" 2>"$TB_DIR/err"
	got=$?
	[ $got -eq "$want" ] || echo "$* gave $got instead of $want: $(head -c 200 "$TB_DIR/err") "
	[ $got -eq 0 ] || [ -s "$TB_DIR/err" ] || echo "$* gave no reason "
}

testbed_up && testbed_wanem "$B/bin/wanem" --delay-ms 2 || give_up testbed "not built"
for fe in afe0 bfe0; do testbed_relayd "$B" $fe || give_up relayd "$fe does not start"; done
SOCK=/run/relayd/$TB_ID-afe0.sock
verdict "socket is root's alone" "$([ "$(stat -c '%a %U' "$SOCK")" = '600 root' ] || stat -c '%a %U' "$SOCK")"
verdict "without a job" "$(json jobs 'v == []' jobs)$(json paths 'v == []' paths)$(status_is 0 ctl jobs)$(json advise \
	'v["trunks"] == 0 and v["reasons"]' advise -d 0.2)$(json lanes 'v["lanes"] == []' lanes -d 0.2)"

# A client that says nothing; then a job of two clusters, one of which comes first.
starts() { # EXPRESSION: until it holds, 30 s at most
	for _ in {1..150}; do
		WHY=$(json starts "$1" starts)
		[ -z "$WHY" ] && return
		sleep 0.2
	done
}
verdict "nothing starts" "$(json starts 'v == []' starts)$(ctl starts | grep -qx 'no jobs that start' || echo 'no text ')"
testbed_spawn a0 silent bash -c "exec 3<>/dev/tcp/$(testbed_addr afe0)/7811; exec sleep 30"
starts 'len(v) == 1 and "client" not in v[0] and "job" not in v[0] and
	v[0]["waits_for"].endswith(" authentication and rank")'
verdict "a client that is silent" "$WHY"
testbed_stop silent
starts 'v == []'
testbed_server "$B" || give_up impi-server "does not start"
testbed_job_part "$B" a mpi "$B/examples/pingpong" --budget-ms 400000
starts 'len(v) == 1 and v[0]["client"] == 0 and v[0]["port"] == 7811 and v[0]["age_ms"] >= 0 and
	v[0]["waits_for"] == "the other clients to join at the server"'
verdict "a job that starts" "$WHY$(json jobs 'v == []' jobs)$(status_is 0 ctl starts)$(
	grep -q 'the other clients to join at the server' "$TB_DIR/out" || echo 'not in the table ')"
testbed_job_part "$B" b mpi "$B/examples/pingpong" --budget-ms 400000
testbed_wait 30 "the job to run" grep -q 'every byte checked' "$TB_LOG/mpi-a.log" || give_up job "does not start"

verdict "status" "$(json status 'v["jobs"] == 1 and v["consistent"] is True and v["phase"] == "run" and
	v["workers"][0]["uptime_us"] >= v["workers"][0]["busy_us"] > 0' status --check)$(status_is 0 ctl status)"
verdict "jobs" "$(json jobs 'len(v) == 1 and v[0]["processes"] == 4 and v[0]["local_up"] == 2 and
	v[0]["trunks_up"] == 1' jobs)$(status_is 0 ctl jobs)"
verdict "paths" "$(json paths 'len(v) == 3 and all(p["sealed"] == (p["leg"] == "global") and p["cc"] == "cubic" and
	p["mtu"] > 1000 and p["rtt_us"] > 0 for p in v)' paths)$(json kind 'len(v) == 1 and v[0]["kind"] == "trunk" and
	v[0]["key"] == 1 and v[0]["rtt_min_us"] > 3000' paths --kind trunk)$(status_is 0 ctl paths)$(
	grep -Eq '^ *[0-9]+  trunk .*  yes  cubic' "$TB_DIR/out" || echo 'no trunk that is sealed in the table ')"
verdict "tables fit the terminal" "$(python3 test/smoke/_relayctl_tables.py "$B/bin/relayctl" "$TB_ID-afe0" 2>&1)"
verdict "drops" "$(json drops 'isinstance(v, dict) and all(n > 0 for n in v.values())' drops)$(json all \
	'v["suci/drop_seal"] == 0' drops --all)$(json rates \
	'all(set(d) == {"count", "per_s"} for d in v.values())' drops --all -d 0.2)$(status_is 0 ctl drops --all)"
verdict "gateway" "$(json gateway 'v["enabled"] and v["channel"] == []' gateway)$(status_is 0 ctl gateway)"
verdict "lanes" "$(json lanes 'v["count"] >= 2 and v["other_bytes"] == 0 and
	{l["direction"] for l in v["lanes"]} == {"in", "out"} and
	sum(l["bytes"] for l in v["lanes"]) > 0 and
	all((l["src"] < 2) != (l["dst"] < 2) for l in v["lanes"])' lanes)$(status_is 0 ctl lanes -d 0.2)$(json none \
	'len(v["lanes"]) == 1' lanes -d 0.2 -n 1)"
verdict "top" "$(json 'lines of top' 'len(v) == 2 and all(t["interval_s"] > 0.15 and t["trunks"][0]["tx_segments_per_s"] > 0 and
	0 < t["status"]["workers"][0]["busy_pct"] <= 100 and t["lanes"] for t in v)' top -n 2 -d 0.2)$(status_is 0 \
	ctl top --once -d 0.3)$(grep -q 'busy %' "$TB_DIR/out" && grep -q 'tx bit/s' "$TB_DIR/out" || echo 'no tables ')"
verdict "advise" "$(json advise 'v["trunks"] == v["active"] == 1 and v["useful"] >= 1 and v["pairs"] >= 1 and
	v["trunk"][0]["rate_bps"] > 0 and v["reasons"] and v["matrix"]' advise -d 1)$(status_is 0 ctl advise -d 0.3)$(
	grep -q 'this traffic can use' "$TB_DIR/out" || echo 'no sentence ')"
verdict "advise on what comes" "$(json received '(r := v["received"]) and (t := r["trunk"][0]) and r["active"] == 1 and r["reasons"] and
	(t["path"], t["peer"]) == (v["trunk"][0]["path"], v["trunk"][0]["peer"]) and t["rate_bps"] == r["rate_bps"] > 0 and
	0 <= t["under_way"] <= t["credit"] > 0 and r["frames"] > 0 and r["limit"] == t["limit"] != "idle"' advise -d 1)$(
	status_is 0 ctl advise -d 0.3)$(grep -q 'other relays send .*bit/s here over 1 trunk$' "$TB_DIR/out" && grep -q 'under way' \
		"$TB_DIR/out" || echo 'no table of it ')"
verdict "set" "$(json set 'v["log_level"] == "debug" and v["drain_ms"] == 777' set log_level=debug drain_ms=777)$(json get \
	'v["log_level"] == "debug" and v["idle"]' set)$(json idle 'v["idle"] == "pause"' set idle=pause)$(json back \
	'v["idle"] == "sleep"' set idle=sleep)$(status_is 1 ctl set log_level=loud)$(status_is 2 ctl set nothing=1)$(
	status_is 2 ctl set log_level)"
verdict "policy, drain" "$(json policy 'v["policy"] == "stripe"' set policy=stripe)$(json part 'v["policy"] == "dest"' \
	set policy=dest addresses=198.51.100.0/24)$(json both 'v["policy"] == "dest" and v["log_level"] == "info"' \
	set policy=dest log_level=info)$(status_is 1 ctl set policy=best log_level=debug)$(json unchanged \
	'v["log_level"] == "info"' set)$(status_is 1 ctl set policy=best)$(status_is 1 ctl set policy=dest addresses=x)$(
	status_is 1 ctl drain)$(grep -q 'no other relay' "$TB_DIR/err" || echo 'drain gives no reason ')$(status_is 1 ctl drain 1)$(
	grep -q 'this is relay 0' "$TB_DIR/err" || echo 'drain 1 gives no reason ')"
verdict "methods" "$(json methods '{"status", "lanes", "capture_start"} <= {m["name"] for m in v}' methods)$(
	status_is 0 ctl methods)$(ctl --json methods | python3 -c 'import json, sys
text = open("doc/control.md").read()
for m in json.load(sys.stdin):
    if "### " + m["name"] not in text: print("doc/control.md lacks", m["name"])
    for p in m["params"]:
        if "`" + p["name"] + "`" not in text: print("doc/control.md lacks", m["name"], p["name"])')"

# ---- captures -----------------------------------------------------------------------------
# read FILE PYTHON-EXPRESSION over f, the frames: (direction, bytes, length on the wire).
read_back() {
	python3 - "$@" 2>&1 <<'PY'
import ipaddress, struct, sys
path, expr = sys.argv[1:]
d = open(path, "rb").read()
at, f, ifs, stamps = 0, [], 0, []
while at < len(d):
    kind, n = struct.unpack_from("<II", d, at)
    assert n % 4 == 0 and n >= 12 and struct.unpack_from("<I", d, at + n - 4)[0] == n, f"block at {at}"
    if kind == 0x0A0D0D0A:
        assert struct.unpack_from("<I", d, at + 8)[0] == 0x1A2B3C4D
    elif kind == 1:
        ifs += 1
    elif kind == 6:
        i, hi, lo, cap, wire = struct.unpack_from("<IIIII", d, at + 8)
        assert i < ifs and cap <= wire, f"packet at {at}"
        stamps.append(hi << 32 | lo)
        o, dirn = at + 28 + (cap + 3) // 4 * 4, 0
        while o < at + n - 4:
            code, length = struct.unpack_from("<HH", d, o)
            if code == 2:
                dirn = struct.unpack_from("<I", d, o + 4)[0] & 3
            if code == 0:
                break
            o += 4 + (length + 3) // 4 * 4
        f.append((dirn, d[at + 28:at + 28 + cap], wire))
    at += n
# The address at that place of an IPv4 header, or that one of an IPv6 header; where the UDP payload begins.
def ip(b, o):
    six = b[12:14] == b"\x86\xdd"
    at = 22 + 4 * (o - 12) if six else 14 + o
    return str(ipaddress.ip_address(b[at:at + (16 if six else 4)]))
def body(b): return 62 if b[12:14] == b"\x86\xdd" else 42
def private(b): return ip(b, 12).startswith("10.") and ip(b, 16).startswith("10.")
if not eval(f"({expr})"):
    print(f"{expr} does not hold of {len(f)} frames, {[x[1][:44].hex() for x in f[:3]]} ")
PY
}
IN=1 OUT=2
C=$TB_DIR/c.pcapng
WHY=$(json capture 'v["written"] == 200 and v["lost"] == 0 and not v["running"]' capture -w "$C" -n 200)
WHY+=$(read_back "$C" "len(f) == 200 and {x[0] for x in f} == {$IN, $OUT} and stamps[-1] > stamps[0]")
WHY+=$(status_is 0 ctl capture -w "$C" -d 0.5 --leg global --dir out --snaplen 100)
WHY+=$(read_back "$C" "len(f) > 5 and all(x[0] == $OUT and len(x[1]) <= 100 and ip(x[1], 12) == '$(testbed_outside afe0)' for x in f)")
WHY+=$(status_is 0 ctl capture -w "$C" -d 0.5 --peer 10.0.0.1 --dir in)
WHY+=$(read_back "$C" "len(f) > 5 and all(x[0] == $IN and ip(x[1], 12) == '10.0.0.1' for x in f)")
WHY+=$(status_is 0 ctl capture -w "$C" -d 0.5 --peer "$(testbed_outside bfe0)" --dir out)
WHY+=$(read_back "$C" "len(f) > 5 and all(x[0] == $OUT and ip(x[1], 16) == '$(testbed_outside bfe0)' for x in f)")
TRUNK=$(ctl --json paths --kind trunk | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["path"])')
WHY+=$(status_is 0 ctl capture -w "$C" -d 0.5 --path "$TRUNK")
WHY+=$(read_back "$C" "len(f) > 5 and all('$(testbed_outside bfe0)' in (ip(x[1], 12), ip(x[1], 16)) for x in f)")
verdict "capture by leg, peer, path" "$WHY"
# Lanes: rank 0 is at 10.0.0.1; what it sends comes in there and leaves, sealed, on the trunk.
JOB=$(ctl --json jobs | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["job"])')
WHY=$(status_is 0 ctl capture -w "$C" -d 1 --job "$JOB" --src 0)
WHY+=$(read_back "$C" "len(f) > 10 and
	all(ip(x[1], 12) == '10.0.0.1' for x in f if x[0] == $IN) and
	all(ip(x[1], 16) == '$(testbed_outside bfe0)' and x[1][body(x[1]) + 1] & 0x80 for x in f if x[0] == $OUT) and {x[0] for x in f} == {$IN, $OUT}")
WHY+=$(status_is 0 ctl capture -w "$C" -d 0.3 --src 77)
WHY+=$(read_back "$C" "len(f) == 0")
verdict "capture by lane" "$WHY"
if command -v capinfos >/dev/null; then
	ctl capture -w "$C" -n 50 >/dev/null
	verdict "capinfos reads it" "$(capinfos -c "$C" 2>&1 | grep -q '50' || capinfos -c "$C" 2>&1)"
fi
# Interrupted: the file is whole.  One at a time.
rm -f "$C"
"$B/bin/relayctl" -s "$TB_ID-afe0" capture -w "$C" >"$TB_DIR/out" 2>&1 &
P=$!
testbed_wait 5 "a head" test -s "$C"
sleep 1 # the job goes on: there are frames now
WHY=$(status_is 1 ctl capture -w "$TB_DIR/c2.pcapng")
kill -INT $P
wait $P || WHY+="status $? "
WHY+=$(read_back "$C" "len(f) > 0")$(grep -q 'frames, .* stopped' "$TB_DIR/out" || cat "$TB_DIR/out")
# Killed: the relay ends the capture by itself.
rm -f "$C"
"$B/bin/relayctl" -s "$TB_ID-afe0" capture -w "$C" >/dev/null 2>&1 &
P=$!
testbed_wait 5 "a head" test -s "$C"
sleep 1
kill -KILL $P
wait $P 2>/dev/null
testbed_wait 5 "the end of it" bash -c "'$B/bin/relayctl' -s '$TB_ID-afe0' capture -w '$TB_DIR/c2.pcapng' -n 1"
WHY+=$([ $? -eq 0 ] || echo "the next capture does not start ")$(read_back "$C" "len(f) > 0")
WHY+=$(status_is 1 ctl capture -w /proc/none)$(status_is 1 ctl capture -w /dev/null)$(status_is 1 ctl capture -w "$C" --snaplen 9999999)
WHY+=$(status_is 1 ctl capture -w "$C" --peer nowhere)$(status_is 1 ctl capture -w "$C" --job 4711)$(status_is 2 ctl capture)
verdict "capture's ends" "$WHY"

# ---- what goes wrong ------------------------------------------------------------------------
WHY=$(status_is 2 "$B/bin/relayctl")$(status_is 2 ctl nonsense)$(status_is 2 ctl status extra)$(status_is 2 ctl status -n 3)
WHY+=$(status_is 2 ctl top -d fast)$(status_is 0 "$B/bin/relayctl" --help)$(status_is 3 "$B/bin/relayctl" -s none status)
WHY+=$(status_is 3 "$B/bin/relayctl" -s "$TB_DIR/none.sock" status)$(status_is 2 ctl paths --kind wrong)
WHY+=$(status_is 4 setpriv --reuid 65534 --clear-groups "$B/bin/relayctl" -s "$TB_ID-afe0" status)
verdict "exit statuses" "$WHY"
WHY=$(timeout 600 python3 test/smoke/_relayctl_clients.py "$SOCK" 2>&1)$(json alive 'v["jobs"] == 1' status)
verdict "hostile clients" "$WHY"
WHY=$(json tuned 'v["consistent"]' status --check)
testbed_alive mpi-a && testbed_alive mpi-b || WHY+="the job has ended: $(tail -n 3 "$TB_LOG/mpi-a.log") "
verdict "the job goes on" "$WHY"

# A TAP that somebody deletes: said, and the thread that serves it does not spin.
turns() { ctl --json gateway | python3 -c 'import json, sys; print(json.load(sys.stdin)["io/turns"])'; }
ip -n "$TB_ID-afe0" link del relay-glob
testbed_wait 5 "a line about it" grep -q 'TAP relay-glob was deleted' "$TB_LOG/relayd-afe0.log" && WHY= || WHY="no line says so "
N=$(turns)
sleep 1
N=$(($(turns) - N))
[ "$N" -lt 3000 ] || WHY+="$N turns in a second "
verdict "a TAP is deleted" "$WHY"

# The relay ends under a client that looks; then it is gone; killed, its socket is taken over.
"$B/bin/relayctl" -s "$TB_ID-afe0" top -d 0.2 >/dev/null 2>"$TB_DIR/err" &
P=$!
sleep 0.5
for fe in afe0 bfe0; do testbed_stop "relayd-$fe" || rc=1; done
wait $P
got=$?
WHY=$([ $got -eq 3 ] || echo "top ended with $got: $(cat "$TB_DIR/err") ")$(status_is 3 ctl status)
[ ! -e "$SOCK" ] || WHY+="the socket is left "
testbed_relayd "$B" afe0 || WHY+="no second start "
kill -KILL "$(cat "$TB_DIR/pid-relayd-afe0")"
testbed_wait 5 "its death" bash -c "! kill -0 $(cat "$TB_DIR/pid-relayd-afe0") 2>/dev/null"
WHY+=$(status_is 3 ctl status)
testbed_relayd "$B" afe0 || WHY+="no start over a dead socket "
WHY+=$(json again 'v["jobs"] == 0' status)
testbed_stop relayd-afe0 || WHY+="status $? at the end "
grep -h 'did not come back\|do not add up' "$TB_LOG"/relayd-*.log && WHY+="see above "
verdict "the relay goes and comes" "$WHY"
[ $rc -eq 0 ] || tail -n 6 "$TB_LOG"/relayd-*.log "$TB_LOG"/mpi-*.log
exit $rc
