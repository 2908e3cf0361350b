#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The installed systemd units under a systemd: what they forbid, relayd, impi-server and relayd-web
# do not need.  systemd runs in a container over an overlay of this machine's files, in the
# network namespace of the relay; its journal is what an administrator reads.  With IPV6=1 the global leg
# has such an address, of which the kernel's side needs a setting of the kernel.
# ipv6: yes
# timeout: 120
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-systemd
command -v systemd-nspawn >/dev/null || { echo "SKIP relayd-systemd: no systemd-nspawn; run make deps"; exit 77; }
make_net || { fail relayd-systemd-net "cannot make namespaces"; exit 1; }
make_conf

# What the container leaves in the hierarchies of cgroups, and its overlay.
GROUPS_OF=()
ROOT=$TMP/root
SYSTEMD=
clean_systemd() {
	local g
	[ -z "$SYSTEMD" ] || { kill -TERM "$SYSTEMD" 2>/dev/null; wait "$SYSTEMD" 2>/dev/null; }
	for g in "${GROUPS_OF[@]}"; do
		echo $$ >"$(dirname "$g")/cgroup.procs"
		find "$g" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	umount "$ROOT" 2>/dev/null
}
trap 'clean_systemd; cleanup' EXIT

mkdir -p "$ROOT" "$TMP/up/opt" "$TMP/work"
if ! mount -t overlay overlay -o "lowerdir=/,upperdir=$TMP/up,workdir=$TMP/work" "$ROOT"; then
	echo "SKIP relayd-systemd: no overlay of this machine's files"
	exit 77
fi
PREFIX=/opt/relayd
make -s install-relayd install-impi-server install-relayd-web DESTDIR="$ROOT" PREFIX=$PREFIX >"$TMP/install.log" 2>&1
mkdir -p "$ROOT$PREFIX/bin" "$ROOT/etc/relayd" "$ROOT/etc/impi-server"
cp "$B"/bin/{relayd,relayctl,relayd-web,impi-server} "$ROOT$PREFIX/bin"
sed -e "s#$TMP/psk#/etc/relayd/psk#" -e "s#$TMP/relayd.pid##" -e "s#$TMP/stats.json#/run/relayd/stats.json#" \
	-e 's#^\t"workers"#\t"control": { "group": "adm" },\n&#' "$TMP/conf.json" >"$ROOT/etc/relayd/a0.json"
sed -e 's#^\t"workers"#\t"user": "nobody",\n&#' -e 's#/run/relayd/stats.json##' "$ROOT/etc/relayd/a0.json" >"$ROOT/etc/relayd/u0.json"
(umask 077; cat "$TMP/psk" >"$ROOT/etc/relayd/psk"; cat "$TMP/psk" >"$ROOT/etc/impi-server/site.keys"
	printf '%s\n' 'OPTIONS=-server 2 -port 7810' IMPI_AUTH_KEY=4711 >"$ROOT/etc/impi-server/site.conf")

# systemd finds these units and no others of the machine.
UNITS=$ROOT/opt/units
mkdir -p "$UNITS"/{impi-server@sealed,relayd@u0,relayd-web}.service.d
cp "$ROOT$PREFIX"/lib/systemd/system/*.service "$UNITS"
cp /lib/systemd/system/{basic,sysinit,shutdown,sockets,network,network-online,multi-user}.target "$UNITS"
cp /lib/systemd/system/systemd-journald{.service,.socket,-dev-log.socket} "$UNITS"
cp "$ROOT/etc/impi-server/site.conf" "$ROOT/etc/impi-server/sealed.conf"
sed -i 's/7810/7809/' "$ROOT/etc/impi-server/sealed.conf"
# Drop-ins that the units' comments describe.
sed -n 's/^#   \(\[Service\]\|LoadCredential=.*\|Environment=.*\)$/\1/p' conf/impi-server.service.in \
	>"$UNITS/impi-server@sealed.service.d/sealed.conf"
sed -n 's/^#   the key "user" */[Service]\n/p' conf/relayd.service.in >"$UNITS/relayd@u0.service.d/user.conf"
printf '%s\n' '[Service]' SupplementaryGroups=adm >"$UNITS/relayd-web.service.d/group.conf"
cat >"$UNITS/played.service" <<-END
	[Unit]
	DefaultDependencies=no
	Wants=systemd-journald.service
	After=systemd-journald.service
	[Service]
	Type=oneshot
	Environment=RUN=$RUN PATH=$PREFIX/bin:$PATH
	ExecStart=/bin/bash /opt/play
	StandardOutput=file:/opt/said
	StandardError=inherit
