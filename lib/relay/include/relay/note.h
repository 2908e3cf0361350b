/* relay/note.h - notes: what relays and processes tell each other about the
 * end of a job (suci_path_note, doc/job-setup.md).
 *
 *     u8 type | u32 label base in the receiver's space | ABORT: u16 len | text | [u32 token]
 *     u8 PING   asks for nothing but the acknowledgement every note gets
 *
 * Between relays the token of the receiver's host id in that job follows: label bases are
 * used again, and a note may be told long after the end, when a trunk is up at last.
 * Who finds other bytes behind a note ignores them. */
#ifndef RELAY_NOTE_H
#define RELAY_NOTE_H

#include <stddef.h>
#include <stdint.h>

#define RELAY_WHY_MAX  200 /* text of an abort with its NUL */
#define RELAY_NOTE_MAX (1 + 4 + 2 + RELAY_WHY_MAX + 4)

enum relay_note_type { RELAY_NOTE_ABORT = 1, RELAY_NOTE_LEAVE = 2, RELAY_NOTE_PING = 3 };

struct relay_note {
	uint8_t type;		  /* enum relay_note_type */
	uint32_t label_base;	  /* PING: 0 */
	uint32_t token;		  /* 0: none given */
	char text[RELAY_WHY_MAX]; /* ABORT; printable, NUL-terminated */
};

/* Returns the length written. */
size_t relay_note_encode(const struct relay_note *n, uint8_t out[RELAY_NOTE_MAX]);
/* 0 or MALFORMED; bytes of the text that are not printable become '?', a text
 * longer than RELAY_WHY_MAX - 1 is cut. */
int relay_note_decode(const void *in, size_t len, struct relay_note *n);

/* printf into a text of an abort; cut if too long. */
void relay_text_set(char out[RELAY_WHY_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Copy len bytes of a text from outside to out, cut and made printable. */
void relay_text_copy(char out[RELAY_WHY_MAX], const void *text, size_t len);

#endif
