# SPDX-License-Identifier: BSD-2-Clause
# One process of a pipeline, with a thread and a socket.
$(call lib,spxrun,driver/spxrun,spx datagram,)
$(call unit,test_spxrun,test/unit/test_spxrun.c,spxrun spx datagram tunefile sucaead sucudp doorclient relayproto door suci tune base,,-lpthread)
