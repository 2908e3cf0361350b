#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayctl's help, man page and bash completion know the same commands and options.
# timeout: 30
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build/gcc}"
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
HELP=$("$B/bin/relayctl" --help)
mapfile -t COMMANDS < <(sed -n 's/^  \([a-z]\+\).*/\1/p' <<<"$HELP")
# Those of a command, as its line of the help has them.
options() { grep -E "^  $1( |\$)" <<<"$HELP" | grep -oE -- '(^|[ [])--?[a-z][a-z-]*' | tr -d ' ['; }

WHY=
[ ${#COMMANDS[@]} -ge 11 ] || WHY="only ${#COMMANDS[*]} commands in the help"
for c in "${COMMANDS[@]}"; do
	grep -q "^\.SS $c\b" doc/man/relayctl.1 || WHY+="no section $c "
	for o in $(options "$c"); do
		sed 's/\\-/-/g' doc/man/relayctl.1 | sed -n "/^\.SS $c\b/,/^\.S[SH] /p" | grep -qF -- "$o" ||
			sed 's/\\-/-/g' doc/man/relayctl.1 | awk -v c="$c" '$1 == ".SS" { on = $2 == c } on' | grep -qF -- "$o" ||
			WHY+="$c: no $o "
	done
done
verdict "man page" "$WHY"
if command -v man >/dev/null; then
	verdict "man page formats" "$(LC_ALL=C MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z doc/man/relayctl.1 2>&1 >/dev/null | head -3)"
fi

# Words that are wrong in any case are named without a relay.
WHY=
says() { # WORDS ARGUMENT...
	local want=$1 out
	shift
	out=$("$B/bin/relayctl" -s /nosuch "$@" 2>&1)
	[ $? -eq 2 ] && grep -qF -- "$want" <<<"$out" || WHY+="$*: $out "
}
says 'set: "log_level" is not NAME=VALUE' set log_level
says 'set: "=1" is not NAME=VALUE' set drain_ms=1 =1
says 'set: there is no setting bla; there are log_level, idle, drain_ms, policy, addresses' set bla=1
for w in $(sed -n "s/.*words='\(log_level=.*\)'/\1/p" tools/relayctl/relayctl.bash); do # completion knows them
	"$B/bin/relayctl" -s /nosuch set "$w"1 2>/dev/null
	[ $? -eq 3 ] || WHY+="set ${w}1 is not sent "
done
says '--kind: "trunks" is not process, trunk, gateway, light or door' paths --kind trunks
says 'fix: relayctl capture -w /tmp/a.pcapng' -w /tmp/a.pcapng capture -n 5
says 'there is no command jbos; did you mean jobs?' -w jbos
(($("$B/bin/relayctl" status --nonsense 2>&1 | wc -l) == 2)) || WHY+="a wrong option takes more than two lines "
verdict "wrong words" "$WHY"

# shellcheck source=tools/relayctl/relayctl.bash
. tools/relayctl/relayctl.bash
complete_of() { # WORDS..., the last one being typed
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_relayctl
	echo "${COMPREPLY[*]}"
}
WHY=
for c in "${COMMANDS[@]}"; do
	[[ " $(complete_of relayctl '') " == *" $c "* ]] || WHY+="no $c "
	for o in $(options "$c"); do
		[[ " $(complete_of relayctl "$c" '') " == *" $o "* ]] || WHY+="$c: no $o "
	done
done
for c in status jobs paths doors ports drops gateway top lanes advise lights circuits methods; do # those with tables
	for o in -w --wide --bytes; do
		[[ " $(complete_of relayctl "$c" '') " == *" $o "* ]] || WHY+="$c: no $o "
	done
	"$B/bin/relayctl" -s /nosuch "$c" -w --bytes 2>/dev/null
	[ $? -eq 3 ] || WHY+="$c -w --bytes is refused "
	"$B/bin/relayctl" -s /nosuch -w "$c" 2>/dev/null
	[ $? -eq 3 ] || WHY+="-w $c is refused "
done
"$B/bin/relayctl" -s /nosuch drain -w 2>/dev/null # it is not --wait
[ $? -eq 2 ] || WHY+="drain -w is not refused "
[ "$(complete_of relayctl adv)" = advise ] || WHY+="adv: $(complete_of relayctl adv) "
[ "$(complete_of relayctl capture -w doc/man/relayctl)" = doc/man/relayctl.1 ] || WHY+="capture -w takes no file "
[ "$(complete_of relayctl -s x paths --kind tr)" = trunk ] || WHY+="--kind tr: $(complete_of relayctl -s x paths --kind tr) "
[ "$(complete_of relayctl set idle = s)" = sleep ] || WHY+="idle=s: $(complete_of relayctl set idle = s) "
[ "$(complete_of relayctl set log_level =)" = 'error warning info debug' ] || WHY+="log_level= "
for w in $(complete_of relayctl ''); do
	[[ $w == -* || " ${COMMANDS[*]} " == *" $w "* ]] || WHY+="$w is no command "
done
verdict "completion" "$WHY"

D=$(mktemp -d)
make -s install-relayctl DESTDIR="$D" PREFIX=/usr >/dev/null 2>&1
verdict "completion is installed" "$([ -s "$D/usr/share/bash-completion/completions/relayctl" ] || echo 'it is not')"
rm -rf "$D"
exit $rc
