#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What it costs to ask a relay that carries 10 000 lanes of 2000 processes for its figures: by
# relayd-web and by relayctl, while segments pass.  It is little, and no turn of the worker is held
# up by it, nor one of a gateway with as many channels as there can be.
# ipv6: yes
# timeout: 180
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root scrape
HOSTS=${HOSTS:-2000} SCRAPES=${SCRAPES:-50}
export PG_PATHS=$((HOSTS + 1000)) PG_SLEEP=true PG_IDLE=sleep PG_MEMORY_MB=${PG_MEMORY_MB:-512}
export PG_GATEWAY='{ "channels": 65536 }'
# shellcheck source=test/pktgen/lib.sh
. test/pktgen/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
tell_logs() { tail -n 15 "$TMP"/*.log; }
NAME=$RUN-relayd
WEB=127.0.0.1:17816
inside() { ip netns exec "$RUN-relayd" "$@"; }
status() { "$B/bin/relayctl" -s "$NAME" --json status; }
# field EXPRESSION: of status s, worker w.
field() { status | python3 -c "import json, sys; s = json.load(sys.stdin); w = s['workers'][0]; print(int($1))"; }
waits() { # SECONDS WHAT COMMAND...
	local i limit=$1 what=$2
	shift 2
	for ((i = 0; i < limit * 10; i++)); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
	fail "$what: waited $limit s"
}

cat >"$TMP/scraped.json" <<END
{
	"name": "scraped",
	"proves": "10 000 lanes go on while figures are asked for.",
	"world": { "hosts": $HOSTS, "relays": 1, "procs_per_relay": 4, "jobs": 1 },
	"traffic": { "pattern": "all", "direction": "out", "lanes": 10000, "payload": 256, "window": 16, "rate_pps": 2000 },
	"run": { "measure_ms": ${MEASURE_MS:-60000}, "drain_ms": 5000 },
	"expect": [ { "measure": "received", "min": 1 } ]
}
END
pg_lab || fail "the lab does not start"
inside "$B/bin/relayd-web" -l "$WEB" -s "$NAME" >"$TMP/web.log" 2>&1 &
web=$!
echo $web >"$TMP/web.pid"
"$B/bin/relay-pktgen" --lab "$TMP/lab.json" --json "$TMP/results.json" "$TMP/scraped.json" >"$TMP/played.log" 2>&1 &
played=$!
flows() { [ "$(field 's["paths"]')" -ge "$HOSTS" ] && [ "$(field 'w["segments"]')" -ge 1000 ]; }
waits 90 "segments of $HOSTS processes" flows

ticks() { # of relayd-web and of the control thread, in ticks of the clock
	local pid of sum=0
	pid=$(cat "$TMP/relayd.pid")
	for of in "/proc/$web" "/proc/$pid/task/$pid"; do
		sum=$((sum + $(sed 's/.*) //' "$of/stat" | awk '{ print $12 + $13 }')))
	done
	echo $sum
}
before=$(ticks) least=999999999 most=0 sum=0 gateway=999999999
for ((i = 0; i < SCRAPES; i++)); do
	inside curl -s -m 20 -o "$TMP/metrics" "http://$WEB/metrics" || fail "no answer to a scrape"
	us=$(sed -n 's/^relayd_worker_look_us{.*} //p' "$TMP/metrics")
	((us < least)) && least=$us
	((us > most)) && most=$us
	((sum += us))
	us=$(sed -n 's/^relayd_gateway_look_us{.*} //p' "$TMP/metrics")
	((us < gateway)) && gateway=$us
done
us=$((($(ticks) - before) * 1000000 / $(getconf CLK_TCK) / SCRAPES))
echo "a scrape takes $us us of processors, $(grep -vc '^#' "$TMP/metrics") rows of $(field 's["paths"]') paths;" \
	"it holds up a turn of the worker for $least to $most us, $((sum / SCRAPES)) on average"
verdict "a scrape takes at most 20 ms" "$( ((us <= 20000)) || echo "it takes $us us")"
verdict "a scrape holds up no turn" "$( ((least <= 300)) || echo "at least $least us")"
verdict "nor one of the gateway ($gateway us)" "$( ((gateway <= 300)) || echo "at least $gateway us")"
before=$(ticks)
for ((i = 0; i < SCRAPES; i++)); do status >"$TMP/status"; done
us=$((($(ticks) - before) * 1000000 / $(getconf CLK_TCK) / SCRAPES))
echo "a status takes $us us of the control thread"
verdict "a status takes at most 20 ms" "$( ((us <= 20000)) || echo "it takes $us us")"
# What a machine with little time for so many endpoints loses is the generator's affair.
pg_stop "$played"
exit "$rc"
