# SPDX-License-Identifier: BSD-2-Clause
# Macros for module.mk files.
#
#   $(call lib,NAME,DIR,LIBS,PKGS)          archive of DIR/*.c, headers in DIR/include
#   $(call prog,NAME,SOURCES,LIBS,PKGS,EXTRA_LDFLAGS)      build/.../bin/NAME
#   $(call whole,NAME,SOURCES,LIBS,PKGS)    a prog whose sources and archives' are compiled for it alone and
#                                          optimized as one, across files (gcc without EXTRAS)
#   $(call unit,NAME,SOURCES,LIBS,PKGS,EXTRA_LDFLAGS)      cmocka suite, run by `make unit`
#   $(call testprog,NAME,SOURCES,LIBS,PKGS,EXTRA_LDFLAGS)  helper program of a test, build/.../test/NAME
#   $(call fuzz,NAME,SOURCE,LIBS)           libFuzzer target with corpus in test/fuzz/corpus/NAME
#
# LIBS names the archives a thing may depend on, transitively closed: their
# include folders and archives are added, nobody else's.

LIBS_ALL :=
PROGS :=
UNITS :=
FUZZERS :=
TESTPROGS :=
HEADERS_ALL :=

lib = $(eval $(call lib_body,$(strip $(1)),$(strip $(2)),$(strip $(3)),$(strip $(4))))
define lib_body
LIBS_ALL += $(1)
$(1)_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard $(2)/*.c))
$(1)_INC := -I$(2)/include $(foreach d,$(3),$($(d)_INC)) $(call pkg_cflags,$(4))
$(1)_LINK := $(B)/lib$(1).a $(foreach d,$(3),$($(d)_LINK))
$(1)_PKGLIBS := $(if $(4),$(call pkg_libs,$(4))) $(foreach d,$(3),$($(d)_PKGLIBS))
$(1)_WHOLE := $(patsubst %.c,$(B)/whole/%.o,$(wildcard $(2)/*.c))
HEADERS_ALL += $(wildcard $(2)/include/*/*.h)
$(patsubst %.h,$(B)/headers/%.ok,$(wildcard $(2)/include/*/*.h)): INC := $$($(1)_INC)
$$($(1)_OBJ) $$($(1)_WHOLE): INC := -I$(2) $$($(1)_INC)
$(B)/lib$(1).a: $$($(1)_OBJ)
endef

# body: KIND-LIST, OUTPUT, NAME, SOURCES, LIBS, PKGS, EXTRA
define exe_body
$(1) += $(2)
$(3)_$(1)_OBJ := $(patsubst %.c,$(B)/%.o,$(4))
$$($(3)_$(1)_OBJ): INC := $(sort $(addprefix -I,$(patsubst %/,%,$(dir $(4))))) $(foreach d,$(5),$($(d)_INC)) $(call pkg_cflags,$(6))
$(2): LINK_LIBS := -Wl,--start-group $(foreach d,$(5),$($(d)_LINK)) -Wl,--end-group $(7) $(foreach d,$(5),$($(d)_PKGLIBS)) $(if $(6),$(call pkg_libs,$(6)))
$(2): $$($(3)_$(1)_OBJ) $(foreach d,$(5),$($(d)_LINK))
	$$(Q)$$(call making,LD,$$@)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$($(3)_$(1)_OBJ) $$(LINK_LIBS) $$(LINK_EXTRA)
endef
# body: OUTPUT, NAME, SOURCES, LIBS, PKGS
define whole_body
PROGS += $(1)
$(2)_WHOLE := $(patsubst %.c,$(B)/whole/%.o,$(3))
$(2)_PROGS_OBJ := $(patsubst %.c,$(B)/%.o,$(3))
$$($(2)_WHOLE) $$($(2)_PROGS_OBJ): INC := $(sort $(addprefix -I,$(patsubst %/,%,$(dir $(3))))) $(foreach d,$(4),$($(d)_INC)) $(call pkg_cflags,$(5))
$(1): LINK_LIBS := $(foreach d,$(4),$($(d)_PKGLIBS)) $(call pkg_libs,$(5))
$(1): $$($(2)_WHOLE) $(foreach d,$(4),$($(d)_WHOLE))
	$$(Q)$$(call making,LD,$$@)$$(CC) $$(LDFLAGS_ALL) $$(LTO) -o $$@ $$^ $$(LINK_LIBS) $$(LINK_EXTRA)
endef
whole = $(if $(LTO),$(eval $(call whole_body,$(B)/bin/$(strip $(1)),$(strip $(1)),$(2),$(3),$(4))),$(call prog,$(1),$(2),$(3),$(4)))
prog = $(eval $(call exe_body,PROGS,$(B)/bin/$(strip $(1)),$(strip $(1)),$(2),$(3),$(4),$(5)))
testprog = $(eval $(call exe_body,TESTPROGS,$(B)/test/$(strip $(1)),$(strip $(1)),$(2),$(3),$(4),$(5)))
unit = $(eval $(call exe_body,UNITS,$(B)/test/unit/$(strip $(1)),$(strip $(1)),$(2),$(3),$(4) cmocka,$(5)))
fuzz = $(eval $(call exe_body,FUZZERS,$(B)/test/fuzz/$(strip $(1)),$(strip $(1)),$(2),$(3),,-fsanitize=fuzzer))

$(B)/%.o: %.c
	$(Q)$(call making,CC,$<)$(CC) $(INC) $(CFLAGS_ALL) $(CFLAGS_$(<)) -c -o $@ $<

$(B)/whole/%.o: %.c
	$(Q)$(call making,CC,$<)$(CC) $(INC) $(CFLAGS_ALL) $(CFLAGS_$(<)) $(LTO) -c -o $@ $<

$(B)/lib%.a:
	$(Q)$(call making,AR,$@)rm -f $@; $(AR) rcs $@ $^

# Every public header compiles alone, also one that only defines macros: C wants a declaration.
$(B)/headers/%.ok: %.h
	$(Q)$(call making,HDR,$<)echo 'struct header_alone;' | \
		$(CC) $(INC) -std=c17 -D_GNU_SOURCE $(WARN) -fsyntax-only -include $< -x c -; >$@
