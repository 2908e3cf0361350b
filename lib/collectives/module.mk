# SPDX-License-Identifier: BSD-2-Clause
$(call lib,coll,lib/collectives,base)
$(call unit,test_coll_schedule,test/unit/test_coll_schedule.c test/coll_model.c,coll base)
$(call unit,test_coll_select,test/unit/test_coll_select.c,coll base)
$(call unit,test_coll_impi,test/unit/test_coll_impi.c,coll base)
$(call unit,test_coll_play,test/unit/test_coll_play.c,coll base)
$(call unit,test_coll_numbers,test/unit/test_coll_numbers.c,coll base)
