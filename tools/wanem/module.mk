# SPDX-License-Identifier: BSD-2-Clause
$(call prog,wanem,tools/wanem/main.c tools/wanem/options.c tools/wanem/wanem_core.c,rddpdk base,jansson libdpdk)
$(call unit,test_wanem_core,test/unit/test_wanem_core.c tools/wanem/wanem_core.c,base)
