# SPDX-License-Identifier: BSD-2-Clause
$(call prog,suci-perf,$(wildcard tools/suci-perf/*.c),datagram sucaead sucudp suci base)
