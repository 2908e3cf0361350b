# SPDX-License-Identifier: BSD-2-Clause
# libmpitrace: notes every call of a program, over any libmpi_abi.

TRACE_GEN := $(B)/libmpi/trace/gen
TRACE_SO := $(B)/lib/libmpitrace.so
TRACE_OBJ := $(B)/libmpi/trace/trace.o $(B)/libmpi/trace/bytes.o $(TRACE_GEN)/trace_calls.o
TRACE_INC := -I$(LMPI_GEN)/include -Ilibmpi/trace

$(TRACE_GEN)/trace_calls.c: libmpi/trace/generate.py libmpi/abi/generate.py $(wildcard libmpi/abi/*.csv)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 libmpi/trace/generate.py $(@D)
	$(Q)touch $@
$(TRACE_OBJ): INC := $(TRACE_INC)
$(TRACE_OBJ): | $(LMPI_GEN)/stamp
$(TRACE_GEN)/trace_calls.o: $(TRACE_GEN)/trace_calls.c libmpi/trace/trace.h
	$(call say,CC,$<)
	$(Q)$(CC) $(INC) $(CFLAGS_ALL) -c -o $@ $<
$(TRACE_SO): $(TRACE_OBJ) $(LMPI_SO)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libmpitrace.so -Wl,-rpath,'$$ORIGIN' -o $@ $(TRACE_OBJ) \
		-L$(B)/lib -lmpi_abi -lpthread
ALL_EXTRA += $(TRACE_SO)

.PHONY: install-trace
INSTALL_TARGETS += install-trace
install-trace: $(TRACE_SO) install-libmpi
	@install -m 755 $(TRACE_SO) $(DESTDIR)$(LIBDIR)/
