/* SPDX-License-Identifier: BSD-2-Clause */
/* impi/error.h - what can go wrong on an IMPI connection, and in words.
 *
 * Every machine of lib/impi that can fail keeps a struct impi_error: a code for
 * the program, and one line for the person who has to fix it.  The first
 * error stays; later ones do not overwrite it.
 *
 * Groups, by what is to be torn down:
 *   caller    the call was wrong and changed nothing
 *   channel   this connection is over
 *   job       the job cannot start; every connection of it is over */
#ifndef IMPI_ERROR_H
#define IMPI_ERROR_H

#define IMPI_ERR_LIST(X)                                             \
	X(OK, 0, "no error")                                         \
	/* caller */                                                 \
	X(INVAL, -1, "invalid argument")                             \
	X(STATE, -2, "not allowed in this state")                    \
	X(FULL, -3, "no room")                                       \
	/* channel */                                                \
	X(COMMAND, -10, "unknown command")                           \
	X(LENGTH, -11, "malformed length")                           \
	X(ORDER, -12, "command out of order")                        \
	X(OVERSIZE, -13, "more bytes than the limit allows")         \
	X(AUTH, -14, "no authentication method in common")           \
	X(KEY, -15, "wrong key")                                     \
	X(RANK, -16, "client rank out of range")                     \
	X(DUPLICATE, -17, "client rank already taken")               \
	X(LABEL, -18, "bad use of a label")                          \
	X(EOF, -19, "connection closed early")                       \
	X(TIMEOUT, -20, "too slow")                                  \
	X(PACKET, -21, "malformed packet")                           \
	/* job */                                                    \
	X(LOST, -30, "a client was lost")                            \
	X(TABLE, -31, "values of the clients contradict")            \
	X(LIMIT, -32, "job larger than this process was set up for") \
	X(VALUE, -33, "value out of its range")

enum impi_err {
#define IMPI_ERR_ENUM(name, value, text) IMPI_ERR_##name = (value),
	IMPI_ERR_LIST(IMPI_ERR_ENUM)
#undef IMPI_ERR_ENUM
};

#define IMPI_ERROR_TEXT_MAX 192

struct impi_error {
	enum impi_err code;
	char text[IMPI_ERROR_TEXT_MAX]; /* "" if code is IMPI_ERR_OK */
};

/* The general words for a code; "unknown error" for a foreign number. */
const char *impi_strerror(enum impi_err code);
/* Set e unless it is set; returns e->code, so `return impi_error_set(...)`. */
enum impi_err impi_error_set(struct impi_error *e, enum impi_err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
