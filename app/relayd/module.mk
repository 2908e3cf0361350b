# SPDX-License-Identifier: BSD-2-Clause
# relayd.  Pure parts are archives that tests and fuzzers link alone (conf, net, ctl);
# the other rooms are compiled as one program.  A room's module.mk names the rooms and
# the libraries whose headers it may include: no other folder is on its command lines.
#
#   $(call room,NAME,ROOMS,LIBS,PKGS)              app/relayd/NAME/*.c
#   $(call room_unit,NAME,ROOM,SOURCES,LIBS,PKGS,EXTRA_LDFLAGS)   a suite that may include what the room may

include app/relayd/conf/module.mk app/relayd/net/module.mk app/relayd/ctl/module.mk

RELAYD_LIBS := rdconf rdnet rdctl gateway relay door relayproto impi light circ ocsdrv ocsproto ocs coll sucaead suci seal rddpdk process base
RELAYD_ROOMS := host loop mail datapath gateway circuits figures jobs reload rpc control start
# Its fast path goes through four libraries: a tenth to a seventh of its time per segment.
$(call whole,relayd,$(foreach r,$(RELAYD_ROOMS),$(wildcard app/relayd/$(r)/*.c)),$(RELAYD_LIBS),libdpdk libbsd)

room_inc = -Iapp/relayd/$(1) $(foreach r,$(2),-Iapp/relayd/$(r)) $(foreach l,$(3),$($(l)_INC)) $(call pkg_cflags,$(4))
room = $(eval $(call room_body,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(strip $(4))))
define room_body
$(1)_ROOM_INC := $(call room_inc,$(1),$(2),$(3),$(4))
$(patsubst %.c,$(B)/%.o,$(wildcard app/relayd/$(1)/*.c)) \
$(patsubst %.c,$(B)/whole/%.o,$(wildcard app/relayd/$(1)/*.c)): INC := $$($(1)_ROOM_INC)
endef
# After the suite, which would give the room's sources its own folders.
define room_again
$(B)/test/unit/$(1).o: INC += $$($(2)_ROOM_INC)
$(foreach f,$(filter app/relayd/%,$(3)),$(patsubst %.c,$(B)/%.o,$(f)): INC := $$($(word 3,$(subst /, ,$(f)))_ROOM_INC)
)
endef
room_unit = $(call unit,$(1),test/unit/$(strip $(1)).c $(3),$(4),$(5),$(6))$(eval $(call room_again,$(strip $(1)),$(strip $(2)),$(3)))

include $(foreach r,$(RELAYD_ROOMS),app/relayd/$(r)/module.mk)

.PHONY: install-relayd
INSTALL_TARGETS += install-relayd
install-relayd:
	@install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/doc/relayd
	@sed -e 's|@PREFIX@|$(PREFIX)|g' conf/relayd.service.in > $(DESTDIR)$(PREFIX)/lib/systemd/system/relayd@.service
	@install -m 644 conf/relayd-example.json conf/relayd.schema.json $(DESTDIR)$(PREFIX)/share/doc/relayd/
