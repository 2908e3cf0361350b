# SPDX-License-Identifier: BSD-2-Clause
# One sequence of commands among a few voters: Raft by libraft, over bytes and deadlines.
$(call lib,quorum,lib/quorum,base,raft)

$(call unit,test_quorum,test/unit/test_quorum.c,quorum base)
$(call fuzz,fuzz_quorum_frame,test/fuzz/fuzz_quorum_frame.c,quorum base)
$(call fuzz,fuzz_quorum_journal,test/fuzz/fuzz_quorum_journal.c,quorum base)
