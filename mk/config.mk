# SPDX-License-Identifier: BSD-2-Clause
# Compiler, flags, build directory.

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
EXTRAS ?=
# Not a folder of PATH: there our mpicc and mpirun would come before those of the machine's MPI.
PREFIX ?= /opt/relayd
# Libraries and pkg-config files; packages of a distribution have a folder per architecture.
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
VERSION := $(shell sed -n 's/^\#define BASE_VERSION "\(.*\)"/\1/p' lib/base/include/base/version.h)

empty :=
space := $(empty) $(empty)
B := build/$(subst $(space),-,$(strip $(notdir $(CC)) $(sort $(EXTRAS))))

WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wcast-align \
	-Wwrite-strings -Werror
# clang counts the sign of bit operations under -Wconversion; gcc does not.
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-sign-conversion -Wno-gnu-zero-variadic-macro-arguments
endif

# A key that intel-ipsec-mb 2 has made ready has 1264 bytes, one of version 1 1008.
SEAL_KEY := $(if $(shell grep -s 'IMB_VERSION_NUM 0x[2-9]' /usr/include/intel-ipsec-mb.h),-DSEAL_KEY_MAX=1280)

# To optimize what a sanitizer has instrumented takes longer than it saves, except where the suites spend
# their time: in libraries, and in these tests, which model much themselves; with threads, in relayd.
# Traces want lines, not variables.
SANITIZED_HOT := lib/% libmpi/% test/coll_model.c test/mpi_program.c test/stream_net.c \
	$(patsubst %,test/unit/test_%.c,coll_schedule circ_optimal lmpi_engine lmpi_type impi_streams ft) \
	$(if $(filter tsan,$(EXTRAS)),app/% driver/% tools/%)
ifneq ($(filter asan tsan,$(EXTRAS)),)
CFLAGS ?= $(if $(filter $(SANITIZED_HOT),$<),-O1,-O0) -g1
endif
CFLAGS ?= -O2 -g
CFLAGS_ALL = -std=c17 -D_GNU_SOURCE $(SEAL_KEY) $(WARN) $(CFLAGS) -fPIC -fno-strict-overflow \
	-fno-common -fstack-protector-strong -MMD -MP $(SAN)
# With the sanitizers' own archive in each of 260 suites, lld takes half as long.
ifneq ($(filter asan tsan fuzz,$(EXTRAS)),)
LLD := $(if $(findstring clang,$(CC)),$(shell command -v ld.lld))
LDFLAGS ?= $(if $(LLD),-fuse-ld=lld)
endif
LDFLAGS ?=
LDFLAGS_ALL = $(LDFLAGS) $(SAN)

SAN :=
ifneq ($(filter asan,$(EXTRAS)),)
SAN += -fsanitize=address -fno-omit-frame-pointer
endif
ifneq ($(filter ubsan,$(EXTRAS)),)
SAN += -fsanitize=undefined -fno-sanitize-recover=undefined
endif
ifneq ($(filter tsan,$(EXTRAS)),)
SAN += -fsanitize=thread
endif
ifneq ($(filter coverage,$(EXTRAS)),)
SAN += --coverage
endif
ifneq ($(filter fuzz,$(EXTRAS)),)
# The macro is that of all fuzzers: limits that a short input reaches are lower (tools/obsim/trace.h).
SAN += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
SAN += -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
endif

# For programs that the compiler sees as a whole.
LTO := $(if $(strip $(EXTRAS))$(findstring clang,$(CC)),,-flto=auto)

# With bugs planted on purpose, see lib/suci/internal/suci/canary.h.
ifneq ($(filter canary,$(EXTRAS)),)
SAN += -DSUCI_CANARY
endif

# What pkg-config says of a list of packages, asked once: hundreds of things name the same lists, and
# a make that asked for each spent most of its time in that.
pkg_once = $(if $(strip $(2)),$(if $(filter undefined,$(origin pkg$(1)$(subst $(space),+,$(strip $(2))))),$(eval pkg$(1)$(subst $(space),+,$(strip $(2))) := $(shell pkg-config $(1) $(2) 2>/dev/null)))$(pkg$(1)$(subst $(space),+,$(strip $(2)))))
# Third-party headers by -isystem: they do not pass our warnings.
# Folders that the compiler looks into anyway would move before the overlay of libbsd.
pkg_cflags = $(patsubst -I%,-isystem %,$(filter-out -I/usr/include -I/usr/include/%-linux-gnu,$(call pkg_once,--cflags,$(1))))
pkg_libs = $(call pkg_once,--libs,$(1))

# Each line of a recipe is a shell of its own, and a thousand files have three.  What is compiled has
# one: $(Q)$(call making,CC,$<)COMMAND says so and makes the folder first.
ifeq ($(V),)
Q := @
say = @printf '  %-6s %s\n' $(1) $(2);
making = printf '  %-6s %s\n' $(1) $(2); [ -d $(@D) ] || mkdir -p $(@D);
else
Q :=
say =
making = [ -d $(@D) ] || mkdir -p $(@D);
endif
