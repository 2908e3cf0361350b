# SPDX-License-Identifier: BSD-2-Clause
# Completion of relayctl(1) for bash; installed as share/bash-completion/completions/relayctl.
# shellcheck shell=bash

_relayctl_sockets()
{
	local s
	for s in /run/relayd/*.sock; do
		[ -S "$s" ] || continue
		s=${s##*/}
		echo "${s%.sock}"
	done
}

_relayctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev='' cmd='' i w words='' equal=''
	local table='-w --wide --bytes --json'
	local commands='status jobs starts paths doors ports reset drops gateway top lanes advise set reload drain undrain lights light circuits capture methods'
	COMPREPLY=()
	# "=" is a word of its own: NAME = VALUE.
	((COMP_CWORD)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$prev" = '=' ]; then
		equal=$((COMP_CWORD - 2))
	elif [ "$cur" = '=' ]; then
		equal=$((COMP_CWORD - 1)) cur=''
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		w=${COMP_WORDS[i]}
		case $w in
		-s | --socket) ((i++)) ;;
		-*) ;;
		*)
			cmd=$w
			break
			;;
		esac
	done
	[ "$cmd $prev" = 'capture -w' ] && prev=--write
	case $prev in
	-s | --socket) words=$(_relayctl_sockets) ;;
	--kind) words='process trunk gateway light door' ;;
	--leg) words='private global' ;;
	--dir) words='in out' ;;
	--write)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-d | -n | --delay | --count | --peer | --path | --worker | --job | --src | --dst | --snaplen | --mbytes) return ;;
	*)
		case $cmd in
		'') words="$commands -s --json --help" ;;
		paths) words="--kind $table" ;;
		ports) words="--all $table" ;;
		status | gateway) words="--check $table" ;;
		reset) words='private global' ;;
		drops) words="-d --all $table" ;;
		top) words="-d -n --once --no-lanes $table" ;;
		lanes) words="-d -n --job $table" ;;
		circuits) words="withdraw restore --log $table" ;;
		advise) words="-d -n $table" ;;
		jobs | doors | lights | methods) words=$table ;;
		reload) words='--check --json' ;;
		drain) words='--wait -d --json' ;;
		light) words='up down --json' ;;
		capture) words='-w -n -d --leg --dir --peer --path --worker --job --src --dst --snaplen --mbytes --json' ;;
		set)
			if [ -n "$equal" ]; then
				case ${COMP_WORDS[equal]} in
				log_level) words='error warning info debug' ;;
				policy) words='dest source stripe' ;;
				idle) words='busy pause sleep' ;;
				esac
			else
				words='log_level= idle= drain_ms= policy= addresses='
				compopt -o nospace 2>/dev/null
			fi
			;;
		*) words='--json' ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _relayctl relayctl
