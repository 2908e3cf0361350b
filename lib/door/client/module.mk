# SPDX-License-Identifier: BSD-2-Clause
# What a process says to the relay that carries its doors.  Sans-I/O.
$(call lib,doorclient,lib/door/client,door relayproto suci base)

$(call unit,test_door_client,test/unit/test_door_client.c,doorclient)
$(call unit,test_door_sites,test/unit/test_door_sites.c,doorclient)

$(call fuzz,fuzz_door_client,test/fuzz/fuzz_door_client.c,doorclient)
