# SPDX-License-Identifier: BSD-2-Clause
# How processes of two jobs meet, and talk.  Sans-I/O.
$(call lib,meet,lib/meet,doorclient suci base)

$(call unit,test_meet_talk,test/unit/test_meet_talk.c,meet)
$(call unit,test_meet_lines,test/unit/test_meet_lines.c,meet)
$(call unit,test_meet_port,test/unit/test_meet_port.c,meet)

$(call fuzz,fuzz_meet,test/fuzz/fuzz_meet.c,meet)
$(call fuzz,fuzz_meet_lines,test/fuzz/fuzz_meet_lines.c,meet)
$(B)/test/fuzz/fuzz_meet_lines: LINK_EXTRA := -lcmocka # asserts of the kit it shares with the suite
