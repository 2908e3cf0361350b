# SPDX-License-Identifier: BSD-2-Clause
# mpispd: the daemon of a node of clusters that go on.  conf, wire and pmix are archives that tests
# and fuzzers link alone.
include app/mpispd/conf/module.mk app/mpispd/wire/module.mk app/mpispd/pmix/module.mk

$(call prog,mpispd,$(wildcard app/mpispd/daemon/*.c) tools/launch/place.c tools/launch/pmix_job.c,spdpmix spdconf spdwire spclient spxagreed sp quorum spx rdctl datagram tunefile sucaead sucudp doorclient relayproto door suci tune process base,pmix jansson libbsd-overlay,-lpthread)

.PHONY: install-mpispd
INSTALL_TARGETS += install-mpispd
install-mpispd:
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/doc/relayd
	@sed -e 's|@PREFIX@|$(PREFIX)|g' conf/mpispd.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/mpispd@.service
	@install -m 644 conf/mpispd-example.json conf/mpispd-sites-example.json conf/mpispd.schema.json $(DESTDIR)$(PREFIX)/share/doc/relayd/
