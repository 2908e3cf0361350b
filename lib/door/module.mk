# SPDX-License-Identifier: BSD-2-Clause
# Addresses of doors: endpoints that join at any time.  Sans-I/O.
$(call lib,door,lib/door,base)

$(call unit,test_door_address,test/unit/test_door_address.c,door)

$(call fuzz,fuzz_door_address,test/fuzz/fuzz_door_address.c,door)
$(call fuzz,fuzz_door_hello,test/fuzz/fuzz_door_hello.c,door)
