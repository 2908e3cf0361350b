#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline of programs with mpisp.h under mpisprun: ranks and I/O processes are killed, a second
# filter is chained and the first drained while frames pass, and the picture is that of one
# process alone.  Then plans and programs that cannot work, and what is said of them.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
T=$(mktemp -d) && cd "$T" || exit 1
trap 'rm -rf "$T"' EXIT
P=$B/examples/pipeline FRAMES=900

make_plan() { # OUTPUT-OPTIONS...
	cat <<-EOF
		cluster input program $P input --frames $FRAMES
		cluster filter ranks=3 spares=1 program $P filter --work 4
		cluster output program $P output --frames $FRAMES $*
		chain add input filter window=32 policy=least
		chain add filter output ordered window=32
		io input filter 2
		io filter output
	EOF
}

# Until so many frames have come out, or the run has ended.
wait_frames() {
	while kill -0 "$RUN" 2>/dev/null && [ "$(wc -l <log)" -lt "$1" ]; do
		sleep 0.02
	done
}

"$P" alone --frames $FRAMES --png alone.png || exit 1
make_plan --png out.png --log log >plan
: >log
mkfifo orders
"$B/bin/mpisprun" plan <orders >run.log 2>&1 &
RUN=$!
exec 3>orders
wait_frames 100
echo "kill filter 1" >&3
wait_frames 200
echo "kill io input filter" >&3
wait_frames 300
echo "kill io filter output" >&3
wait_frames 400
{
	echo "cluster filter2 ranks=3 program $P filter --work 4"
	echo "chain add input filter2 window=32 policy=least"
	echo "chain add filter2 output ordered window=32"
	echo "io input filter2"
	echo "io filter2 output"
} >&3
wait_frames 550
echo "chain drain input filter" >&3
wait_frames 650
echo "kill input 0" >&3
exec 3>&-
wait "$RUN"
status=$?
WHY=''
[ $status = 0 ] || WHY+="status $status; "
grep -q "output: $FRAMES frames, 0 lost, 0 twice, 0 out of order" run.log || WHY+="frames; "
cmp -s alone.png out.png || WHY+="the picture differs; "
for said in 'killing process .*' 'rank 1 of filter: process .* takes over' \
	'I/O process . behind input died: signal 9' 'I/O process . behind filter died: signal 9' \
	'cluster filter2 is complete' 'rank 0 of input died: signal 9' 'all frames are committed'; do
	grep -qE "$said" run.log || WHY+="'$said' was not said; "
done
[ "$(grep -c ' killing .*process' run.log)" = 4 ] || WHY+="not 4 were killed; "
[ -z "$WHY" ] || cat run.log
verdict "a pipeline loses processes, and no frame" "$WHY"

S=$B/test/mpi/stages
cat >plan <<EOF
cluster front program $S front
cluster back program $S back
chain add front back ordered window=8
io front back
EOF
WHY=''
timeout 60 "$B/bin/mpisprun" plan </dev/null >run.log 2>&1 || WHY="status $?; "
[ "$(grep -c '^ok' run.log)" = 2 ] || WHY+="not two are ok"
[ -z "$WHY" ] || cat run.log
verdict "special ranks on every call" "$WHY"

# The same calls from Fortran, whose programs not every build has.
if [ -x "$B/test/mpi/fortran_sp" ]; then
	sed "s|$S|$B/test/mpi/fortran_sp|; s/^io .*/& 2/; s/ordered/policy=user &/" plan >plan.f90
	WHY=''
	timeout 60 "$B/bin/mpisprun" plan.f90 </dev/null >run.log 2>&1 || WHY="status $?; "
	[ "$(grep -c '^ok' run.log)" = 2 ] || WHY+="not two are ok"
	[ -z "$WHY" ] || cat run.log
	verdict "stages in Fortran" "$WHY"
fi

# A program that ignores frames: it is told who does, and which frame waits.
sed -i 's/stages back/stages lazy/' plan
"$B/bin/mpisprun" --stall 300 plan </dev/null >run.log 2>&1 &
RUN=$!
for ((i = 0; i < 600; i++)); do
	grep -q 'frame 0' run.log && break
	sleep 0.1
done
kill "$RUN"
wait "$RUN"
grep 'frame 0' run.log | head -n 2
verdict "a program that ignores frames" \
	"$(grep -q 'frame 0 .*back' run.log || tail -n 5 run.log)"

# fails NAME TEXT: mpisprun ends with an error that says that.
fails() {
	WHY=''
	timeout 60 "$B/bin/mpisprun" plan </dev/null >run.log 2>&1 && WHY="status 0; "
	grep -qF -- "$2" run.log || WHY+="'$2' was not said: $(tail -n 3 run.log)"
	verdict "$1" "$WHY"
}
make_plan >plan
echo "chain add output input" >>plan
fails "a circle" "chains lead from cluster"
make_plan >plan
sed -i 's/^io input filter 2/io input filtre/' plan
fails "an unknown cluster" "plan:6: there is no cluster filtre"
sed -i 's/^io input filtre/io input output/' plan
fails "I/O processes without a chain" "no chain leads from input to output"
make_plan >plan
sed -i 's/spares=1/spare=1/' plan
fails "an unknown word" "unknown word spare=1"
make_plan >plan
sed -i 's|^cluster filter .*|cluster filter program /bin/true|' plan
fails "a program that is none of a pipeline" "did not come to MPI_Init under a pipeline"

WHY=''
"$P" input --frames 1 >alone.log 2>&1 && WHY='status 0; '
grep -q 'there is no pipeline: nobody manages this process' alone.log || WHY+=$(tail -n 2 alone.log)
verdict "a stage alone" "$WHY"
WHY=''
"$B/bin/mpisp-io" >alone.log 2>&1 && WHY='status 0; '
grep -q 'nobody manages this process' alone.log || WHY+=$(tail -n 2 alone.log)
verdict "an I/O process alone" "$WHY"
exit $rc
