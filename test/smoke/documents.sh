#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every link and picture of the documents leads to something, here and where `make install` puts
# them; and a link that does not is found.
# timeout: 60
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# broken DIR: links of the documents there that lead nowhere.
broken()
{
	python3 - "$1" <<'EOF'
import os
import re
import sys

top = sys.argv[1]
seen = 0
for at, dirs, files in os.walk(top):
    dirs[:] = [d for d in dirs if d not in ("build", ".git", "corpus")]
    for name in files:
        if not name.endswith(".md"):
            continue
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", open(os.path.join(at, name), encoding="utf-8").read(),
                      flags=re.S | re.M)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, part = link.partition("#")
            seen += 1
            if "://" in link or not path:
                continue
            if not os.path.exists(os.path.join(at, path)):
                print(f"{os.path.relpath(os.path.join(at, name), top)}: {link}")
if not seen:
    print("no document has a link")
EOF
}

verdict "links of the tree" "$(broken . | head -5)"
make -s install-docs DESTDIR="$work" PREFIX=/p >/dev/null 2>&1 || fail "make install-docs"
verdict "links where they are installed" "$(broken "$work/p/share/doc/relayd" | head -5)"
rm "$work/p/share/doc/relayd/doc/howto/two-sites.md"
lost=$(broken "$work/p/share/doc/relayd" | grep -c two-sites)
verdict "a link that leads nowhere is found" "$([ "$lost" -gt 0 ] || echo "it is not")"
exit $rc
