# SPDX-License-Identifier: BSD-2-Clause
# One Makefile for everything; `make help` lists the targets.
#
#   CC=gcc|clang        compiler (default gcc)
#   EXTRAS="asan ubsan" build variants: asan ubsan tsan fuzz coverage canary; each set
#                       has a build directory of its own under build/
#   V=1                 show the commands
#
# Each folder has a module.mk that says what it builds and what it may depend
# on; mk/rules.mk turns that into compile and link lines, so an include or a
# call that goes against the architecture does not build.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

include mk/config.mk
include mk/rules.mk

# In the order of their dependencies.
include lib/base/module.mk
include lib/tune/module.mk
include lib/seal/module.mk
-include lib/suci/module.mk
include lib/impi/module.mk
include lib/collectives/module.mk
include lib/ocs/module.mk
include lib/ocs/protocols/module.mk
include lib/circuits/module.mk
include lib/light/module.mk
include lib/mmp/module.mk
include lib/mmp/lanes/module.mk
include lib/door/module.mk
include lib/relayproto/module.mk
include lib/door/client/module.mk
include lib/meet/module.mk
include lib/launch/module.mk
include lib/mmp/away/module.mk
include lib/relayset/module.mk
include lib/pathpool/module.mk
include lib/ft/module.mk
include lib/quorum/module.mk
include lib/sp/module.mk
include lib/spx/module.mk
include lib/mpi/module.mk
-include lib/relay/module.mk
-include lib/gateway/module.mk
include driver/process/module.mk
-include driver/ocs/module.mk
include driver/aead/module.mk
include driver/tune/module.mk
include driver/names/module.mk
-include driver/udp/module.mk
-include driver/dpdk/module.mk
include libsuci/module.mk
include driver/spxrun/module.mk
-include app/relayd/module.mk
include app/impi-server/module.mk
include app/mpispd/module.mk
-include libmpi/module.mk
include libmmp/module.mk
-include $(sort $(wildcard tools/*/module.mk))
-include examples/module.mk
-include $(sort $(wildcard test/*/module.mk))

include mk/targets.mk
