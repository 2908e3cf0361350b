#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayd-web beside real relays and a job: OpenMetrics that Prometheus takes, every drop reason and
# every figure of status, a page in a real browser, requests it refuses, a relay that goes away.
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
RELAYS=2 RELAYS_B=1 NODES=1
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root web
on_exit() {
	local status=$?
	rm -rf "$DIR"
	[ "$TB_UP" = 0 ] || testbed_down
	exit $status
}
DIR=$(mktemp -d)
trap on_exit EXIT
testbed_up || fail "testbed: not built"
trap on_exit EXIT
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
testbed_relayd "$B" afe0 afe1 bfe0 || fail "relayd: does not start"
A=$TB_ID-afe0 O=$TB_ID-bfe0
WEB=127.0.0.1:17814
start_web() { testbed_spawn a0 web "$B/bin/relayd-web" -l "$WEB" -s "$A" -s "$O" -H relays.example; }
get() { testbed_exec a0 curl -s -m 20 "$@"; }
start_web
testbed_wait 20 "relayd-web" grep -q http "$TB_LOG/web.log"
testbed_job "$B" job "$B/test/mpi/probe"
ended() { ! testbed_alive job-a && ! testbed_alive job-b; }
testbed_wait 60 "the job's end" ended || fail "the job does not end"

WHY=
get -D "$DIR/head" "http://$WEB/metrics" >"$DIR/metrics"
grep -qi '^content-type: application/openmetrics-text; version=1.0.0' "$DIR/head" || WHY+="type: $(head -3 "$DIR/head") "
[ "$(tail -1 "$DIR/metrics")" = "# EOF" ] || WHY+="no end: $(tail -1 "$DIR/metrics") "
"$B/bin/relayctl" -s "$A" --json drops --all >"$DIR/drops"
"$B/bin/relayctl" -s "$A" --json status >"$DIR/status"
WHY+=$(python3 test/smoke/_web.py "$DIR/metrics" "$DIR/drops" "$DIR/status" 2>&1)
verdict "each drop reason and each figure of status is exported" "$WHY"
verdict "what the alert rules and the board ask for is exported, with the labels they name" \
	"$(python3 test/smoke/_monitoring.py "$DIR/metrics" conf/monitoring/relayd-alerts.yml conf/monitoring/relayd-grafana.json 2>&1)"

# By the processors' time, which a loaded machine does not stretch: relayd-web, and the control
# threads of both relays.  Workers poll in any case.
ticks() {
	local pid of sum=0
	for pid in web relayd-afe0 relayd-bfe0; do
		of=/proc/$(cat "$TB_DIR/pid-$pid")
		[ $pid = web ] || of+=/task/${of#/proc/}
		sum=$((sum + $(sed 's/.*) //' "$of/stat" | awk '{ print $12 + $13 }')))
	done
	echo $sum
}
scrapes=100 before=$(ticks)
get -o "$DIR/scraped" "http://$WEB/metrics?[1-$scrapes]"
ms=$((($(ticks) - before) * 1000 / $(getconf CLK_TCK) / scrapes))
echo "a scrape takes $ms ms of processors, $(grep -vc '^#' "$DIR/metrics") rows"
verdict "a scrape takes at most 20 ms" "$( ((ms <= 20)) || echo "it takes $ms ms")"

WHY=
if command -v promtool >/dev/null; then
	said=$(promtool test rules test/smoke/alerts.yml 2>&1) || WHY+=$said
	cat >"$DIR/prometheus.yml" <<-EOF
		scrape_configs: [{job_name: relayd, scrape_interval: 1s, static_configs: [{targets: ["$WEB"]}]}]
	EOF
	testbed_spawn a0 prometheus prometheus --config.file="$DIR/prometheus.yml" --storage.tsdb.path="$DIR/tsdb" \
		--web.listen-address=127.0.0.1:17815
	scraped() { get -G --data-urlencode 'query=count(relayd_up == 1)' http://127.0.0.1:17815/api/v1/query | grep -q '"2"\]'; }
	testbed_wait 40 "two relays in Prometheus" scraped || WHY+="not scraped: $(tail -2 "$TB_LOG/prometheus.log") "
	testbed_stop prometheus 10
	verdict "Prometheus scrapes it, and takes the alert rules" "$WHY"
else
	echo "SKIP web: prometheus is not installed; run make deps"
fi

# A site that has come and waits for the other one.
testbed_job_part "$B" a waits "$B/test/mpi/probe"
waits() { get "http://$WEB/metrics" | grep -q "^relayd_starts{relay=\"$A\".*} 1\$"; }
testbed_wait 30 "a job that waits" waits
verdict "a job that waits is in the figures" "$(waits || get "http://$WEB/metrics" | grep '^relayd_starts')"

if command -v chromium >/dev/null; then
	testbed_exec a0 timeout 90 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$DIR/chromium" \
		--virtual-time-budget=4000 --dump-dom "http://$WEB/" >"$DIR/dom" 2>"$DIR/browser"
	WHY=
	for words in "cluster a" "cluster b" "2 of 2 relays answer" 'class="trunk"' "round trip" \
		"the other clients to join at the server"; do
		grep -q "$words" "$DIR/dom" || WHY+="not in the page: $words; "
	done
	verdict "the page shows clusters, relays, trunks and what waits in a browser" "${WHY:+$WHY$(tail -2 "$DIR/browser")}"
else
	echo "SKIP web: chromium is not installed; run make deps"
fi

testbed_job_part "$B" b waits "$B/test/mpi/probe"
came() { ! testbed_alive waits-a && ! testbed_alive waits-b; }
testbed_wait 60 "that job's end" came
verdict "it begins when the other one comes" "$(came || tail -2 "$TB_LOG"/waits-*.log)"

WHY=
refused() { # STATUS ARGS: what curl gets
	local want=$1 is
	shift
	is=$(get -o /dev/null -w '%{http_code}' "$@")
	[ "$is" = "$want" ] || WHY+="$is for $*, $want wanted; "
}
refused 403 -H "Host: elsewhere.example" "http://$WEB/metrics"
refused 200 -H "Host: relays.example" "http://$WEB/metrics"
refused 405 -X POST -d x "http://$WEB/metrics"
refused 405 -X DELETE "http://$WEB/api/relays"
refused 404 "http://$WEB/../../etc/passwd"
refused 404 --path-as-is "http://$WEB/../etc/passwd"
{ echo -n "X-Long: " && head -c 40000 /dev/zero | tr '\0' x; } >"$DIR/long"
is=$(get -o /dev/null -w '%{http_code}' -H "@$DIR/long" "http://$WEB/" 2>/dev/null)
case $is in 4* | 5* | 000) ;; *) WHY+="$is for a header of 40 KB; " ;; esac
refused 200 "http://$WEB/"
verdict "other names, methods, paths and long headers are refused" "$WHY"

WHY=
testbed_stop relayd-bfe0 20
gone() { get "http://$WEB/metrics" | grep -q '^relayd_up{relay=.*} 0$'; }
testbed_wait 20 "a relay that is gone in the figures" gone || WHY+="relayd_up is not 0 "
get "http://$WEB/api/relays" | python3 -c 'import json,sys; r=json.load(sys.stdin); sys.exit(not (r[0]["up"] and not r[1]["up"] and r[1]["why"]))' ||
	WHY+="no reason is said "
verdict "a relay that went away is said to be down, the other is shown" "$WHY"
# shellcheck disable=SC2154 # of _tell.sh
exit $rc
