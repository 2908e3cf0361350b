# SPDX-License-Identifier: BSD-2-Clause
# Which circuits a collective call needs and when: demand of a call, plan, run, prediction, and a
# run on a switch's matrix.
$(call lib,circ,lib/circuits,ocs coll base)
$(call unit,test_circ_plan,test/unit/test_circ_plan.c tools/obsim/call.c tools/obsim/model.c,circ ocs coll base,,-lm)
$(call unit,test_circ_links,test/unit/test_circ_links.c tools/obsim/call.c tools/obsim/model.c,circ ocs coll base,,-lm)
$(call unit,test_circ_optimal,test/unit/test_circ_optimal.c tools/obsim/call.c,circ ocs coll base,,-lm)
$(call unit,test_circ_fabric,test/unit/test_circ_fabric.c,circ ocs coll base)
