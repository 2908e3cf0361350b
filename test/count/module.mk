# Instructions per segment under callgrind.
$(call testprog,counted,test/count/count.c,relay impi suci base)
CFLAGS_test/count/count.c := -Itest/unit

## count         instructions per segment (callgrind), at most 10 % above test/count/baseline.json
.PHONY: count count-record
count: $(B)/test/counted
	@test/count/run $(B) "$(CC)"

## count-record  the same, and take what was counted as the new baseline
count-record: $(B)/test/counted
	@test/count/run $(B) "$(CC)" --record
