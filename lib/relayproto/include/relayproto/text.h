/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/text.h - texts of ends: why a job is over, for people.
 *
 * A text is at most RELAY_WHY_MAX - 1 bytes of printable ASCII.  It ends up on terminals and in
 * logs of other sites, so decoders replace every other byte by '?': control characters, and bytes
 * above 0x7e, among which UTF-8 hides control characters too.
 *
 * The text of MPI_Abort has a form, as processes of other sites take their status from it:
 *
 *     MPI_Abort(NAME, CODE) called by ...
 *
 * Threads  plain functions. */
#ifndef RELAYPROTO_TEXT_H
#define RELAYPROTO_TEXT_H

#include <stddef.h>

#define RELAY_WHY_MAX 200 /* with the NUL */

/* printf into a text; cut if too long. */
void relay_text_set(char out[RELAY_WHY_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Copy len bytes of a text from outside to out, cut and made printable. */
void relay_text_copy(char out[RELAY_WHY_MAX], const void *text, size_t len);
/* The text of MPI_Abort: by says which process called it. */
void relay_text_abort(char out[RELAY_WHY_MAX], const char *name, int code, const char *by);
/* The status that a text asks for: CODE of an MPI_Abort's text, 1 of any other. */
int relay_text_status(const char *text);

#endif
