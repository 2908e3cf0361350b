#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Start-up between relays and impi-server, sealed (impi.server_sealing, --key-file): a listener on the
# wire sees no command, address or token; a server without the key, one that is no server of ours, and
# a client in clear are refused with a text that says what to do.
# ipv6: yes
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root relayd-sealed-start
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
CLUSTERS='a b' NODES=1 RELAYS=1 PPN=1 TB_AUTH=key TB_RELAY_IMPI='"server_sealing": "on",'
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
tell_logs() { tail -n 6 "$TB_LOG"/impi-server*.log "$TB_LOG"/job-*.log "$TB_LOG"/relayd-*.log; }
testbed_relayd "$B" afe0 bfe0 || fail "relayd: does not start"
_tb_auth >/dev/null # makes the key
(umask 077; echo "1 $(printf '%064d' 7)" >"$TB_DIR/conf/other")

# Payloads of TCP segments from and to port 7810, one after another, in FILE.
cat >"$TB_DIR/sniff.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
out = open(sys.argv[1], "wb", buffering=0)
print("listens", flush=True)
while True:
    p = s.recv(65536)
    if len(p) > 60 and p[0] >> 4 == 6 and p[6] == 6:
        t = p[40:40 + int.from_bytes(p[4:6], "big")]
    elif len(p) > 40 and p[0] >> 4 == 4 and p[9] == 6:
        t = p[(p[0] & 15) * 4:int.from_bytes(p[2:4], "big")]
    else:
        continue
    if 7810 in (int.from_bytes(t[:2], "big"), int.from_bytes(t[2:4], "big")):
        out.write(t[(t[12] >> 4) * 4:])
P
# What start-up is made of, in clear: IMPI's commands, the prefix of host ids (tokens, addresses), the IMPI key.
cat >"$TB_DIR/seen.py" <<'P'
import sys
wire, key = open(sys.argv[1], "rb").read(), int(open(sys.argv[2]).read())
clear = [w for w in (b"AUTH", b"COLL", b"DONE", b"\xfdSUC", key.to_bytes(8, "big")) if w in wire]
print(len(wire), "bytes:", b"SLK1" in wire, clear)
sys.exit(0 if len(wire) > 300 and (clear == [] and b"SLK1" in wire if sys.argv[3] == "sealed" else len(clear) == 5) else 1)
P
server() { # NAME OPTIONS: on the server's machine
	local name=$1
	shift
	testbed_spawn srv "$name" env "$(_tb_auth)" "$B/bin/impi-server" -server 2 -port 7810 --persist "$@"
	testbed_wait 20 "$name" grep -q ":7810" "$TB_LOG/$name.log" || fail "$name: does not start"
}
listen() { # NAME: a listener that writes $TB_DIR/NAME
	testbed_spawn srv "sniff-$1" python3 "$TB_DIR/sniff.py" "$TB_DIR/$1"
	testbed_wait 20 "listener" grep -q listens "$TB_LOG/sniff-$1.log"
}
part() { # CLIENT'S LETTER AND NUMBER, SERVER
	testbed_spawn "$1" "job-$2" env "$(_tb_auth)" IMPI_CLIENT="$3" IMPI_SERVER="$4" \
		timeout -k 5 40 "$B/bin/mpirun" -n 1 "$B/examples/pingpong" --budget-ms 200
}
job() { # both clusters; the sum of their statuses
	local p sum=0
	part a0 a 0 10.0.0.254:7811
	part b0 b 1 10.0.0.254:7811
	for p in job-a job-b; do
		wait "$(cat "$TB_DIR/pid-$p")" || sum=1
	done
	return $sum
}
# relay a alone: its client is refused at once
refused() {
	part a0 a 0 10.0.0.254:7811
	! wait "$(cat "$TB_DIR/pid-job-a")"
}
log() { cat "$TB_LOG/$1.log"; }

server impi-server --key-file "$TB_DIR/conf/psk" -v
listen sealed
job
succeeded $? "a job whose start-up is sealed"
python3 "$TB_DIR/seen.py" "$TB_DIR/sealed" "$TB_DIR/conf/impi-key" sealed
succeeded $? "on the wire: neither commands, nor addresses and tokens, nor the IMPI key"
# A client without a relay, in clear, is not served.
part srv g 0 "$TB_SRV:7810"
! wait "$(cat "$TB_DIR/pid-job-g")" && log impi-server | grep -q 'speaks in clear.*impi.server_sealing'
succeeded $? "in clear: refused, and the log says what to set"
testbed_stop impi-server 5 >/dev/null

server impi-server-other --key-file "$TB_DIR/conf/other" -v
refused && log impi-server-other | grep -q 'closed: it has another pre-shared key under that number' &&
	log relayd-afe0 | grep -q 'cannot connect to the server.*key of sealing.key_file in its --key-file'
succeeded $? "another key: both logs say so"
testbed_stop impi-server-other 5 >/dev/null

# The key that relays have comes into the file while the server runs; a file that is wrong changes nothing.
(umask 077; cp "$TB_DIR/conf/other" "$TB_DIR/conf/again")
server impi-server-again --key-file "$TB_DIR/conf/again" -v
chmod 0644 "$TB_DIR/conf/again"
kill -HUP "$(cat "$TB_DIR/pid-impi-server-again")"
testbed_wait 10 "the refusal" grep -q 'SIGHUP: --key-file .*the keys stay as they are' "$TB_LOG/impi-server-again.log"
succeeded $? "SIGHUP with a key file that others may read: refused"
(umask 077; cp "$TB_DIR/conf/psk" "$TB_DIR/conf/again.new"; mv "$TB_DIR/conf/again.new" "$TB_DIR/conf/again")
kill -HUP "$(cat "$TB_DIR/pid-impi-server-again")"
testbed_wait 10 "the keys" grep -q 'SIGHUP: 1 key from' "$TB_LOG/impi-server-again.log"
job
succeeded $? "SIGHUP: the keys of the file are in use"
testbed_stop impi-server-again 5 >/dev/null

server impi-server-clear -v
listen refused
refused && log impi-server-clear | grep -q 'wants a sealed connection, and there is no --key-file here'
succeeded $? "a server in clear: its log says what is missing, no job begins"
! grep -aq 'AUTH\|COLL' "$TB_DIR/refused"
succeeded $? "and nothing went to it in clear"
testbed_stop impi-server-clear 5 >/dev/null

# Somebody who takes the connection and says nothing.
testbed_spawn srv silent python3 -c "
import socket, time
s = socket.create_server(('::', 7810), family=socket.AF_INET6, dualstack_ipv6=True); print('listens', flush=True)
c, _ = s.accept(); time.sleep(60)"
testbed_wait 20 "silent server" grep -q listens "$TB_LOG/silent.log"
refused && log relayd-afe0 | grep -q 'it has not shown a key within 10 s'
succeeded $? "a server that says nothing: given up after 10 s"
testbed_stop silent 5 >/dev/null

# Some sites seal, and others do not.
server impi-server-both --key-file "$TB_DIR/conf/psk" --clear-too
testbed_stop relayd-bfe0 20
TB_RELAY_IMPI=''
testbed_relayd "$B" bfe0 || fail "relayd: does not start"
listen mixed
job
succeeded $? "--clear-too: a job of a relay that seals and one that does not"
python3 "$TB_DIR/seen.py" "$TB_DIR/mixed" "$TB_DIR/conf/impi-key" clear
succeeded $? "the listener sees what is in clear"
testbed_down
exit $rc
