$(call lib,ocs,lib/ocs,base)
$(call unit,test_ocs_matrix,test/unit/test_ocs_matrix.c,ocs base)
$(call unit,test_ocs_model,test/unit/test_ocs_model.c,ocs base)
