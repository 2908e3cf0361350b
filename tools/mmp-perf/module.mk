$(call prog,mmp-perf,$(wildcard tools/mmp-perf/*.c),mmp mmpcore sucudp suci base,,-lpthread)
