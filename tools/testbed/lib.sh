# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Two clusters or more out of network namespaces on one machine.  Source it (bash, root):
#
#	B=build/gcc           # what `make all` has built
#	. tools/testbed/lib.sh
#	testbed_up            # knobs below, as variables
#	testbed_exec a0 ping -c1 10.0.0.2
#	testbed_down          # also run by the EXIT trap that testbed_up sets
#
#	              cluster A                 wan                   cluster B
#	 a0 10.0.0.1 --+                                                  +-- b0 10.0.0.1
#	 a1 10.0.0.2 --+- asw -- afe0 -- [wanA]== wanem ==[wanB] -- bfe0 -+-- b1 10.0.0.2
#	                         10.0.0.254  |                 198.51.100.21
#	                      198.51.100.11  +- srv 198.51.100.2
#
# Nodes have a kernel address on eth0.  Front ends have legs priv0 and glob0 without
# one: relayd owns those (testbed_kernel_address gives them one for tests without
# relayd).  Everything of a run carries TB_ID in its name or lies in TB_DIR; nothing
# else is touched, so any number of testbeds live side by side.
#
# Further clusters (CLUSTERS='a b c d', up to p) hang on wanA and wanB in turn: global addresses
# 198.51.100.31, .41, ...; private ones the same everywhere.  Light paths between front
# ends: light.sh.
#
# Knobs: CLUSTERS ('a b'), NODES (2) and RELAYS (1) per cluster (NODES_A, RELAYS_A ..: of one of them), PPN (1)
# ranks per node in the MPI host files, MTU_IN (9000; 1500 with PMD=af_xdp), MTU_WAN (1500), PMD (af_packet),
# IDLE (sleep), TB_RELAY_CONF (further keys of relayd's configuration), TB_RELAY_IMPI (of its impi), TB_KEEP=1
# (testbed_down keeps TB_DIR), TB_LOG (folder of the logs; not removed; default
# TB_DIR/log, removed).  For the relays started next: TB_SERVER_AT (IMPI server),
# TB_IMPI_PORTS (impi.ports, 1), TB_GATE_GLOBAL (gate_global), TB_DEVICE_PRIVATE (a vdev
# string instead of priv0 and PMD), TB_PREFIX_IN and TB_PREFIX_WAN (24: prefixes of the legs),
# TB_STATS_DIR (TB_DIR), TB_VLAN_IN and TB_VLAN_WAN (none: VLANs of the legs), TB_ONE_PORT=1
# (both at priv0).  IPV6=1: relays reach those of other clusters and the server by IPv6, those
# in IPV4_ONLY do not; TB_SIX_MORE (further names and places, of trunks.ipv6).  IPV6_INSIDE='a b': nodes of these clusters have IPv6 alone, their relays both.
#
# Names of nodes: a0 a1 .. b0 b1 .., afe0 .. bfe0 .., srv, wan, asw, bsw.
#
# To start a process costs more than what it does here, and a testbed has dozens of devices.  So
# _tb_ns, _tb_link and their like only write down what there is to be.  testbed_build makes it: one
# `ip -batch` for all namespaces and links, one process for all settings, then one `ip -batch` within
# each namespace.  testbed_up is testbed_plan and testbed_build; who wants more plans it in between, or
# plans it later and builds again.

TB_UP=0
: "${CLUSTERS:=a b}"
TB_SUB_WAN=198.51.100
TB_SUB_IN=10.0.0
TB_SRV=$TB_SUB_WAN.2
TB_CPUS=$(nproc)

testbed_say() { printf '%s\n' "$*" >&2; }
testbed_die() {
	testbed_say "testbed: $*"
	return 1
}

# A pipe that nobody writes to: a pause without another process.
exec {TB_SILENT}<> <(:)
testbed_nap() { # SECONDS
	read -rt "$1" -u "$TB_SILENT" || true
}

