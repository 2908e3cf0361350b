#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A private leg over DPDK's bonding of two ports (round robin): the node, which has both wires in one
# bridge, reaches the relay, and both wires carry what the relay sends.
# ipv6: no, because it is about ports
# timeout: 60
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
	ip -n "$NODE" -batch - || { fail relayd-bond-bridge "the kernel makes no bridge"; exit 1; }
make_conf
sed -i -e 's/"interface": "priv0"/"device": "net_bonding0,mode=0,slave=net_af_packet8,slave=net_af_packet9"/' \
	-e 's/"mtu": 9000/"mtu": 1500/' \
	-e 's/"extra": \[\]/"extra": ["--vdev=net_af_packet8,iface=priv0,framesz=2048,blocksz=8192,framecnt=1024", "--vdev=net_af_packet9,iface=priv1,framesz=2048,blocksz=8192,framecnt=1024"]/' \
	"$TMP/conf.json"
start_relayd || { fail bond-start "no ready line; log follows"; exit 1; }
check bond-driver "ports does not name it" \
	grep -q '"driver": "net_bonding"' <("$B/bin/relayctl" -s "$RUN" --json ports)
sent() { ip netns exec "$RELAY" cat "/sys/class/net/$1/statistics/tx_packets" 2>/dev/null ||
	ip -n "$RELAY" -j -s link show "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])'; }
a=$(sent priv0) b=$(sent priv1)
check bond-ping "no echo reply" ip netns exec "$NODE" ping -q -c 20 -i 0.05 -W 2 10.0.0.1
check bond-tcp "no TCP connection to the IMPI port" \
	ip netns exec "$NODE" python3 -c 'import socket; socket.create_connection(("10.0.0.1", 7811), 5)'
a=$(($(sent priv0) - a)) b=$(($(sent priv1) - b))
echo "of what the relay sent $a frames went by the first wire, $b by the second"
check bond-both "$a and $b frames" [ "$a" -ge 5 -a "$b" -ge 5 ]
stop_relayd
check bond-exit "relayd's status is not 0 after SIGTERM" [ $? -eq 0 ]
exit "$FAILED"
