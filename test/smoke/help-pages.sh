#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every program that is installed has a man page that formats, and it names every option of
# --help and says the exit status; --help and --version succeed.  An option that there is not gets
# two lines at most: it is named, and --help.  relayctl's, with its commands: relayctl-help.sh.
# timeout: 60
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

for program in "$B"/bin/*; do
	p=${program##*/} page='' WHY=''
	for f in doc/man/"$p".[18]; do [ -s "$f" ] && page=$f; done
	case $p in
	mpicxx | mpic++ | mpiCC | mpifort | mpif90 | mpif77 | mpicc_abi) page=doc/man/mpicc.1 ;; # one page for the wrappers
	mpiexec) page=doc/man/mpirun.1 ;;
	esac
	if [ -z "$page" ]; then
		verdict "$p" "no page in doc/man"
		continue
	fi
	help=$("$program" --help 2>&1) || WHY+="--help: status $? "
	[[ $page != */mpicc.1 ]] || help='' # it is the compiler's
	plain=$(sed 's/\\-/-/g; s/\\f[A-Z]//g; s/^\.B[RI]* *//; s/"//g' "$page")
	for o in $(grep -oE -- '(^|[ ,[|])--?[a-z][a-z-]*' <<<"$help" | grep -oE -- '-.*' | sort -u); do
		grep -qE -- "(^|[^a-z-])$o([^a-z-]|\$)" <<<"$plain" || WHY+="$o is not in the page "
	done
	grep -q "^\.SH EXIT STATUS" "$page" || [[ $page == */mpicc.1 ]] || WHY+="no EXIT STATUS in the page "
	if command -v man >/dev/null; then
		WHY+=$(LC_ALL=C MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | head -3)
	fi
	verdict "$p" "$WHY"
done

version=$(sed -n 's/^#define BASE_VERSION "\(.*\)"/\1/p' lib/base/include/base/version.h)
for program in "$B"/bin/*; do
	p=${program##*/}
	case $p in mpicc | mpicc_abi | mpicxx | mpic++ | mpiCC | mpifort | mpif77 | mpif90 | mpiexec) continue ;; esac
	said=$("$B/bin/$p" --version) || said="status $?"
	verdict "$p --version" "$([[ $said == "$p "*"$version" ]] || echo "says '$said'")"
done

for program in "$B"/bin/*; do
	p=${program##*/}
	case $p in mpicc | mpicc_abi | mpicxx | mpic++ | mpiCC | mpifort | mpif77 | mpif90) continue ;; esac # their compiler's
	said=$("$program" --nosuch 2>&1 </dev/null)
	status=$? WHY=
	((status == 2 || status == 1)) || WHY+="status $status "
	(($(wc -l <<<"$said") <= 2)) || WHY+="more than two lines: $said "
	grep -q -- --nosuch <<<"$said" || WHY+="it is not named: $said "
	grep -qE -- "--help|-h " <<<"$said" || WHY+="no way out: $said "
	verdict "$p --nosuch" "$WHY"
done
exit $rc
