# SPDX-License-Identifier: BSD-2-Clause
# Management of a cluster that goes on: units, masters, views, severity.  Sans-I/O.
$(call lib,sp,lib/sp,quorum base)
# What a process and its daemon say to each other; libmpi needs nothing else of it.
$(call lib,spclient,lib/sp/client,base)

$(call unit,test_sp_view,test/unit/test_sp_view.c,sp quorum base)
$(call unit,test_sp_severity,test/unit/test_sp_severity.c,sp quorum base)
$(call unit,test_sp_node,test/unit/test_sp_node.c,sp quorum base)
$(call fuzz,fuzz_sp_frame,test/fuzz/fuzz_sp_frame.c,sp quorum base)
$(call fuzz,fuzz_sp_view,test/fuzz/fuzz_sp_view.c,sp quorum base)
$(call unit,test_sp_client,test/unit/test_sp_client.c,spclient base)
$(call fuzz,fuzz_sp_client,test/fuzz/fuzz_sp_client.c,spclient base)
