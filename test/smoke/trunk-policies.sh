#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Policies of trunks, which differ from cluster to cluster, under a job over three clusters with two
# relays each that checks every byte: by configuration first, then twice by relayctl while the job
# runs.  Which way each pair of ranks takes is what `relayctl lanes` of all relays counts, and of
# the trunks between two clusters what `relayctl paths` does.  What is no policy is refused.
# ipv6: yes
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root trunk-policies
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
tell_logs() { tail -n 8 "$TB_LOG"/{job,relayd}-*.log; }

ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
gone() { ! testbed_alive "$1"; }

relays=({a,b,c}fe{0,1})
B_RELAYS=198.51.100.20/30 # .21 and .22
# C's are .31 and .32, which no prefix has for itself.
declare -A trunks=(
	[a]="\"policy\": \"dest\", \"pairs\": \"$B_RELAYS=source, 198.51.100.31/32=stripe, 198.51.100.32/32=stripe\""
	[b]='"policy": "source"'
	[c]=''
)

# look: what goes where in a second, into TB_DIR/look-RELAY-{lanes,before,after}.
look() {
	local fe pids=()
	for fe in "${relays[@]}"; do
		{ ctl "$fe" --json paths --kind trunk >"$TB_DIR/look-$fe-before" &&
			ctl "$fe" --json lanes -d 1 -n 1024 >"$TB_DIR/look-$fe-lanes" &&
			ctl "$fe" --json paths --kind trunk >"$TB_DIR/look-$fe-after"; } &
		pids+=($!)
	done
	wait "${pids[@]}"
}

# ways FROM>TO=POLICY...: what is wrong with the last look, or nothing.  Ranks are 0, 1 of A, 2, 3 of B,
# 4, 5 of C, and the first of each two is carried by the first relay of its cluster.  A trunk's
# rate and what it holds decide under stripe, so all of one relay may take one trunk: processes deal
# to both relays, and at the other side not every rank gets all by the relay that carries it, or
# each relay would have chosen the same by chance.
ways() {
	python3 - "$TB_DIR" "$@" <<'PY'
import json, re, sys
folder, wanted = sys.argv[1], dict(w.split("=") for w in sys.argv[2:])
def read(relay, what):
    return json.load(open(f"{folder}/look-{relay}-{what}"))
def ranks(c):
    return [2 * "abc".index(c), 2 * "abc".index(c) + 1]
seen = {}  # (direction, src, dst): payload by index of the relay
for c in "abc":
    for i in (0, 1):
        for l in read(f"{c}fe{i}", "lanes")["lanes"]:
            seen.setdefault((l["direction"], l["src"], l["dst"]), [0, 0])[i] += l["bytes"]
def sent(a, b):
    """Bytes from relays of a to relays of b, by trunk."""
    out = {}
    for i in (0, 1):
        def by_peer(when):
            # Peers by the last number of their addresses, of either kind.
            return {int(re.split("[.:]", p["peer"].rsplit(":", 1)[0].strip("[]"))[-1]): p["tx_bytes"]
                    for p in read(f"{a}fe{i}", when)}
        before, after = by_peer("before"), by_peer("after")
        for k in (0, 1):
            peer = 11 + 10 * "abc".index(b) + k
            out[i, k] = after[peer] - before[peer]
    return out
def look(a, b, policy):
    strayed = False
    for s in ranks(a):
        for d in ranks(b):
            for direction in ("out", "in"):
                n = seen.get((direction, s, d), [0, 0])
                who = f"{s} to {d} {direction} at relays 0, 1: {n} bytes"
                if sum(n) < 20000:
                    return who + ", too few"
                of_rank = s if policy == "source" and direction == "out" else d
                if policy != "stripe" and n[1 - of_rank % 2] > sum(n) / 20:
                    return who
                if policy == "stripe" and direction == "out" and min(n) < sum(n) / 10:
                    return who
                strayed = strayed or (direction == "in" and n[1 - d % 2] > sum(n) / 10)
    trunk = sent(a, b)
    whole = sum(trunk.values())
    if policy == "stripe" and not strayed:
        return f"each rank gets all by one relay, trunks {trunk}"
    for (i, k), n in trunk.items():
        # Acknowledgements of what comes the other way go over any trunk.
        if policy == "source" and n < 20000 or policy == "dest" and i != k and n > whole / 10:
            return f"trunks {trunk}"
for pair, policy in wanted.items():
    why = look(*pair.split(">"), policy)
    if why: print(f"{pair} is not {policy}: {why}")
PY
}
goes() { # FROM>TO=POLICY...
	look
	WHY=$(ways "$@" 2>&1 | head -3 | tr '\n' ';')
	[ -z "$WHY" ]
}
# reached NAME FROM>TO=POLICY...: a look may still see what was before.
reached() {
	local name=$1
	shift
	for _ in 1 2 3; do goes "$@" && break; done
	[ -n "$WHY" ] || ! gone job-a || WHY="the job has ended"
	verdict "$name: $*" "$WHY"
}
set_all() { # CLUSTER SETTING...
	local fe
	for fe in "$1"fe{0,1}; do
		ctl "$fe" set "${@:2}" >/dev/null || verdict "$fe: set ${*:2}" "status $?"
	done
}

