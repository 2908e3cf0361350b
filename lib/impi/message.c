/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - see impi/message.h. */
#include "impi/message.h"

#include "base/assert.h"

/* Rows: states; columns: events in the order of their enum.  */
enum impi_send_state
impi_send_next(enum impi_send_state state, enum impi_send_event ev)
{
	enum {
		SETTLED = IMPI_SEND_SETTLED,
		WAITS = IMPI_SEND_WAITS,
		ASKED = IMPI_SEND_ASKED,
		REFUSED = IMPI_SEND_REFUSED,
		MATCHED = IMPI_SEND_MATCHED,
		GONE = IMPI_SEND_CANCELLED,
		BAD = IMPI_SEND_BAD
	};
	static const uint8_t next[IMPI_SEND_STATES][IMPI_SEND_EVENTS] = {
		/*	     SYNCACK CANCEL  YES   NO */
		[SETTLED] = {BAD, SETTLED, BAD, BAD},	   [WAITS] = {SETTLED, ASKED, BAD, BAD},
		[ASKED] = {MATCHED, ASKED, GONE, REFUSED}, [REFUSED] = {SETTLED, REFUSED, BAD, BAD},
		[MATCHED] = {BAD, MATCHED, BAD, SETTLED},  [GONE] = {BAD, GONE, BAD, BAD},
	};
	BASE_ASSERT(state < IMPI_SEND_STATES && ev < IMPI_SEND_EVENTS);
	return (enum impi_send_state)next[state][ev];
}
