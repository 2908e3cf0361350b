$(call lib,ocs,lib/ocs,coll base)
$(call unit,test_ocs_matrix,test/unit/test_ocs_matrix.c,ocs coll base)
$(call unit,test_ocs_model,test/unit/test_ocs_model.c,ocs coll base)
$(call unit,test_ocs_plan,test/unit/test_ocs_plan.c tools/obsim/call.c,ocs coll base,,-lm)
