#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A private leg over DPDK's bonding of two ports (round robin): the node, which has both wires in one
# bridge, reaches the relay, and both wires carry what the relay sends.  Then over two ports that do say
# that their link is down (active and backup): the relay goes on without either.  The node has IPv6,
# too, whose neighbours are asked for in groups: a port has to let those in.
# ipv6: always
# timeout: 300
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-bond
make_net || { fail relayd-bond-net "cannot make namespaces"; exit 1; }

ip -batch - <<-END || { fail relayd-bond-wires "no second wire"; exit 1; }
	link add p1 mtu 9000 netns $NODE type veth peer name priv1 mtu 9000 netns $RELAY
END
"$B/test/inside" --settle <<-END
	in $NODE
	plain p1
	in $RELAY
	plain priv1
	set net/ipv4/conf/priv0/arp_ignore 8
	set net/ipv4/conf/priv1/arp_ignore 8
	set net/ipv4/conf/priv0/rp_filter 1
	set net/ipv4/conf/priv1/rp_filter 1
END
ip -n "$RELAY" link set priv1 up
printf '%s\n' 'addr flush dev p0' 'link add br0 mtu 1500 type bridge' 'link set p0 master br0' \
	'link set p1 master br0' 'link set p1 up' 'addr add 10.0.0.10/24 dev br0' 'link set br0 up' |
	ip -n "$NODE" -batch - && ip netns exec "$NODE" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/br0/disable_ipv6' &&
	ip -n "$NODE" addr add fd00::10/64 dev br0 nodad || { fail relayd-bond-bridge "the kernel makes no bridge"; exit 1; }
make_conf
sed -i -e 's/"interface": "priv0"/"device": "net_bonding0,mode=0,slave=net_af_packet8,slave=net_af_packet9"/' \
	-e 's/"mtu": 9000/"mtu": 1500/' -e 's#"address": "10.0.0.1"#&, "ipv6": "fd00::1/64"#' \
	-e 's/"extra": \[\]/"extra": ["--vdev=net_af_packet8,iface=priv0,framesz=2048,blocksz=8192,framecnt=1024", "--vdev=net_af_packet9,iface=priv1,framesz=2048,blocksz=8192,framecnt=1024"]/' \
	"$TMP/conf.json"
start_relayd || { fail bond-start "no ready line; log follows"; exit 1; }
check bond-driver "ports does not name it" \
	grep -q '"driver": "net_bonding"' <("$B/bin/relayctl" -s "$RUN" --json ports)
sent() { ip netns exec "$RELAY" cat "/sys/class/net/$1/statistics/tx_packets" 2>/dev/null ||
	ip -n "$RELAY" -j -s link show "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])'; }
a=$(sent priv0) b=$(sent priv1)
check bond-ping "no echo reply" ip netns exec "$NODE" ping -q -c 20 -i 0.05 -W 2 10.0.0.1
check bond-ping6 "no echo reply by IPv6" ip netns exec "$NODE" ping -6 -q -c 3 -i 0.05 -W 2 fd00::1
check bond-tcp "no TCP connection to the IMPI port" \
	ip netns exec "$NODE" python3 -c 'import socket; socket.create_connection(("10.0.0.1", 7811), 5)'
a=$(($(sent priv0) - a)) b=$(($(sent priv1) - b))
echo "of what the relay sent $a frames went by the first wire, $b by the second"
check bond-both "$a and $b frames" [ "$a" -ge 5 -a "$b" -ge 5 ]
stop_relayd
check bond-exit "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]

# ---- a link goes down.  Packet sockets do not say that; a port of virtio does when who serves it is
# gone.  That is a wanem, whose other port is in the node's bridge.  Numbers of devices far from each
# other: the driver of packet sockets makes names of them and of process ids, unique in a namespace.
ip -n "$NODE" -batch - <<-END || { fail bond-links "no further wires"; exit 1; }
	link add v0 index 256 type veth peer name b0
	link add v1 index 4096 type veth peer name b1
	link set b0 master br0
	link set b1 master br0
	link set v0 up
	link set v1 up
	link set b0 up
	link set b1 up
END
"$B/test/inside" --settle <<-END
	in $NODE
	plain v0
	plain b0
	plain v1
	plain b1
END
sed -i -e 's/"device": "net_bonding0[^"]*"/"device": "net_bonding0,mode=1,slave=net_virtio_user8,slave=net_virtio_user9"/' \
	-e "s#\"extra\": \[.*\]#\"extra\": [\"--vdev=net_virtio_user8,path=$TMP/w0,server=1,mac=02:00:00:00:00:08\", \"--vdev=net_virtio_user9,path=$TMP/w1,server=1,mac=02:00:00:00:00:09\"]#" \
	"$TMP/conf.json"
LINKS=()
link_up() { # LINK: its wanem; who of the two begins waits for the other
	rm -f "$TMP/ready$1"
	ip netns exec "$NODE" "$B/bin/wanem" --a "net_vhost$1,iface=$TMP/w$1,client=1" --b "v$1" --mtu 1500 --idle sleep \
		--file-prefix "$RUN-w$1" --ready-file "$TMP/ready$1" >"$TMP/wanem$1.log" 2>&1 &
	LINKS[$1]=$!
}
link_down() {
	kill -TERM "${LINKS[$1]}" && wait "${LINKS[$1]}" 2>/dev/null
	unset "LINKS[$1]"
}
end_links() { # the status stays what it was, for cleanup
	local end=$?
	[ ${#LINKS[@]} -eq 0 ] || kill -KILL "${LINKS[@]}" 2>/dev/null
	return $end
}
trap 'end_links; cleanup' EXIT
link_up 0
link_up 1
start_relayd || { fail bond-start-links "no ready line; log follows"; exit 1; }
# soon COMMAND...: within 30 s
soon() { for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
through() { ip netns exec "$NODE" cat "/sys/class/net/v$1/statistics/tx_packets" 2>/dev/null ||
	ip -n "$NODE" -j -s link show "v$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])'; }
carries() { # LINK: a ping goes, and this wire has the answer
	local before
	before=$(through "$1")
	ip netns exec "$NODE" ping -q -c 1 -W 1 10.0.0.1 && [ "$(through "$1")" -gt "$before" ]
}
check bond-first "no echo reply over the first link" soon carries 0
check bond-first6 "no echo reply by IPv6" soon ip netns exec "$NODE" ping -6 -q -c 1 -W 1 fd00::1
link_down 0
check bond-second "the relay does not go on by the second link" soon carries 1
check bond-second6 "no echo reply by IPv6" soon ip netns exec "$NODE" ping -6 -q -c 1 -W 1 fd00::1
link_up 0
check bond-first-back "wanem: $(tail -1 "$TMP/wanem0.log")" soon test -e "$TMP/ready0"
link_down 1
check bond-back "the relay does not go on by the first link, which came back" soon carries 0
link_down 0
check bond-none "no link is left, and ports does not say so" soon \
	sh -c "'$B/bin/relayctl' -s $RUN ports | grep -q '^private *net_bonding *[0-9]* *no '"
stop_relayd
check bond-exit-links "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]
exit "$FAILED"
