$(call lib,coll,lib/collectives,base)
$(call unit,test_coll_schedule,test/unit/test_coll_schedule.c,coll base)
$(call unit,test_coll_impi,test/unit/test_coll_impi.c,coll base)
$(call unit,test_coll_play,test/unit/test_coll_play.c,coll base)
