/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/error.h - what functions of lib/relay return: 0 or one of these. */
#ifndef RELAY_ERROR_H
#define RELAY_ERROR_H

/* X(name, value, text) */
#define RELAY_ERRORS(X)                                                   \
	X(OK, 0, "success")                                               \
	X(INVAL, -1, "argument out of its documented range")              \
	X(NOMEM, -2, "a limit given when the object was made is reached") \
	X(EXISTS, -3, "there is already a job with that label base")      \
	X(NOTFOUND, -4, "no such job")                                    \
	X(MALFORMED, -5, "the bytes contradict their format")             \
	X(SHORT, -6, "more bytes are needed")                             \
	X(LABELS, -7, "label base outside the range this relay serves")
enum relay_err {
#define X(n, v, t) RELAY_ERR_##n = v,
	RELAY_ERRORS(X)
#undef X
};
const char *relay_strerror(int err);

#endif
