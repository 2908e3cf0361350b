# SPDX-License-Identifier: BSD-2-Clause
# mpirun and mpiexec: one program.
$(call prog,mpirun,$(wildcard tools/mpirun/*.c) tools/launch/place.c tools/launch/pmix_job.c,names launch base lmpiknobs,pmix libbsd-overlay,-lm -lpthread)

$(call unit,test_mpirun_domain,test/unit/test_mpirun_domain.c tools/mpirun/domain.c,base)

ALL_EXTRA += $(B)/bin/mpiexec
$(B)/bin/mpiexec: $(B)/bin/mpirun
	$(Q)ln -sf mpirun $@

.PHONY: install-mpirun
INSTALL_TARGETS += install-mpirun
install-mpirun:
	@install -d $(DESTDIR)$(PREFIX)/bin
	@ln -sf mpirun $(DESTDIR)$(PREFIX)/bin/mpiexec
