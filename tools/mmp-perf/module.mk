# SPDX-License-Identifier: BSD-2-Clause
$(call prog,mmp-perf,$(wildcard tools/mmp-perf/*.c),mmp mmpcore tunefile sucudp suci tune base,,-lpthread)