# testbed_wait SECONDS WHAT COMMAND...: until the command succeeds, or say what failed.  A
# second counts as the share of it that a task gets while more want to run than there are
# processors, and a third of that: limits are for what hangs, not for who is slow.
testbed_wait() {
	local limit=$1 what=$2 counted=0 then=${EPOCHREALTIME/[.,]/} now running pause=0.05
	shift 2
	until "$@" >/dev/null 2>&1; do
		now=${EPOCHREALTIME/[.,]/}
		read -r _ _ _ running _ </proc/loadavg
		running=${running%%/*}
		counted=$((counted + (now - then) * TB_CPUS / (running > TB_CPUS ? running : TB_CPUS)))
		then=$now
		if ((counted > limit * 3000000)); then
			testbed_die "waited $limit s for: $what"
			return 1
		fi
		testbed_nap $pause
		((counted < 1000000)) || pause=0.1 # what takes long may be seen late
	done
}

testbed_addr() { # testbed_addr NODE: its private address
	case $1 in
	[a-p]fe*) echo "$TB_SUB_IN.$((254 - ${1#?fe}))" ;;
	[a-p][0-9]*) echo "$TB_SUB_IN.$((${1#?} + 1))" ;;
	srv) echo $TB_SRV ;;
	*) testbed_die "no node $1" ;;
	esac
}

# The same by IPv6, where nodes have that alone (IPV6_INSIDE): 10.0.0.254 is fd00::fe, in all clusters.
testbed_six_inside() { [[ " ${IPV6_INSIDE:-} " == *" ${1:0:1} "* ]]; } # NODE or CLUSTER
testbed_inside_six() { # NODE
	local v4
	v4=$(testbed_addr "$1")
	printf 'fd00::%x\n' "${v4##*.}"
}
# testbed_inside NODE [PORT]: where others of its cluster reach it.
testbed_inside() {
	if ! testbed_six_inside "$1"; then
		echo "$(testbed_addr "$1")${2:+:$2}"
	elif [ -n "${2:-}" ]; then
		echo "[$(testbed_inside_six "$1")]:$2"
	else
		testbed_inside_six "$1"
	fi
}

# Further private addresses of a front end: gates to the foreign hosts of its cluster, one
# for each remote client after the first.
testbed_gates() { # FRONTEND
	local i=${1#?fe} k n
	n=$(_tb_clusters)
	((n > 5)) || n=5
	for ((k = 0; k < n - 2; k++)); do echo "$TB_SUB_IN.$((200 + (n - 1) * i + k))"; done
}

_tb_relays() { # CLUSTER: how many
	local own=RELAYS_${1^^}
	echo "${!own:-$RELAYS}"
}
_tb_nodes() { # CLUSTER: how many
	local own=NODES_${1^^}
	echo "${!own:-$NODES}"
}

_tb_index() { # of a cluster, by a name in it
	local letter
	printf -v letter %d "'${1:0:1}"
	echo $((letter - 97))
}
_tb_clusters() { set -- $CLUSTERS; echo $#; }

testbed_global_addr() { # of a front end
	case $1 in
	[a-p]fe*) echo "$TB_SUB_WAN.$((11 + 10 * $(_tb_index "$1") + ${1#?fe}))" ;;
	srv) echo $TB_SRV ;;
	*) testbed_die "$1 has no global address" ;;
	esac
}

# The kernel's settings in nodes.  Front ends: what it sees of a leg that relayd drives is not for the
# kernel (its route back goes elsewhere), neither packets nor ARP requests.  A switch is no firewall.
_tb_sysctls='set net/ipv6/conf/all/disable_ipv6 1
set net/ipv6/conf/default/disable_ipv6 1
set net/ipv4/conf/all/rp_filter 1
set net/ipv4/conf/default/rp_filter 1
set net/ipv4/conf/all/arp_ignore 1
set net/ipv4/conf/default/arp_ignore 1
set net/bridge/bridge-nf-call-iptables 0
set net/bridge/bridge-nf-call-ip6tables 0
set net/bridge/bridge-nf-call-arptables 0'

# The plan: lines of `ip -batch` for namespaces and links, of `inside --settle` (inside.c), and of
# `ip -batch` within each node.
_tb_links='' _tb_settings=''
declare -A _tb_within

_tb_ns() { # NODE [bare]: bare: the kernel's settings stay as they are
	echo "$1" >>"$TB_DIR/nodes"
	_tb_links+="netns add $TB_ID-$1"$'\n'
	[ "${2:-}" = bare ] || _tb_settle "$1" "$_tb_sysctls"
	_tb_ip "$1" link set lo up
}

_tb_settle() { _tb_settings+="in $TB_ID-$1"$'\n'"$2"$'\n'; } # NODE LINES
_tb_ip() { _tb_within[$1]+="${*:2}"$'\n'; }                   # NODE WORDS OF ip...

# _tb_link NODE IF NODE IF MTU: a veth pair, up, offloads off.
_tb_link() {
	_tb_links+="link add $2 mtu $5 netns $TB_ID-$1 type veth peer name $4 mtu $5 netns $TB_ID-$3"$'\n'
	_tb_settle "$1" "plain $2"
	_tb_settle "$3" "plain $4"
	_tb_ip "$1" link set "$2" up
	_tb_ip "$3" link set "$4" up
}

_tb_bridge() { # NODE BRIDGE MTU
	_tb_links+="link add $2 mtu $3 netns $TB_ID-$1 type bridge mcast_snooping 0"$'\n'
	_tb_ip "$1" link set "$2" up
}

_tb_port() { _tb_ip "$1" link set "$3" master "$2"; }            # NODE BRIDGE IF
_tb_address() { _tb_ip "$1" addr add "$3" dev "$2" "${@:4}"; } # NODE IF ADDRESS/LENGTH WORDS...

# testbed_build: makes what was planned since the last time.
testbed_build() {
	local node ok=1
	ip -batch - <<<"$_tb_links" && "$TB_INSIDE" --settle <<<"$_tb_settings" || ok=0
	for node in "${!_tb_within[@]}"; do
		[ $ok = 0 ] || ip -n "$TB_ID-$node" -batch - <<<"${_tb_within[$node]}" || ok=0
	done
	_tb_links='' _tb_settings='' _tb_within=()
	[ $ok = 1 ] ||
		testbed_die "could not build the namespaces (see above); this kernel needs veth and bridge"
}

_tb_cluster() {
	local c=$1 wan=$2 i n relays nodes
	relays=$(_tb_relays "$c")
	nodes=$(_tb_nodes "$c")
	_tb_ns "${c}sw"
	_tb_bridge "${c}sw" br0 "$MTU_IN"
	for ((i = 0; i < nodes; i++)); do
		n=$c$i
		_tb_ns "$n"
		_tb_link "$n" eth0 "${c}sw" "p$i" "$MTU_IN"
		_tb_port "${c}sw" br0 "p$i"
		if testbed_six_inside "$c"; then
			_tb_settle "$n" 'set net/ipv6/conf/lo/disable_ipv6 0
set net/ipv6/conf/eth0/disable_ipv6 0'
			_tb_address "$n" eth0 "$(testbed_inside_six "$n")/64" nodad
		else
			_tb_address "$n" eth0 "$(testbed_addr "$n")/24"
		fi
	done
	for ((i = 0; i < relays; i++)); do
		n=${c}fe$i
		_tb_ns "$n"
		_tb_link "$n" priv0 "${c}sw" "f$i" "$MTU_IN"
		_tb_port "${c}sw" br0 "f$i"
		_tb_link "$n" glob0 wan "$n" "$MTU_WAN"
		_tb_port wan "$wan" "$n"
	done
}

# Runs COMMAND in a node: its network namespace, its host name.  Kept as a script, for
# the rsh agent runs it too.
_tb_write_tools() {
	cat >"$TB_DIR/in" <<EOF
#!/bin/sh
# in NODE COMMAND...
n=$TB_ID-\$1
shift
export TMPDIR=$TB_DIR/tmp HOSTNAME=\$n
exec $TB_INSIDE "\$n" "\$@"
EOF
	local c
	for c in $CLUSTERS; do
		cat >"$TB_DIR/rsh-$c" <<EOF
#!/bin/sh
# Open MPI's plm_rsh_agent inside cluster $c: rsh-$c HOST COMMAND..., where HOST is an
# address or a name of a node of this cluster.
while [ "\${1#-}" != "\$1" ]; do shift; done
h=\$1
shift
case \$h in
$TB_SUB_IN.*) n=$c\$((\${h##*.} - 1)) ;;
$TB_ID-*) n=\${h#$TB_ID-} ;;
*) n=\$h ;;
esac
if [ ! -e "/var/run/netns/$TB_ID-\$n" ]; then
	echo "rsh-$c: no node \$h in cluster $c" >&2
	exit 1
fi
exec $TB_DIR/in "\$n" /bin/sh -c "\$*"
EOF
	done
	chmod +x "$TB_DIR/in" "$TB_DIR"/rsh-*
}

# testbed_mpi_env CLUSTER: NAME=VALUE lines that make a plain `mpirun -np N program` in
# node 0 of the cluster use all its nodes.
testbed_mpi_env() {
	local i hosts=$TB_DIR/hosts-$1 nodes
	nodes=$(_tb_nodes "$1")
	for ((i = 0; i < nodes; i++)); do
		echo "$TB_ID-$1$i slots=$PPN"
	done >"$hosts"
	echo "OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_plm=rsh
OMPI_MCA_plm_rsh_agent=$TB_DIR/rsh-$1
OMPI_MCA_plm_rsh_no_tree_spawn=1
OMPI_MCA_oob_tcp_if_include=eth0
OMPI_MCA_orte_default_hostfile=$hosts
OMPI_MCA_orte_tmpdir_base=$TB_DIR/tmp
OMPI_MCA_hwloc_base_binding_policy=none
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_orte_abort_on_non_zero_status=1
PMIX_MCA_ptl_tcp_if_include=lo"
}

# testbed_job_local B NAME RANKS PROGRAM...: in cluster A alone, no relay; in the
# background like testbed_spawn.
testbed_job_local() {
	local b=$1 name=$2 np=$3 env
	shift 3
	mapfile -t env < <(testbed_mpi_env a)
	testbed_spawn a0 "$name" env "${env[@]}" mpirun -np "$np" --map-by node "$@"
}

# The word for `env` that has relayd's clients and the server know each other: with TB_AUTH=key
# a key of this run, as a site's operators would make one.
_tb_auth() {
	local key=$TB_DIR/conf/impi-key
	[ "${TB_AUTH:-none}" = key ] || { echo IMPI_AUTH_NONE=1; return; }
	[ -e "$key" ] || (umask 077; mkdir -p "$TB_DIR/conf"; od -An -tu8 -N8 /dev/urandom | tr -d ' ' >"$key")
	echo "IMPI_AUTH_KEY=$(<"$key")"
}

# testbed_job_part B CLUSTER NAME PROGRAM...: a cluster's part of such a job, nodes x PPN ranks,
# as spawned NAME-CLUSTER.
testbed_job_part() {
	local b=$1 c=$2 name=$3 env
	shift 3
	mapfile -t env < <(testbed_mpi_env "$c")
	testbed_spawn "${c}0" "$name-$c" env "${env[@]}" "$(_tb_auth)" "$b/bin/impirun" \
		-client "$(_tb_index "$c")" "$(testbed_inside "${c}fe0" 7811)" --launcher mpirun \
		-np $(($(_tb_nodes "$c") * PPN)) "$@"
}

# testbed_job B NAME PROGRAM...: one MPI job over all clusters.
testbed_job() {
	local b=$1 name=$2 c last_first=''
	shift 2
	for c in $CLUSTERS; do last_first="$c $last_first"; done
	for c in $last_first; do testbed_job_part "$b" "$c" "$name" "$@"; done
}

# testbed_server B: impi-server for all clusters, one job after another.
testbed_server() {
	testbed_spawn srv impi-server env "$(_tb_auth)" "$1/bin/impi-server" -server "$(_tb_clusters)" -port 7810 \
		--persist -v
	testbed_wait 10 "impi-server ($TB_LOG/impi-server.log)" grep -q ":7810" "$TB_LOG/impi-server.log"
}

_tb_begin() {
	[ "$EUID" = 0 ] || {
		testbed_die "network namespaces need root: run it with sudo"
		return 1
	}
	TB_INSIDE=${B:-build/gcc}/test/inside
	[[ $TB_INSIDE = /* ]] || TB_INSIDE=$PWD/$TB_INSIDE
	[ -x "$TB_INSIDE" ] || {
		testbed_die "$TB_INSIDE is not there: run 'make all'"
		return 1
	}
	TB_ID=rd$$
	# Two testbeds of one shell, or a process id used again.
	while compgen -G "/var/run/netns/$TB_ID-*" >/dev/null; do TB_ID=rd$$x$((RANDOM % 1000)); done
	# Nor do a second one's logs belong into the first one's folder.
	[ "${TB_LOG:-}" != "${TB_DIR:-}/log" ] || TB_LOG=
	TB_DIR=$(mktemp -d "/tmp/$TB_ID.XXXXXX") || return
	TB_LOG=${TB_LOG:-$TB_DIR/log}
	mkdir -p "$TB_LOG" "$TB_DIR/tmp" "$TB_DIR/conf"
	: >"$TB_DIR/nodes"
	: >"$TB_DIR/pids"
	TB_UP=1
	trap testbed_on_exit EXIT
	trap 'testbed_on_signal INT' INT
	trap 'testbed_on_signal TERM' TERM
	trap 'testbed_on_signal HUP' HUP
	_tb_write_tools
}

testbed_up() { testbed_plan && testbed_build; }

testbed_plan() {
	local c wan=(wanA wanB)
	: "${NODES:=2}" "${RELAYS:=1}" "${PPN:=1}" "${MTU_WAN:=1500}" "${PMD:=af_packet}" "${IDLE:=sleep}"
	if [ "$PMD" = af_xdp ]; then : "${MTU_IN:=1500}"; else : "${MTU_IN:=9000}"; fi
	((NODES >= 1 && NODES <= 100 && RELAYS >= 1 && RELAYS <= 8)) || {
		testbed_die "NODES=$NODES must be 1..100, RELAYS=$RELAYS 1..8"
		return 1
	}
	_tb_begin || return
	_tb_ns wan
	_tb_bridge wan wanA "$MTU_WAN"
	_tb_bridge wan wanB "$MTU_WAN"
	for c in $CLUSTERS; do _tb_cluster "$c" "${wan[$(_tb_index "$c") % 2]}"; done
	_tb_link wan wemA wan wemAp "$MTU_WAN"
	_tb_port wan wanA wemAp
	_tb_link wan wemB wan wemBp "$MTU_WAN"
	_tb_port wan wanB wemBp
	_tb_ns srv
	_tb_link srv eth0 wan srv "$MTU_WAN"
	_tb_port wan wanA srv
	_tb_address srv eth0 $TB_SRV/24
	_tb_server_six
}

# The server is reached by IPv6, too.
TB_SRV_SIX=fd00:57a6::2
_tb_server_six() {
	[ -n "${IPV6:-}" ] || return 0
	_tb_settle srv 'set net/ipv6/conf/lo/disable_ipv6 0
set net/ipv6/conf/eth0/disable_ipv6 0'
	_tb_address srv eth0 $TB_SRV_SIX/64 nodad
}

# testbed_pair MTU: instead of testbed_up, two nodes l (192.0.2.1) and r (192.0.2.2), one veth
# between them, nothing else; what front ends need of the kernel's settings is not touched.
# testbed_pair_more MTU N: beside them another such pair, lN and rN.
testbed_pair() {
	_tb_begin && testbed_pair_more "$1" ''
}
testbed_pair_more() {
	_tb_ns "l$2" bare
	_tb_ns "r$2" bare
	_tb_link "l$2" eth0 "r$2" eth0 "$1"
	_tb_address "l$2" eth0 192.0.2.1/24
	_tb_address "r$2" eth0 192.0.2.2/24
	testbed_build
}

# testbed_cable FRONTEND wan|lan up|down: the switch's end of it, so both ends have no carrier.
testbed_cable() {
	if [ "$2" = wan ]; then
		ip -n "$TB_ID-wan" link set "$1" "$3"
	else
		ip -n "$TB_ID-${1:0:1}sw" link set "f${1#?fe}" "$3"
	fi
}

# testbed_switch SWITCH wan|lan FRONTEND...: these legs of one cluster hang on a switch of their own
# from now on, and that on the one they hung on.  Its name has at most 12 letters.
testbed_switch() {
	local name=$1 side=$2 node=wan bridge=wanA mtu=$MTU_WAN port fe
	shift 2
	(($(_tb_index "$1") % 2 == 0)) || bridge=wanB
	[ "$side" = wan ] || node=${1:0:1}sw bridge=br0 mtu=$MTU_IN
	_tb_bridge "$node" "$name" "$mtu"
	_tb_link "$node" "$name-up" "$node" "$name-dn" "$mtu"
	_tb_port "$node" "$name" "$name-up"
	_tb_port "$node" "$bridge" "$name-dn"
	echo "$node" >"$TB_DIR/switch-$name"
	for fe in "$@"; do
		port=$fe
		[ "$side" = wan ] || port=f${fe#?fe}
		_tb_port "$node" "$name" "$port"
		echo "$port" >>"$TB_DIR/switch-$name"
	done
	testbed_build
}

# testbed_power SWITCH off|hung|on: nothing goes through it; off: and its cables have no carrier.
testbed_power() {
	local node port state=down
	[ "$2" != on ] || state=up
	{
		read -r node
		ip -n "$TB_ID-$node" link set "$1" $state || return
		[ "$2" != hung ] || return 0
		while read -r port; do ip -n "$TB_ID-$node" link set "$port" $state || return; done
	} <"$TB_DIR/switch-$1"
}

# testbed_deaf FRONTEND on|off: nothing reaches it from the WAN; what it sends does get there.
testbed_deaf() {
	if [ "$2" = on ]; then
		ip netns exec "$TB_ID-wan" tc qdisc add dev "$1" root tbf rate 8bit burst 1 limit 1
	else
		ip netns exec "$TB_ID-wan" tc qdisc del dev "$1" root
	fi
}

# testbed_slow FRONTEND RATE|off [QUEUE]: as much as RATE (like 20mbit) reaches it from the WAN,
# through a queue of so many bytes (60000).
testbed_slow() {
	if [ "$2" = off ]; then
		ip netns exec "$TB_ID-wan" tc qdisc del dev "$1" root
	else
		ip netns exec "$TB_ID-wan" tc qdisc add dev "$1" root tbf rate "$2" burst 15000 \
			limit "${3:-60000}"
	fi
}

# testbed_kernel_address FRONTEND: the kernel owns its legs (tests without relayd).
testbed_kernel_address() {
	ip -n "$TB_ID-$1" addr add "$(testbed_addr "$1")/24" dev priv0 &&
		ip -n "$TB_ID-$1" addr add "$(testbed_global_addr "$1")/24" dev glob0
}

testbed_exec() { "$TB_DIR/in" "$@"; }

# The kernel gives a number of a process that is gone to another one, of somebody else's, within
# minutes where many start.  So each is known by its number and the time of its start.
declare -A TB_STARTED
_tb_start_of() { # PID: sets TB_START, "" for none, and TB_POLICY, by which it is scheduled
	local s
	TB_START='' TB_POLICY=0
	read -r s 2>/dev/null <"/proc/$1/stat" || return
	# shellcheck disable=SC2086
	set -- ${s##*) }
	TB_START=${20} TB_POLICY=${39}
}

# Is that process there, and the one that was started?  What was started elsewhere is not known.
_tb_is_ours() { # PID
	kill -0 "$1" 2>/dev/null || return
	[ -n "${TB_STARTED[$1]:-}" ] || return 0
	_tb_start_of "$1"
	[ "$TB_START" = "${TB_STARTED[$1]}" ]
}

# testbed_spawn NODE LOGNAME COMMAND...: in the background, in a process group of its
# own, output to TB_LOG/LOGNAME.log.  Its pid is in TB_PID and TB_DIR/pid-LOGNAME.
testbed_spawn() {
	local node=$1 name=$2
	shift 2
	: >"$TB_LOG/$name.log" # here: the child opens it later, and who waits for a word would find the last run's
	setsid "$TB_DIR/in" "$node" "$@" >>"$TB_LOG/$name.log" 2>&1 </dev/null &
	TB_PID=$!
	_tb_start_of $TB_PID
	TB_STARTED[$TB_PID]=${TB_START:-ended}
	echo $TB_PID >"$TB_DIR/pid-$name"
	echo "$TB_PID ${TB_START:-ended}" >>"$TB_DIR/pids"
}

testbed_alive() { # LOGNAME; asked often, so without another process
	local pid
	read -r pid 2>/dev/null <"$TB_DIR/pid-$1" && _tb_is_ours "$pid"
}

# testbed_stop LOGNAME [SECONDS]: SIGTERM, wait, SIGKILL; the exit status of the program.
testbed_stop() {
	local pid i
	read -r pid <"$TB_DIR/pid-$1" || return
	! _tb_is_ours "$pid" || kill -TERM "$pid" 2>/dev/null
	for ((i = ${2:-10} * 60; i > 0; i--)); do
		_tb_is_ours "$pid" || break
		testbed_nap 0.05
	done
	if ((i == 0)); then
		testbed_say "testbed: $1 did not end in $((3 * ${2:-10})) s; killed"
		kill -KILL -- "-$pid" 2>/dev/null
	fi
	wait "$pid"
}

# testbed_wanem BINARY [OPTIONS...]: wanem between wanA (its a) and wanB.  It stands for
# a wire: where poll loops share cores it must go first, or a scheduler slice (3 ms) is
# added to its delay.  Real time only while it forwards (DPDK's start yields in a loop,
# which hangs under it), and only if it sleeps: a spinning one would starve a core.
testbed_wanem() {
	local bin=$1
	shift
	testbed_spawn wan wanem "$bin" --a wemA --b wemB --mtu "$MTU_WAN" --pmd "$PMD" --idle "$IDLE" \
		--file-prefix "$TB_ID-wanem" --stats-file "$TB_DIR/wanem.json" \
		--ready-file "$TB_DIR/wanem.ready" "$@"
	testbed_wait 20 "wanem to forward ($TB_LOG/wanem.log)" _tb_up_or_dead wanem "$TB_DIR/wanem.ready"
	if [ ! -e "$TB_DIR/wanem.ready" ] || ! testbed_alive wanem; then
		testbed_die "wanem did not start:"
		tail -n 5 "$TB_LOG/wanem.log" >&2
		return 1
	fi
	if [ "$IDLE" = sleep ] && ! chrt -f -p 10 "$TB_PID" 2>/dev/null; then
		renice -n -10 -p "$TB_PID" >/dev/null 2>&1
	fi
	return 0
}

_tb_up_or_dead() { [ -e "$2" ] || ! testbed_alive "$1"; }

# testbed_relayd BUILD_DIR FRONTEND...: their configurations in TB_DIR/conf, relayd running on
# each, ready when its control socket answers.
testbed_relayd() {
	local b=$1 fe
	shift
	for fe in "$@"; do _tb_relayd "$b" "$fe"; done
	for fe in "$@"; do
		if ! testbed_wait 60 "relayd on $fe ($TB_LOG/relayd-$fe.log)" _tb_relayd_up "$b" "$fe" ||
			! testbed_alive "relayd-$fe"; then
			testbed_die "relayd on $fe did not start:"
			tail -n 8 "$TB_LOG/relayd-$fe.log" >&2
			return 1
		fi
	done
}

# With IPV6=1 relays reach those of other clusters by IPv6, but for those front ends in IPV4_ONLY: the
# address of a front end, and what its configuration says.
testbed_global_six() { # FRONTEND
	local v4
	v4=$(testbed_global_addr "$1")
	echo "fd00:57a6::${v4##*.}"
}
# testbed_outside FRONTEND [PORT]: where relays of other clusters reach it.
testbed_outside() {
	if [ -n "${IPV6:-}" ] && [[ " ${IPV4_ONLY:-} " != *" $1 "* ]]; then
		if [ -n "${2:-}" ]; then echo "[$(testbed_global_six "$1")]:$2"; else testbed_global_six "$1"; fi
	else
		echo "$(testbed_global_addr "$1")${2:+:$2}"
	fi
}
# testbed_six_seen LOG...: how many paths outside are up by IPv6, as these logs of relays say; added to the
# file SMOKE_SIX, for who runs scenarios wants to know that IPV6=1 came to anything.
testbed_six_seen() {
	[ -n "${IPV6:-}" ] || return 0
	cat "$@" 2>/dev/null | grep -c ': path to \[fd00:57a6:.*is up: ' >>"${SMOKE_SIX:-/dev/null}"
}
_tb_six() { # FRONTEND: for trunks.ipv6; nothing without IPV6
	local o i list=''
	[ -n "${IPV6:-}" ] && [[ " ${IPV4_ONLY:-} " != *" $1 "* ]] || return 0
	for o in $CLUSTERS; do
		[ "$o" != "${1:0:1}" ] || continue
		for ((i = 0; i < $(_tb_relays "$o"); i++)); do
			[[ " ${IPV4_ONLY:-} " != *" ${o}fe$i "* ]] || continue
			list+="${list:+,}$(testbed_global_addr "${o}fe$i")=$(testbed_global_six "${o}fe$i")"
		done
	done
	list+="${TB_SIX_MORE:+${list:+,}$TB_SIX_MORE}"
	echo "\"ipv6\": \"$list\""
}

# _tb_identity B CLUSTER: with TB_IDENTITIES, a key pair per cluster; conf/peers-CLUSTER has the others.
_tb_identity() {
	[ -n "${TB_IDENTITIES:-}" ] || return 0
	local at=$TB_DIR/conf o i public
	if [ ! -e "$at/peers-$2" ]; then
		for o in $CLUSTERS; do
			[ -e "$at/identity-$o" ] || "$1/bin/relayd" --make-identity "$at/identity-$o" >/dev/null
			[ "$o" != "$2" ] || continue
			public=$("$1/bin/relayd" --show-identity "$at/identity-$o")
			echo "site-$o $public$(for ((i = 0; i < $(_tb_relays "$o"); i++)); do
				echo -n " $(testbed_global_addr "${o}fe$i") $(testbed_global_six "${o}fe$i")"
			done)"
		done >"$at/peers-$2"
	fi
	echo ", \"identity_file\": \"$at/identity-$2\", \"peers_file\": \"$at/peers-$2\""
}

_tb_relayd() {
	local b=$1 fe=$2 c=${2:0:1} i of relays='' gate gates conf=$TB_DIR/conf/$2.json device six own='' server=$TB_SRV:7810
	local inside='' mb=256
	! testbed_six_inside "$c" || inside=", \"ipv6\": \"$(testbed_inside_six "$fe")/64\""
	local more=${TB_RELAY_CONF:-} wire
	six=$(_tb_six "$fe")
	[ -z "$six" ] || { own=", \"ipv6\": \"$(testbed_global_six "$fe")/64\"" server=[$TB_SRV_SIX]:7810; }
	case $six:$more in
	:*) ;;
	*'"trunks": {'*) more=${more/'"trunks": {'/"\"trunks\": { $six,"}
		more=${more/"$six,  }"/"$six }"} # there was nothing in it
		;;
	*) more="\"trunks\": { $six }${more:+, $more}" ;;
	esac
	# Every page of it is touched when a relay starts, which is most of what its start costs.  More legs and
	# limits need more.
	case $more in *'"doors"'* | *'"limits"'* | *'"gateway"'* | *'"ports"'* | *'"workers"'* | *'"optical"'*) mb=320 ;; esac
	! declare -F testbed_light_conf >/dev/null || mb=320
	device="\"interface\": \"priv0\", \"pmd\": \"$PMD\""
	wire="\"interface\": \"glob0\", \"pmd\": \"$PMD\""
	[ -z "${TB_ONE_PORT:-}" ] || wire=${wire/glob0/priv0}
	[ -z "${TB_DEVICE_PRIVATE:-}" ] || device="\"device\": \"$TB_DEVICE_PRIVATE\""
	of=$(_tb_relays "$c")
	for ((i = 0; i < of; i++)); do
		relays+="${relays:+, }{ \"private\": \"$(testbed_addr "${c}fe$i")\","
		gates=''
		for gate in $(testbed_gates "${c}fe$i"); do gates+="${gates:+,}\"$gate\""; done
		! testbed_six_inside "$c" || relays+=" \"private6\": \"$(testbed_inside_six "${c}fe$i")\","
		relays+=" \"global\": \"$(testbed_global_addr "${c}fe$i")\", \"gates\": [ $gates ]${TB_GATE_GLOBAL:+, \"gate_global\": \"$TB_GATE_GLOBAL\"} }"
	done
	# One key for all relays of the run, as a site's operators would share one.
	[ -e "$TB_DIR/conf/psk" ] ||
		(umask 077; echo "1 $(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')" >"$TB_DIR/conf/psk")
	_tb_auth >/dev/null # makes the key
	cat >"$conf" <<EOF
{
	"cluster": { "name": "$c", "relays": [ $relays ] },
	"ports": {
		"private": { $device, "address": "$(testbed_addr "$fe")",
			"prefix_len": ${TB_PREFIX_IN:-24}, "mtu": $MTU_IN${TB_VLAN_IN:+, \"vlan\": $TB_VLAN_IN}$inside },
		"global": { $wire, "address": "$(testbed_global_addr "$fe")",
			"prefix_len": ${TB_PREFIX_WAN:-24}, "mtu": $MTU_WAN${TB_VLAN_WAN:+, \"vlan\": $TB_VLAN_WAN}$own }
	},
	"sealing": { "key_file": "${TB_PSK-$TB_DIR/conf/psk}"$(_tb_identity "$b" "$c") },
	"impi": { ${TB_RELAY_IMPI:-}
		"server": "${TB_SERVER_AT:-$server}", "auth": "${TB_AUTH:-none}",
		"key_file": "$([ "${TB_AUTH:-none}" = none ] || echo "$TB_DIR/conf/impi-key")",
		"ports": ${TB_IMPI_PORTS:-1} },
	"eal": { "lcores": "${TB_LCORES:-(0,1)@(0-$((TB_CPUS - 1)))}", "file_prefix": "$TB_ID-$fe",
		"hugepages": false, "memory_mb": ${TB_RELAY_MB:-$mb} },
	"idle": "$IDLE",${more:+
	$more,}
	$(! declare -F testbed_light_conf >/dev/null || testbed_light_conf "$fe")
	"stats_file": "${TB_STATS_DIR:-$TB_DIR}/$fe.json"
}
EOF
	testbed_spawn "$fe" "relayd-$fe" "$b/bin/relayd" "$conf"
}

_tb_relayd_up() {
	{ [ -S "/run/relayd/$TB_ID-$2.sock" ] && "$1/bin/relayctl" -s "$TB_ID-$2" status; } ||
		! testbed_alive "relayd-$2"
}

# What is ours and still there; nothing if testbed_down did its work.
testbed_leftovers() {
	local n
	for n in /var/run/netns/"$TB_ID"-*; do
		[ ! -e "$n" ] || echo "namespace ${n##*/}"
	done
	[ ! -e "$TB_DIR" ] || [ -n "${TB_KEEP:-}" ] || echo "directory $TB_DIR"
	for n in /var/run/dpdk/"$TB_ID"-* /dev/hugepages/"$TB_ID"-* /run/relayd/"$TB_ID"-*; do
		[ ! -e "$n" ] || echo "file $n"
	done
}

