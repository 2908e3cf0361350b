# SPDX-License-Identifier: BSD-2-Clause
# The ready-made I/O process of pipelines.
$(call prog,mpisp-io,tools/mpisp-io/mpisp-io.c,spxrun spx datagram tunefile sucaead sucudp doorclient relayproto door suci tune lmpiknobs base,,-lpthread)
