#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayd-setup on a machine that is a folder, in a namespace: it says what is missing and changes
# nothing, does it, finds nothing missing then, takes it back to the byte; and it refuses ports
# that carry the default route or the session, by themselves or through what stands on them.
# timeout: 60
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root relayd-setup
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
work=$(mktemp -d) || exit 2
net=rdsetup$$
trap 'ip netns del $net 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ip netns add $net && for i in eth0 eth1 eth2 eth3; do
	ip -n $net link add $i type veth peer name p-$i && ip -n $net link set $i up || exit 2
done
ip -n $net addr add 192.0.2.5/24 dev eth0
ip -n $net route add default via 192.0.2.1
ip -n $net addr add 203.0.113.7/24 dev eth1

m=$work/m
# A machine: four ports eth0 .. eth3, of which bond0 stands on eth3; four CPUs.
mkdir -p "$m"/{etc/default/grub.d,etc/sysctl.d,var/lib,proc/sys/vm,proc/sys/kernel,sys/kernel/iommu_groups,sys/bus/pci/drivers/ice}
echo 0 >"$m/proc/sys/vm/nr_hugepages"
echo 1 >"$m/proc/sys/kernel/numa_balancing"
echo "root=/dev/sda1 quiet" >"$m/proc/cmdline"
mkdir -p "$m/sys/devices/system/node" "$m/sys/devices/system/cpu"
echo 0-1 >"$m/sys/devices/system/node/online"
echo 0-3 >"$m/sys/devices/system/cpu/online"
for i in 0 1 2 3; do
	d=$m/sys/bus/pci/devices/0000:03:00.$i
	mkdir -p "$d/net/eth$i" "$m/sys/class/net/eth$i" "$m/sys/devices/system/cpu/cpu$i/cpufreq"
	echo 0x8086 >"$d/vendor"
	ln -s ../../drivers/ice "$d/driver"
	echo powersave >"$m/sys/devices/system/cpu/cpu$i/cpufreq/scaling_governor"
done
ln -s ../eth9 "$m/sys/class/net/eth3/upper_bond0"
mkdir -p "$m/sys/class/net/bond0"
# What would change the machine is told to do so, and says that it was.
mkdir "$work/bin"
for p in driverctl update-grub modprobe; do
	printf '#!/bin/sh\necho "%s $*" >>%s/ran\n' $p "$work" >"$work/bin/$p"
	chmod +x "$work/bin/$p"
done
# As the real one ends where the kernel's driver does not take the device.
cat >>"$work/bin/driverctl" <<END
[ "\$1" != set-override ] || [ -n "\$(ls '$m/sys/kernel/iommu_groups')" ] && exit
echo "driverctl: failed to bind device \$2 to driver \$3" >&2
exit 1
END
conf()
{
	cat >"$work/conf.json" <<END
{ "ports": { "private": { "device": "$1" }, "global": { $2 } },
  "eal": { "lcores": "${3:-0@0,1@2,2@3}", "memory_mb": 1024 }, "workers": 2, "idle": "busy" }
END
}
# setup ARGUMENT...: in the namespace, as a session that came to 203.0.113.7.
setup()
{
	: >"$work/ran"
	SSH_CONNECTION="198.51.100.9 4000 ${SESSION:-203.0.113.7} 22" PATH=$work/bin:$PATH \
		ip netns exec $net "$B/bin/relayd-setup" --root "$m" "$@" >"$work/out" 2>&1
}
sum() { (cd "$m" && find . -type f ! -path './var/*' -exec sha256sum {} + | sort -k2); }
# wants WHAT STATUS PATTERN... after setup: status and lines.
wants()
{
	local got=$? what=$1 status=$2 why='' p
	shift 2
	[ $got = "$status" ] || why="status $got, "
	for p; do grep -qE -- "$p" "$work/out" || why+="no line \"$p\", "; done
	[ -z "$why" ] || why+=$(cat "$work/out")
	verdict "$what" "$why"
}

conf 0000:03:00.2 '"interface": "eth3"'
sum >"$work/before"
setup "$work/conf.json"
wants "says what is missing" 1 'vm.nr_hugepages = 512' 'kernel.numa_balancing = 0' \
	'driverctl --noprobe set-override 0000:03:00.2 vfio-pci' 'modprobe vfio-pci' \
	'intel_iommu=on iommu=pt isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3' \
	'echo performance > /sys/devices/system/cpu/cpu3/cpufreq/scaling_governor' '^fix: .*--apply'
sum >"$work/after"
verdict "and changes nothing" "$(diff "$work/before" "$work/after"; cat "$work/ran")"

setup --no-cpus "$work/conf.json"
wants "leaves CPUs alone" 1 'missing: kernel: intel_iommu=on iommu=pt$'

setup --apply "$work/conf.json"
wants "does it" 0 'done: memory' 'done: vfio: 0000:03:00.2' 'done: CPUs' '^reboot'
why=
for l in 'modprobe vfio-pci' 'driverctl --noprobe set-override 0000:03:00.2 vfio-pci' 'update-grub '; do
	grep -qx -- "$l" "$work/ran" || why+="$l was not run; "
