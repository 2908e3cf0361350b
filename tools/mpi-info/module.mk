# SPDX-License-Identifier: BSD-2-Clause
# Linked with the library itself, like a user's program; the library is found beside it.
ALL_EXTRA += $(B)/bin/mpi_info
$(B)/bin/mpi_info: tools/mpi-info/mpi_info.c $(B)/lib/libmpi_abi.so.1 $(B)/libmpi/gen/include/mpi.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(SAN) -I$(B)/libmpi/gen/include -Ilib/base/include \
		-o $@ $< -L$(B)/lib -Wl,-rpath,'$$ORIGIN/../lib' -lmpi_abi

.PHONY: install-mpi-info
INSTALL_TARGETS += install-mpi-info
install-mpi-info: $(B)/bin/mpi_info
	@install -d $(DESTDIR)$(PREFIX)/bin
	@install -m 755 $(B)/bin/mpi_info $(DESTDIR)$(PREFIX)/bin/