# The number of a group is not given to others while somebody is in it, so one whose first process
# is another than we started has nobody of ours.
_tb_kill_groups() { # SIGNAL, to everything that testbed_spawn started
	local p start
	while read -r p start; do
		_tb_start_of "$p"
		[ -n "$TB_START" ] && [ "$TB_START" != "$start" ] || kill "-$1" -- "-$p" 2>/dev/null
	done <"$TB_DIR/pids"
}

_tb_kill_rest() { # SIGNAL, to whatever else lives in our namespaces
	local p
	for p in $(_tb_inhabitants); do kill "-$1" "$p" 2>/dev/null; done
}

_tb_wait_nobody() {
	local i
	for ((i = 0; i < $1 * 20; i++)); do
		_tb_nobody && return
		testbed_nap 0.05
	done
	return 1
}

_tb_nobody() {
	local p start
	while read -r p start; do # those we know are asked first, for that is cheaper
		[ -e "/proc/$p/ns/net" ] || continue
		_tb_start_of "$p"
		[ "$TB_START" != "$start" ] || return 1
	done <"$TB_DIR/pids"
	[ -z "$(_tb_inhabitants)" ]
}

# The processes in our namespaces, as /proc has them: `ip netns pids` would be a process for each.
_tb_inhabitants() {
	local p n
	for p in /proc/[0-9]*; do
		[ ! "$p/ns/net" -ef /proc/self/ns/net ] || continue # one of most
		while read -r n; do
			[ ! "$p/ns/net" -ef "/var/run/netns/$TB_ID-$n" ] || echo "${p#/proc/}"
		done <"$TB_DIR/nodes"
	done
}