# refused WORDS SETTING...: with status 1 and a line that says so.
refused() {
	local words=$1 err status
	shift
	err=$(ctl afe0 set "$@" 2>&1 >/dev/null)
	status=$?
	[ $status = 1 ] || echo "set $*: status $status;"
	[[ $err == *"$words"* ]] || echo "set $*: says \"$err\";"
}
# unknown WORDS ARG...: relayctl itself knows no such setting.
unknown() {
	local err status
	err=$(ctl afe0 set "${@:2}" 2>&1 >/dev/null)
	status=$?
	[[ $status = 2 && $err == *"$1"* ]] || echo "set ${*:2}: status $status, says \"$err\";"
}
# refused_pairs TEXT: trunks.pairs that relayd does not start with.
refused_pairs() {
	local err status
	sed "s#\"pairs\": \"[^\"]*\"#\"pairs\": \"$1\"#" "$TB_DIR/conf/afe0.json" >"$TB_DIR/conf/wrong.json"
	err=$("$B/bin/relayd" --check "$TB_DIR/conf/wrong.json" 2>&1)
	status=$?
	[ $status != 0 ] || echo "\"$1\": taken;"
	[[ $err == */trunks/pairs*"\"$1\" is not a list like"*"(dest, source, stripe)"* ]] || echo "\"$1\": says \"${err:0:200}\";"
}
refusals() {
	local list='must be one of dest|source|stripe' ip='addresses must be IP/LENGTH, 1 to 32'
	refused "$list" policy=best
	refused "$list" policy=Dest
	refused "$list" policy=
	refused "$list" policy=1
	refused "$ip" policy=stripe addresses=198.51.100.21
	refused "$ip" policy=stripe addresses=198.51.100.21/0
	refused "$ip" policy=stripe addresses=198.51.100.21/33
	refused "$ip" policy=stripe addresses=198.51.100/24
	refused "$ip" policy=stripe addresses=
	unknown 'no setting adresses' policy=stripe adresses=198.51.100.0/24
	refused_pairs "$B_RELAYS=best"
	refused_pairs "198.51.100.0/33=dest"
	refused_pairs "198.51.100.21=dest"
	refused_pairs "$B_RELAYS=dest;$B_RELAYS=stripe"
}

# After the job: nothing is in custody, no relay has thrown a segment away, the counters add up.
clean() {
	local fe
	for fe in "${relays[@]}"; do
		testbed_wait 5 "$fe to forget the job" idle "$fe" || echo "$fe: $(ctl "$fe" status | grep -E '^(jobs|custody)');"
		ctl "$fe" --json status --check | python3 -c 'import json, sys
sys.exit(json.load(sys.stdin)["consistent"] is not True)' || echo "$fe: counters do not add up;"
		ctl "$fe" --json drops | python3 -c 'import json, sys
for name, n in json.load(sys.stdin).items():
    if name.startswith("relay/drop_"): print(sys.argv[1], name, n, end="; ")' "$fe"
	done
}
idle() {
	ctl "$1" --json status | python3 -c 'import json, sys
s = json.load(sys.stdin)
sys.exit(s["jobs"] + s["custody"] != 0)'
}

CLUSTERS='a b c' NODES=2 RELAYS=2 PPN=1
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
for c in a b c; do
	TB_RELAY_CONF="\"trunks\": { ${trunks[$c]} }"
	testbed_relayd "$B" "$c"fe{0,1} || fail "relayd: does not start"
done
testbed_job "$B" job "$B/test/mpi/failover" 3600 1048576 "$TB_DIR/enough"
testbed_wait 30 "the job to run" grep -q '^running' "$TB_LOG/job-a.log" || fail "the job does not start"

verdict "what is no policy is refused, and why" "$(refusals)"
reached "by configuration" 'a>b=source' 'a>c=stripe' 'b>a=source' 'b>c=source' 'c>a=dest' 'c>b=dest'
set_all a policy=dest addresses=$B_RELAYS
set_all b policy=dest
set_all c policy=source
reached "changed under the job" 'a>b=dest' 'a>c=stripe' 'b>a=dest' 'b>c=dest' 'c>a=source' 'c>b=source'
set_all a policy=stripe addresses=$B_RELAYS
set_all b policy=stripe
set_all c policy=stripe addresses=198.51.100.11/32 # the first relay speaks for its cluster
reached "changed again" 'a>b=stripe' 'a>c=stripe' 'b>a=stripe' 'b>c=stripe' 'c>a=stripe' 'c>b=source'

touch "$TB_DIR/enough"
WHY=
for s in a b c; do
	testbed_wait 15 "the end of job-$s" gone job-$s || { WHY+="side $s hangs "; continue; }
	{ wait "$(cat "$TB_DIR/pid-job-$s")"; } 2>/dev/null || WHY+="side $s ended with status $? "
done
[ -n "$WHY" ] || grep -q '^ok' "$TB_LOG/job-a.log" || WHY="the job does not say ok"
sed -n 's/^[0-9]* rounds/trunk-policies: &/p' "$TB_LOG/job-a.log"
verdict "the job was right, nothing lost, nothing twice" "$WHY"
verdict "nothing is left in the relays, and nothing was thrown away" "$(clean)"
testbed_down
verdict "no process or namespace is left" "$(testbed_leftovers)"
exit $rc
