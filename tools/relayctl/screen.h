/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.h - what is drawn again and again in place on a terminal.
 *
 *     screen_begin();      what is printed from here on is kept
 *     print_table(...);
 *     screen_show();       and takes the place of the picture before
 *
 * A picture is no higher than the terminal: its end is cut off, and a line counts what is missing.
 * It is written at once, so that nothing flickers. */
#ifndef RELAYCTL_SCREEN_H
#define RELAYCTL_SCREEN_H

#include <stdbool.h>

/* False: there is no memory; what is printed goes out as ever. */
bool screen_begin(void);
void screen_show(void);

/* A line of items parted by two spaces or more; several lines where a terminal has no room for one,
 * if fits. */
void screen_items(const char *text, bool fits);

#endif
