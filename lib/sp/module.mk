# Management of a cluster that goes on: units, masters, views, severity.  Sans-I/O.
$(call lib,sp,lib/sp,quorum base)

$(call unit,test_sp_view,test/unit/test_sp_view.c,sp quorum base)
$(call unit,test_sp_severity,test/unit/test_sp_severity.c,sp quorum base)
$(call unit,test_sp_node,test/unit/test_sp_node.c,sp quorum base)
$(call fuzz,fuzz_sp_frame,test/fuzz/fuzz_sp_frame.c,sp quorum base)
$(call fuzz,fuzz_sp_view,test/fuzz/fuzz_sp_view.c,sp quorum base)
