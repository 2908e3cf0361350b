/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/reload.h - what another configuration would change in a relay that runs, and what of it can be
 * had without a restart.
 *
 *     rd_conf_changes(runs, file)   the difference, key by key
 *     rd_conf_merge(runs, file)     what runs, with those keys of the file that can be reloaded;
 *                                   checked like a file
 *     rd_conf_take(runs, merged)    only the fields of these keys are written
 *
 * The last one may be called while other threads read other fields: no thread but control's reads
 * those of keys that can be reloaded, or while it waits for the answer to a mail with them.
 *
 * Threads  no state of its own. */
#ifndef RD_RELOAD_H
#define RD_RELOAD_H

#include "rd/conf.h"

#define RD_CHANGES_MAX 192 /* more than there are keys */
#define RD_CHANGE_TEXT RD_VALUE_TEXT

struct rd_change {
	const struct rd_key *key;
	bool now;	 /* without a restart */
	const char *why; /* why not, where it could be for other values; else "" */
	char from[RD_CHANGE_TEXT], to[RD_CHANGE_TEXT]; /* cut off if they are longer */
};
struct rd_changes {
	uint32_t count, restart; /* all; of these, without now */
	struct rd_change change[RD_CHANGES_MAX];
};

/* Can a value of that key be changed without a restart? */
bool rd_conf_reloads(const struct rd_key *key);
/* Both came from rd_conf_parse() without faults. */
void rd_conf_changes(const struct rd_conf *runs, const struct rd_conf *file,
		     struct rd_changes *out);
/* False: the two do not go together, and faults says so; out is then not to be used. */
bool rd_conf_merge(const struct rd_conf *runs, const struct rd_conf *file, struct rd_conf *out,
		   struct rd_faults *faults);
void rd_conf_take(struct rd_conf *runs, const struct rd_conf *merged);

#endif