done
[ "$(cat "$m/proc/sys/vm/nr_hugepages")" = 512 ] || why+="no hugepages; "
grep -qx vfio-pci "$m/etc/modules-load.d/relayd.conf" || why+="no module; "
grep -q 'w /sys/devices/system/cpu/cpu2/.* performance' "$m/etc/tmpfiles.d/relayd-governor.conf" ||
	why+="no governor; "
verdict "now and for the next boot" "$why"

# The next boot.
echo "root=/dev/sda1 quiet intel_iommu=on iommu=pt isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3" >"$m/proc/cmdline"
mkdir "$m/sys/kernel/iommu_groups/1" "$m/sys/bus/pci/drivers/vfio-pci"
ln -sfn ../../drivers/vfio-pci "$m/sys/bus/pci/devices/0000:03:00.2/driver"
setup "$work/conf.json"
wants "then nothing is missing" 0 '^nothing is missing$'

# Other CPUs: the file of the kernel's words keeps those of the IOMMU, and a port is bound at once.
grub=$m/etc/default/grub.d/60-relayd.cfg
ln -sfn ../../drivers/ice "$m/sys/bus/pci/devices/0000:03:00.2/driver"
conf 0000:03:00.2 '"interface": "eth3"' '0@0,1@1,2@2'
setup "$work/conf.json"
wants "other CPUs" 1 'kernel: intel_iommu=on iommu=pt isolcpus=1,2 nohz_full=1,2 rcu_nocbs=1,2$' \
	'driverctl set-override 0000:03:00.2 vfio-pci'
cp "$grub" "$work/grub"
setup --apply --no-cpus "$work/conf.json"
verdict "whoever leaves CPUs alone keeps their words" "$(diff "$work/grub" "$grub")"
conf 0000:03:00.2 '"interface": "eth3"'

# The kernel was asked, and the firmware has it off; then by a mode that needs none.
rmdir "$m/sys/kernel/iommu_groups/1"
setup --apply "$work/conf.json"
wants "the firmware's part is said" 1 'missing: IOMMU: .*firmware' 'done: vfio'
mkdir -p "$m/sys/module/vfio/parameters"
echo Y >"$m/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
setup "$work/conf.json"
wants "a mode without IOMMU" 1 '    driverctl set-override 0000:03:00.2 vfio-pci'
verdict "asks for none" "$(grep IOMMU "$work/out")"
rm -r "$m/sys/module"
rm "$grub"
echo "root=/dev/sda1 quiet" >"$m/proc/cmdline"
printf 'vendor_id\t: AuthenticAMD\n' >"$m/proc/cpuinfo"
setup "$work/conf.json"
wants "AMD's needs one word" 1 'kernel: iommu=pt isolcpus'
rm "$m/proc/cpuinfo"
cp "$work/grub" "$grub"
"$B/bin/relayd-setup" --help 2>"$work/out" | true
verdict "its help ends with its reader" "$(cat "$work/out")"

setup --undo
wants "takes it back" 0 'undone: /etc/sysctl.d/60-relayd.conf' 'undone: driverctl unset-override 0000:03:00.2'
sum >"$work/after"
verdict "to the byte" "$(diff "$work/before" "$work/after")"
setup --undo
wants "once" 0 '^nothing to undo$'
ln -sfn ../../drivers/ice "$m/sys/bus/pci/devices/0000:03:00.2/driver"

# refused WHAT PATTERN: nothing was done.
refused()
{
	setup --apply "$work/conf.json"
	wants "refuses $1" 2 "$2"
	sum >"$work/after"
	verdict "$1: nothing is done" "$(diff "$work/before" "$work/after"; cat "$work/ran")"
}
conf 0000:03:00.0 '"interface": "eth3"'
refused "the default route" 'ports.private: eth0: it has a default route'
conf 0000:03:00.2 '"device": "0000:03:00.1"'
refused "the session" 'ports.global: eth1: your session comes to 203.0.113.7'
conf 0000:03:00.2 '"interface": "eth1"'
refused "the session, of an interface" 'ports.global: eth1: your session'
ip -n $net link add bond0 type veth peer name p-bond0 && ip -n $net addr add 203.0.113.8/24 dev bond0
conf 0000:03:00.2 '"device": "0000:03:00.3"'
SESSION=203.0.113.8 refused "a bond's member" 'ports.global: eth3, which carries bond0: your session'
conf 0000:03:00.2 '"device": "0000:04:00.0"'
refused "a device that is not there" 'there is no PCI device 0000:04:00.0'
conf 0000:03:00.2 '"interface": "eth3"' '0@1,1@0,2@3'
refused "CPU 0" 'a worker on CPU 0'
echo '{' >"$work/conf.json"
refused "a broken file" 'conf.json: .*relayd --check'
exit $rc
