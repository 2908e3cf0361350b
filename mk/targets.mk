# SPDX-License-Identifier: BSD-2-Clause
# What a person types.

# Runs what has a limit, on machines slower than ours, too.
$(call testprog,within,test/within.c,)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all deps check check-fast unit sim fuzz-smoke explore smoke smoke-ipv6 interop bench demo demo-optical demo-pipeline lint format \
	coverage clean install help check-headers fuzz-build

## all           build libraries and programs
all: $(foreach l,$(LIBS_ALL),$(B)/lib$(l).a) $(PROGS) $(ALL_EXTRA)

## deps          install the Debian packages in mk/packages that are missing (root)
deps:
	@mk/install-packages

## unit          build and run the unit suites of this build setting; T="NAME .." only these, % stands for anything
UNITS_ASKED := $(if $(T),$(filter $(foreach t,$(T),$(B)/test/unit/$(t) $(B)/test/unit/test_$(t)),$(UNITS)),$(UNITS))
unit: $(UNITS_ASKED) $(if $(T),,$(UNIT_EXTRA)) $(B)/test/within
	$(if $(UNITS_ASKED),,@echo "unit: no suite is called $(T); fix: T=NAME of test/unit/test_NAME.c" >&2; exit 2)
	@test/run-units $(B) $(UNITS_ASKED)

check-headers: $(patsubst %.h,$(B)/headers/%.ok,$(HEADERS_ALL))

# The setting of the fuzz targets.
SANITIZED := CC=clang EXTRAS=fuzz CFLAGS="-O1 -g1"

fuzz-build: $(FUZZERS) $(B)/test/within

## fuzz-smoke    every fuzz target over its corpus, then as many new inputs as test/fuzz/runs says; FUZZ_S=10: seconds
FUZZ_S ?= 0
# What any host of the Internet may send to an open port: server channel, packet
# stream, label arrays; Suci datagrams, live pairs, handshakes.
FUZZ_LONG ?= fuzz_impi_server fuzz_impi_stream fuzz_impi_tables fuzz_impi_client \
	fuzz_suci_wire fuzz_suci_rx fuzz_suci_actor fuzz_suci_handshake
FUZZ_LONG_S ?= 60
fuzz-smoke:
	@$(MAKE) --no-print-directory $(SANITIZED) fuzz-build
	@FUZZ_LONG="$(FUZZ_LONG)" FUZZ_LONG_S=$(FUZZ_LONG_S) test/run-fuzz build/clang-fuzz $(FUZZ_S)

## explore       what check does not try, for MINUTES (60): fresh seeds in the simulator, new inputs of the fuzz targets
MINUTES ?= 60
explore: $(B)/test/simulator
	@$(MAKE) --no-print-directory $(SANITIZED) fuzz-build
	@test/run-explore $(B) build/clang-fuzz "$(MINUTES)"

## smoke         shell scenarios in fresh network namespaces (root); SMOKE_ONLY="NAME .." only these
smoke: all $(TESTPROGS) $(SMOKE_EXTRA)
	@test/run-smoke $(B) test/smoke

## smoke-ipv6    the smoke scenarios of relays, which reach each other and the IMPI server by IPv6
SMOKE_RELAYS = $(shell test/smoke-ipv6)
smoke-ipv6:
	@$(MAKE) --no-print-directory smoke IPV6=1 SMOKE_ONLY="$(if $(SMOKE_ONLY),$(SMOKE_ONLY),$(SMOKE_RELAYS))"

## check         install what is missing, build, run every test; prints "N passed, N failed"
check:
	@test/run-check

## check-fast    what takes a few minutes and no root: build, unit, sim, count, mpi, tidy
check-fast:
	@CHECK_ONLY="$(CHECK_FAST)" test/run-check
CHECK_FAST := deps build-gcc headers unit sim eval-optical eval-mmp count mpi tidy

## demo          two clusters, two relays, one MPI job, on this machine (root)
demo:
	@mk/install-packages
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/testbed/demo $(B)