END
cat >"$ROOT/opt/play" <<'END'
one() { # WHAT COMMAND...
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then echo "PASS relayd-systemd-$what"; else
		echo "FAIL relayd-systemd-$what: $(tail -n 3 <<<"$said" | tr '\n' ' ')"
	fi
}
soon() { for _ in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
is() { # PROPERTY UNIT PATTERN
	local now
	now=$(systemctl show -P "$1" "$2")
	# shellcheck disable=SC2053
	[[ $now == $3 ]] || { echo "$1 is $now"; return 1; }
}
fails() { ! "$@"; }
journal() { journalctl --no-pager -q -o cat "$@"; }
complaints() { # UNIT
	local said
	journal -u "$1" | grep -q . || { echo "nothing of $1 is in the journal"; return 1; }
	said=$(journal -u "$1" -p warning _TRANSPORT=stdout
		journal -u "$1" _TRANSPORT=stdout | grep -iE 'error|denied|not permitted')
	[ -z "$said" ] || { echo "$said"; return 1; }
}
log_has() { journal -u "$1" | grep -q "$2"; }
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
page_has() { python3 -c 'import sys, urllib.request
sys.exit(sys.argv[1] not in urllib.request.urlopen("http://127.0.0.1:7814/metrics", timeout=10).read().decode())' "$1"; }

one relayd systemctl start relayd@a0
# It is told behind READY=1, which ends the start.
one status soon is StatusText relayd@a0 'run: 0 jobs*'
one relayctl relayctl -s "$RUN" status
one telemetry [ -S "/run/dpdk/$RUN/dpdk_telemetry.v2" ]
soon [ -e /opt/pinged ]
sed -i 's/"info"/"debug"/' /etc/relayd/a0.json
one reload systemctl reload relayd@a0
one reloaded soon is StatusText relayd@a0 '*; 1 reloads, 0 refused*'
cp /etc/relayd/a0.json /opt/good
sed -i 's/"workers": 1/"workers": 1000/' /etc/relayd/a0.json
one wrong-file fails systemctl reload relayd@a0
cp /opt/good /etc/relayd/a0.json
one wrong-file-changes-nothing is ActiveState relayd@a0 active

one web systemctl start relayd-web
one web-shows soon page_has relayd_

one impi-server systemctl start impi-server@site
one impi-server-listens soon answers 7810
one impi-server-sealed systemctl start impi-server@sealed
one impi-server-sealed-listens soon answers 7809
systemctl reload impi-server@sealed
one impi-server-keys soon log_has impi-server@sealed 'SIGHUP: 1 key from'

kill -KILL "$(systemctl show -P MainPID relayd@a0)"
one killed soon is NRestarts relayd@a0 1
one begins-again soon is ActiveState relayd@a0 active
systemctl stop relayd@a0
one user systemctl start relayd@u0
one user-is-nobody [ "$(stat -c %U "/proc/$(systemctl show -P MainPID relayd@u0)/task")" = nobody ]
for unit in relayd@a0 relayd@u0 relayd-web impi-server@site impi-server@sealed; do
	one "stops-$unit" systemctl stop "$unit"
	one "ended-well-$unit" is Result "$unit" success
	one "no-complaint-$unit" complaints "$unit"
done
END
for h in systemd unified; do
	g=/sys/fs/cgroup/$h/$RUN
	[ -d "/sys/fs/cgroup/$h" ] || continue
	mkdir "$g" && echo $$ >"$g/cgroup.procs" && GROUPS_OF+=("$g")
done
systemd-nspawn -q --register=no --keep-unit -D "$ROOT" --capability=all --kill-signal=SIGKILL \
	--network-namespace-path="/run/netns/$RELAY" --setenv=SYSTEMD_UNIT_PATH=/opt/units \
	--boot systemd.unit=played.service >"$TMP/systemd.log" 2>&1 </dev/null &
SYSTEMD=$!
said() { grep -aq "$1" "$TMP/up/opt/said" 2>/dev/null || ! kill -0 "$SYSTEMD" 2>/dev/null; }
for _ in $(seq 600); do said relayd-systemd-telemetry && break; sleep 0.1; done
check relayd-systemd-ping "no echo reply" ip netns exec "$NODE" ping -q -c 1 -W 2 10.0.0.1
if [ -n "${IPV6:-}" ]; then
	check relayd-systemd-ping6 "no echo reply by IPv6" ip netns exec "$WAN" ping -6 -q -c 1 -W 5 ${SIX}1
	check relayd-systemd-tap6 "$(ip -n "$RELAY" -br addr)" grep -q "^relay-glob .* ${SIX}1/64" <(ip -n "$RELAY" -br addr)
	six_seen
fi
touch "$ROOT/opt/pinged"
for _ in $(seq 1000); do said 'no-complaint-impi-server@sealed' && break; sleep 0.1; done
cat "$TMP/up/opt/said"
check relayd-systemd-whole "$(tail -n 5 "$TMP/systemd.log")" grep -aq 'no-complaint-impi-server@sealed' "$TMP/up/opt/said"
! grep -aq ^FAIL "$TMP/up/opt/said" || FAILED=1
exit $FAILED
