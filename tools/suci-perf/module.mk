$(call prog,suci-perf,$(wildcard tools/suci-perf/*.c),datagram sucudp suci base)
