# SPDX-License-Identifier: BSD-2-Clause
# Frames through pipelines of clusters, tables of I/O processes, chains.  Sans-I/O.
$(call lib,spx,lib/spx,base)
# What daemons agree on, as a view of these; processes need nothing of it.
$(call lib,spxagreed,lib/spx/agreed,spx sp base)

$(call unit,test_spx,test/unit/test_spx.c,spx base)
$(call unit,test_spx_deaths,test/unit/test_spx_deaths.c,spx base)
$(call unit,test_spx_view,test/unit/test_spx_view.c,spx base)
$(call unit,test_spx_agreed,test/unit/test_spx_agreed.c,spxagreed spx sp quorum base)
$(call unit,test_spx_feed,test/unit/test_spx_feed.c,spx base)
$(call unit,test_spx_wire,test/unit/test_spx_wire.c,spx base)
$(call fuzz,fuzz_spx_chains,test/fuzz/fuzz_spx_chains.c,spx base)
$(call fuzz,fuzz_spx_feed,test/fuzz/fuzz_spx_feed.c,spx base)
$(call fuzz,fuzz_spx_records,test/fuzz/fuzz_spx_records.c,spx base)
$(call fuzz,fuzz_spx_message,test/fuzz/fuzz_spx_message.c,spx base)
