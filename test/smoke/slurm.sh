#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A real Slurm of two nodes on this machine, in a network namespace of its own: two sites as two steps of one
# allocation, by impirun and by mpirun, and what goes wrong with srun by hand; two sites as two batch
# jobs of which one is queued longer, by the script that is installed and the lines of its page.
# timeout: 240
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
need_root slurm
PATH=$PATH:/usr/sbin
for p in slurmctld slurmd srun; do
	command -v $p >/dev/null || { echo "SKIP slurm: slurm-wlm is not installed; run make deps"; exit 77; }
done

SCENARIO=slurm
NS=slurm$$ W=$(mktemp -d /tmp/slurm.XXXXXX)
TB_LOG=$W
pids=()
# Those we began, by their id, and the namespace with whoever is left in it.
finish()
{
	local p
	kill "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	for p in $(ip netns pids $NS 2>/dev/null); do kill -9 "$p" 2>/dev/null; done
	ip netns del $NS 2>/dev/null
	umount "$W/run" 2>/dev/null
	rm -rf "$W"
}
trap finish EXIT
# An address besides the loopback's, else names are looked up in no family at all.
ip netns add $NS && ip -n $NS link set lo up && ip -n $NS link add eth0 type veth peer name eth1 &&
	ip -n $NS addr add 192.0.2.1/24 dev eth0 && ip -n $NS link set eth0 up && ip -n $NS link set eth1 up || exit 1
inside() { nsenter --net=/run/netns/$NS "$@"; } # with the host's /sys, which slurmd wants
daemon() { inside "${@:2}" >"$W/$1.out" 2>&1 & pids+=($!); } # NAME COMMAND...

# slurmd wants one, though nothing here is bound by it.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	printf 'CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n'
else
	echo CgroupPlugin=cgroup/v1
fi >"$W/cgroup.conf"
mkdir -p "$W/state" "$W"/spool/n{1,2} "$W"/{run,pmix,pmix2}
host=$(hostname -s)
(umask 077; head -c 1024 /dev/urandom >"$W/munge.key"; printf '%s\n' "$(od -An -tu4 -N4 /dev/urandom | tr -d ' ')" >"$W/key")
cat >"$W/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$W/run/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
StateSaveLocation=$W/state
SlurmdSpoolDir=$W/spool/%n
SlurmctldPidFile=$W/run/slurmctld.pid
SlurmdPidFile=$W/run/slurmd.%n.pid
SlurmctldLogFile=$W/slurmctld.log
SlurmdLogFile=$W/slurmd.%n.log
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=8 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES State=UP
CONF
# By itself Slurm lets ranks wait for each other for 300 s; shorter than a job here waits for another.
echo PMIxTimeout=3 >"$W/mpi.conf"
# Folders of steps are called by numbers, which begin anew here: not in /tmp, where others have theirs.
export SLURM_CONF=$W/slurm.conf PMIX_MCA_gds=hash SLURM_PMIX_TMPDIR=$W/pmix
daemon munged munged --force --foreground --key-file="$W/munge.key" --socket="$W/run/munge.socket" --pid-file="$W/run/munge.pid" \
	--log-file="$W/munge.log" --seed-file="$W/munge.seed"
daemon slurmctld slurmctld -D
# Both have folders of one name for a step's PMIx, each its own.
daemon n1 slurmd -D -N n1
daemon n2 unshare --mount bash -c 'mount --bind "$0/pmix2" "$0/pmix" && exec slurmd -D -N n2' "$W"
idle() { timeout 5 nsenter --net=/run/netns/$NS sinfo -h -o '%T %D' 2>/dev/null | grep -q '^idle 2'; }
for ((i = 0; i < 100; i++)); do
	idle && break
	# One that is gone comes no more.
	for p in "${pids[@]}"; do kill -0 "$p" 2>/dev/null || break 2; done
	sleep 0.2