## demo-optical  four clusters with light ports on one switch, collectives in every mode (root)
demo-optical:
	@mk/install-packages
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/testbed/demo-optical $(B)

## demo-pipeline a pipeline of programs that loses processes and a node and is rebuilt while it runs (root)
demo-pipeline:
	@mk/install-packages
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/testbed/demo-pipeline $(B)

## compile_commands  compile_commands.json for clangd, from make's own compile lines
.PHONY: compile_commands hooks
compile_commands:
	@mk/compile-commands compile_commands.json CC=$(CC) EXTRAS="$(EXTRAS)"

## hooks         check form of files and message at each `git commit` of this clone
hooks:
	@git config core.hooksPath mk/hooks
	@echo "hooks: mk/hooks is on; git config --unset core.hooksPath turns it off"

## lint          clang-tidy, cppcheck and the tidy test over the sources
lint:
	@test/run-lint

## format        clang-format every source in place
format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | grep -v '^test/data/' | xargs -r clang-format -i

## coverage      unit and sim tests with gcov; summary in build/gcc-coverage/coverage.txt
coverage:
	@test/run-coverage

# What people read, and what that points at.
DOCUMENTS = README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE doc/*.md doc/howto/*.md doc/tutorials/*.md \
	doc/evaluation/*.svg doc/evaluation/*.md test/explored.md test/interop/*.md tools/wireshark/README.md examples/*.c

## install       programs, libraries, headers, man pages, the systemd unit under DESTDIR/PREFIX
install: all install-man install-docs $(INSTALL_TARGETS)
	@install -d $(DESTDIR)$(PREFIX)/bin
	@for p in $(PROGS); do install -m 755 $$p $(DESTDIR)$(PREFIX)/bin/; done

## install-mpi   of these the MPI library, its wrappers, launchers and pages alone: for compute nodes
.PHONY: install-mpi
MPI_PROGS := $(addprefix $(B)/bin/,mpirun impirun mpitrace mpitune)
install-mpi: $(MPI_PROGS) install-libmpi install-fortran install-wrappers install-trace install-mpirun install-mpi-info install-slurm
	@install -m 755 $(MPI_PROGS) $(DESTDIR)$(PREFIX)/bin/
	@install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man7
	@install -m 644 doc/man/{mpicc,mpirun,impirun,mpi_info,mpitrace,mpitune}.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	@install -m 644 doc/man/libmpi.7 $(DESTDIR)$(PREFIX)/share/man/man7/

# Documents lie as they do here, so that their links and pictures are found.
.PHONY: install-docs
install-docs:
	@for f in $(DOCUMENTS); do \
		install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/doc/relayd/$$f; done

.PHONY: install-man
install-man:
	@for s in 1 3 5 7 8; do install -d $(DESTDIR)$(PREFIX)/share/man/man$$s && \
		install -m 644 doc/man/*.$$s $(DESTDIR)$(PREFIX)/share/man/man$$s/; done

## uninstall     remove what install puts under DESTDIR/PREFIX
.PHONY: uninstall
uninstall:
	@mk/uninstall "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)"

## deb           Debian packages of what `make all` builds, in build/deb
.PHONY: deb
deb: all
	@mk/deb

## check-packages  the packages in a fresh root of Debian 12, with the how-to's job (root, a mirror)
.PHONY: check-packages
check-packages: deb
	@test/packages

## check-containers  the container files, built by buildah, and what is in them runs (root, a mirror)
.PHONY: check-containers
check-containers: deb
	@test/containers

## check-debian13  the tree in a fresh root of Debian 13: build, unit, sim, mpi (root, a mirror, an hour)
.PHONY: check-debian13
check-debian13:
	@test/debian13

## clean         remove build/
clean:
	rm -rf build

help:
	@sed -n 's/^## //p' mk/*.mk test/*/module.mk tools/*/module.mk 2>/dev/null | sort
