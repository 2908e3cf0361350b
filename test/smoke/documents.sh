#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every link and picture of the documents leads to something, here and where `make install` puts
# them; and a link that does not is found.
# ipv6: no, because no relay is started
# timeout: 60
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

verdict "links of the tree" "$(test/links | head -5)"
make -s install-docs DESTDIR="$work" PREFIX=/p >/dev/null 2>&1 || fail "make install-docs"
at=$work/p/share/doc/relayd
verdict "links where they are installed" "$(test/links "$at" | head -5)"
make -s install-relayd install-mpispd DESTDIR="$work" PREFIX=/p >/dev/null 2>&1 || fail "make install"
why=
for f in $(sed -n 's/^Documentation=.*file:\([^ ]*\).*/\1/p' "$work"/p/lib/systemd/system/*.service); do
	[ -e "$work$f" ] || why+="$f is not installed; "
done
verdict "documents that units name" "$why"
rm "$at/doc/howto/two-sites.md"
sed -i 's/^## A job does not start$/## Something else/' "$at/doc/debugging.md"
found=$(test/links "$at")
why=
grep -q 'two-sites.md: there is no such file$' <<<"$found" || why+="not the file; "
grep -q 'no heading of debugging.md' <<<"$found" || why+="not the heading; "
verdict "a link that leads nowhere is found" "$why"
exit $rc