# Idempotent; also takes down what a failed testbed_up built.
testbed_down() {
	local p start n doomed=''
	[ "$TB_UP" = 1 ] || return 0
	TB_UP=0
	# Who goes first must not when it ends: a leg's setting that is written back spins until the kernel's
	# lock for networks is free, and whoever holds that may be waiting for this very processor.
	while read -r p start; do
		_tb_start_of "$p"
		[ "$TB_START" != "$start" ] || [ "$TB_POLICY" = 0 ] || chrt --all-tasks --other -p 0 "$p"
	done <"$TB_DIR/pids" >/dev/null 2>&1
	# Launchers end their own daemons; a second signal on the way out crashes some.
	_tb_kill_groups TERM
	_tb_wait_nobody 4 || { _tb_kill_rest TERM && _tb_wait_nobody 1; } || {
		_tb_kill_groups KILL
		_tb_kill_rest KILL
	}
	testbed_six_seen "$TB_LOG"/relayd-*.log
	while read -r n; do doomed+="netns del $TB_ID-$n"$'\n'; done <"$TB_DIR/nodes"
	ip -force -batch - <<<"$doomed" 2>/dev/null
	set -- /var/run/dpdk/"$TB_ID"-* /dev/hugepages/"$TB_ID"-* /run/relayd/"$TB_ID"-*
	[ -n "${TB_KEEP:-}" ] || set -- "$@" "$TB_DIR"
	rm -rf "$@"
	{ wait; } 2>/dev/null
	return 0
}

testbed_on_exit() {
	local rc=$?
	trap - EXIT
	testbed_down
	exit $rc
}

testbed_on_signal() {
	trap '' INT TERM HUP
	testbed_say "testbed: SIG$1: taking everything down"
	case $1 in INT) exit 130 ;; TERM) exit 143 ;; *) exit 129 ;; esac
}