done
verdict "two nodes of Slurm are idle" "$(idle || tail -1 "$W/slurmctld.log" "$W"/slurmd.*.log "$W/munged.out" | paste -sd' ')" slurmctld slurmd
[ "$rc" -eq 0 ] || exit 1

# Two processes of a site abort, or exchange bytes.
cat >"$W/abort.c" <<C
#include <mpi.h>
int
main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 3)
		MPI_Abort(MPI_COMM_WORLD, 42);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
C
"$B/bin/mpicc" -o "$W/abort" "$W/abort.c" || fail "mpicc"
server=192.0.2.1:7810
daemon server env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 -port 7810 -host 192.0.2.1 --persist -v
export IMPI_AUTH_NONE=1 LIBMPI_JOIN_TIMEOUT_S=60

# In one allocation; OUT is what it says, S its status.
allocated() { OUT=$(inside timeout 100 salloc -Q -n 4 bash -c "$1" 2>&1); S=$?; }
# Two sites as two steps of it; PROGRAM0 and PROGRAM1, and the statuses of both.  With WORDS the
# second one starts when the server has said them once more than before: it serves all jobs here.
sites()
{
	local words=${3:-} said=0
	[ -z "$words" ] || said=$(grep -c "$words" "$W/server.out")
	allocated "site() { $B/bin/impirun -client \$1 $server --launcher srun -np 2 --exact \$2; }
		site 0 '$1' & a=\$!
		for ((i = 0; i < 300; i++)); do
			[ -z '$words' ] || [ \$(grep -c '$words' $W/server.out) -gt $said ] && break
			sleep 0.1
		done
		site 1 '$2'; b=\$?; wait \$a; echo statuses \$? \$b"
}
has() { grep -qE "$1" <<<"$OUT" && echo || echo "${OUT:0:600}" | paste -sd' '; }

sites "$B/test/mpi/p2p" "$B/test/mpi/p2p"
verdict "impirun, two sites as two steps" "$(has '^statuses 0 0')"
sites "$W/abort" "$W/abort"
verdict "MPI_Abort(42) of one site ends both with it" "$(has '^statuses 42 42')"
sites "$B/test/mpi/p2p" false 'joined, 1 of 2'
verdict "the other site hears of ranks that died before they joined" \
	"$(has 'client 1 is gone before it joined: its launcher \(srun\) ended with status 1')"
allocated "$B/bin/mpirun -np 4 $B/test/mpi/p2p"
verdict "mpirun in an allocation" "$([ $S -eq 0 ] || echo "status $S: ${OUT:0:400}")"
allocated "srun -n 2 $B/test/mpi/p2p"
verdict "srun without --mpi=pmix: the ranks say what is missing" "$(has 'has 2 tasks.*srun --mpi=pmix')"
allocated "srun --mpi=pmix -n 4 $B/test/mpi/p2p"
verdict "srun --mpi=pmix" "$([ $S -eq 0 ] || echo "status $S: ${OUT:0:400}")"
# Its ranks ask for programs, connect, publish names.
allocated "XDG_RUNTIME_DIR=$W/run srun --mpi=pmix -n 3 $B/test/mpi/dyn"
verdict "srun --mpi=pmix: programs and names of a running job" "$([ $S -eq 0 ] && has '^ok, [0-9]+ checks' || echo "status $S: ${OUT:0:400}")"
allocated "srun -n 1 $B/bin/impirun -client 0 $server --launcher srun -n 2 true"
verdict "impirun inside a step is refused" "$(has 'job step [0-9]+\.[0-9]+ already.*--overlap')"

