#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The driver of NETCONF is loaded: relayd and ocsctl link none of its libraries, find it beside
# themselves, say what is missing, and refuse one that others may write.
# ipv6: no, because it starts no relay
# timeout: 60
set -u
. "$(dirname "$0")/_ocs.sh"
PLUGIN=$B/lib/relayd/ocs-netconf.so
BESIDE=$OCS_DIR/lib/relayd/ocs-netconf.so

libraries() { ldd "$@" | grep -oE 'lib(netconf2|yang|ssh|crypto)\.so\S*' | sort -u | tr '\n' ' '; }
verdict "relayd and ocsctl link no library of NETCONF" "$(libraries "$B/bin/relayd" "$B/bin/ocsctl")"
has=$(libraries "$PLUGIN")
verdict "the driver does" "$([[ $has == *libnetconf2*libyang* ]] || echo "only: $has")"
has=$(nm -D --defined-only "$PLUGIN" | awk '{ print $3 }' | tr '\n' ' ')
verdict "the driver exports its table alone" "$([ "$has" = "ocs_plugin " ] || echo "$has")"

# As after an installation, elsewhere.
mkdir -p "$OCS_DIR/bin" "$OCS_DIR/lib/relayd"
cp "$B/bin/relayd" "$B/bin/ocsctl" "$OCS_DIR/bin/"
python3 - "$OCS_DIR/conf.json" <<'PY'
import json, sys
conf = json.load(open("conf/relayd-example.json"))
conf["optical"] = {"controller": "127.0.0.1:7820", "listen": "127.0.0.1:7820",
                   "switch": {"protocol": "netconf", "address": "unix:/nonexistent", "ports": 4}}
json.dump(conf, open(sys.argv[1], "w"))
PY
checked() { "$OCS_DIR/bin/relayd" --check "$OCS_DIR/conf.json" 2>&1 | grep /optical/switch/protocol; }
asked() { timeout 60 "$OCS_DIR/bin/ocsctl" -P netconf -a unix:/nonexistent -t 1 show 2>&1; }
# refused WHAT WORDS: by both, with the words.
refused() {
	local said status
	said=$(checked)
	verdict "relayd --check: $1" "$([[ $said == *"$2"*"; fix: "* ]] || echo "${said:-nothing is said}")"
	said=$(asked)
	status=$?
	verdict "ocsctl: $1" "$([[ $status == 1 && $said == *"$2"*"; fix: "* ]] || echo "status $status: $said")"
}
refused "none is installed" "$BESIDE: No such file or directory"
cp "$PLUGIN" "$BESIDE"
chmod 644 "$BESIDE"
verdict "relayd --check finds it" "$(checked)"
said=$(asked)
status=$?
verdict "ocsctl loads it" "$([[ $status == 2 && $said == *"/nonexistent: No such file"* ]] || echo "status $status: $said")"
chmod 666 "$BESIDE"
refused "others may write it" "$BESIDE: some may write it who may not write this program"
echo "no shared object" >"$BESIDE"
chmod 644 "$BESIDE"
refused "it is no shared object" "$BESIDE: file too short"
exit $rc
