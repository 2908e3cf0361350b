/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/error.h - what decoders of lib/relayproto return: 0 or one of these. */
#ifndef RELAYPROTO_ERROR_H
#define RELAYPROTO_ERROR_H

enum relayproto_err {
	RELAYPROTO_ERR_OK = 0,
	RELAYPROTO_ERR_MALFORMED = -1, /* the bytes contradict their format */
};

#endif