# ---- two batch jobs, by the page
cat >"$W/app.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int
main(int argc, char **argv)
{
	int rank, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d: the sum of the ranks is %d\n", rank, sum);
	fflush(stdout);
	for (int i = 0; argc > 1 && i < 600; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(100000);
	}
	return MPI_Finalize();
}
C
mkdir "$W/user"
"$B/bin/mpicc" -o "$W/user/app" "$W/app.c" || fail "mpicc"
cp conf/slurm/site.sbatch "$W/user/"
cp "$W/key" "$W/user/impi-key"
server=192.0.2.1:7811
daemon keyed env -u IMPI_AUTH_NONE IMPI_AUTH_KEY="$(<"$W/key")" "$B/bin/impi-server" -server 2 -port 7811 -host 192.0.2.1 --persist -v
unset IMPI_AUTH_NONE LIBMPI_JOIN_TIMEOUT_S
# page PATTERN MORE: the line of the page after the first that has PATTERN; a rank on each node, the
# server for a relay.
page()
{
	awk -v after="$1" '!found { found = index($0, after); next } /^ +[A-Z_0-9= ]*sbatch / { print; exit }' doc/howto/slurm.md |
		sed "s/--ntasks=4/--ntasks=2 --nodes=2 --parsable $2/; s/10.0.0.254:7811/$server/"
}
user() { (cd "$W/user" && HOME=$W/user PATH=$B/bin:$PATH inside timeout 60 "$@"); }
begin() { user bash -c "$(page "$1" "${2:-}") ${3:-}" 2>>"$W/sbatch.out"; } # PATTERN OPTIONS ARGUMENT
state() { user scontrol show job "$1" 2>/dev/null | grep -oE '(JobState|ExitCode)=[^ ]+' | paste -sd' '; }
until_line() { # FILE PATTERN SECONDS
	local i
	for ((i = 0; i < $3 * 10; i++)); do grep -qs "$2" "$1" && return; sleep 0.1; done
	return 1
}
ended() { # JOB: its state, when it has one to stay
	local i
	for ((i = 0; i < 600; i++)); do
		state "$1" | grep -qE '=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)' && break
		sleep 0.1
	done
	state "$1"
}
second=$(begin 'and at site b' --hold)
first=$(begin 'At site a')
why=
until_line "$W/keyed.out" 'joined, 1 of 2' 30 || why+="the first does not come: $(state "$first"); "
sleep 6 # more than PMIxTimeout
user scontrol release "$second"
for j in "$first" "$second"; do
	s=$(ended "$j")
	[ "$s" = "JobState=COMPLETED ExitCode=0:0" ] || why+="job $j: $s; "
	n=$(grep -c 'the sum of the ranks is 6$' "$W/user/two-sites-$j.out")
	[ "$n" = 2 ] || why+="job $j: $n of 2 lines; "
done
[ -z "$why" ] || why+=$(tail -n 8 "$W/sbatch.out" "$W"/user/*.out)
verdict "two batch jobs, the second held back while the first waits" "$why"

# One that gives up, and one that ends as the other site is cancelled.
job=$(WAIT_S=2 begin 'At site a')
s=$(ended "$job")
why=
[ "$s" = "JobState=FAILED ExitCode=1:0" ] || why+="job $job: $s; "
grep -q 'nothing more came within LIBMPI_JOIN_TIMEOUT_S' "$W/user/two-sites-$job.out" || why+="it does not say why; "
[ -z "$why" ] || why+=$(tail -n 8 "$W/user/two-sites-$job.out")
verdict "a site that waited in vain gives its nodes back" "$why"

first=$(begin 'At site a' '' long) second=$(begin 'and at site b' '' long)
why=
until_line "$W/user/two-sites-$first.out" 'the sum of the ranks' 30 || why+="it does not begin; "
user scancel "$second"
s=$(ended "$first")
[[ $s == "JobState=FAILED ExitCode="* ]] || why+="job $first: $s; "
grep -qE 'client 1|rank [23]' "$W/user/two-sites-$first.out" || why+="it does not say why; "
[ -z "$why" ] || why+=$(tail -n 8 "$W/user/two-sites-$first.out")
verdict "scancel at one site ends the other" "$why"
exit $rc
