# relayd: pure parts as archives that tests and fuzzers link alone (conf: JSON to
# a checked struct; net: packets, neighbours, no DPDK; ctl: JSON-RPC, advice on
# trunks), then the program.
$(call lib,rdconf,app/relayd/conf,base,jansson libbsd)
$(call lib,rdnet,app/relayd/net,base)
$(call lib,rdctl,app/relayd/ctl,base,jansson)

RELAYD_LIBS := rdconf rdnet rdctl gateway relay impi light circ ocsdrv ocsproto ocs coll sucaead suci seal rddpdk process base
# Its fast path goes through four libraries: a tenth to a seventh of its time per segment.
$(call whole,relayd,$(wildcard app/relayd/*.c),$(RELAYD_LIBS),libdpdk libbsd)

$(call unit,test_rd_conf,test/unit/test_rd_conf.c,rdconf base,jansson libbsd)
$(call unit,test_rd_cksum,test/unit/test_rd_cksum.c,rdnet base)
$(call unit,test_rd_packet,test/unit/test_rd_packet.c,rdnet base)
$(call unit,test_rd_kernel,test/unit/test_rd_kernel.c,rdnet base)
$(call unit,test_rd_neigh,test/unit/test_rd_neigh.c,rdnet base)
$(call unit,test_rd_frame,test/unit/test_rd_frame.c app/relayd/frame.c,rdnet relay impi suci rddpdk base,libdpdk)
$(call unit,test_rd_steer,test/unit/test_rd_steer.c app/relayd/steer.c,rdconf rdnet light circ ocs coll gateway relay impi suci rddpdk base,libdpdk)
$(call unit,test_rd_tap,test/unit/test_rd_tap.c app/relayd/tap_io.c app/relayd/mail.c app/relayd/wake.c,rdconf rdnet relay impi suci rddpdk base,libdpdk libbsd)

$(call unit,test_rd_link,test/unit/test_rd_link.c app/relayd/link.c,rdconf rdnet light circ ocs coll gateway relay impi sucaead suci seal rddpdk base,libdpdk libbsd)
$(call unit,test_rd_channel_keys,test/unit/test_rd_channel_keys.c app/relayd/channel_keys.c,rdconf relay impi sucaead suci seal base,)
$(call unit,test_rd_advise,test/unit/test_rd_advise.c,rdctl base)
$(call unit,test_rd_rpc,test/unit/test_rd_rpc.c,rdctl base,jansson)
$(call unit,test_rd_wake,test/unit/test_rd_wake.c app/relayd/wake.c,base,,-pthread)
UNITS_THREADED += $(B)/test/unit/test_rd_wake

$(call fuzz,fuzz_rd_packet,test/fuzz/fuzz_rd_packet.c,rdnet base)
$(call fuzz,fuzz_rd_rpc,test/fuzz/fuzz_rd_rpc.c,rdctl base)
$(call fuzz,fuzz_rd_conf,test/fuzz/fuzz_rd_conf.c,rdconf base)

.PHONY: install-relayd
INSTALL_TARGETS += install-relayd
install-relayd:
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/doc/relayd
	@sed -e 's|@PREFIX@|$(PREFIX)|g' conf/relayd.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/relayd@.service
	@install -m 644 conf/relayd-example.json conf/relayd.schema.json $(DESTDIR)$(PREFIX)/share/doc/relayd/
