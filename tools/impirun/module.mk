# SPDX-License-Identifier: BSD-2-Clause
$(call prog,impirun,$(wildcard tools/impirun/*.c) tools/launch/place.c,impi lmpiknobs base,libbsd-overlay)

# What a user submits to Slurm.
.PHONY: install-slurm
INSTALL_TARGETS += install-slurm
install-slurm:
	@install -d $(DESTDIR)$(PREFIX)/share/relayd/slurm
	@install -m 755 conf/slurm/site.sbatch $(DESTDIR)$(PREFIX)/share/relayd/slurm/
