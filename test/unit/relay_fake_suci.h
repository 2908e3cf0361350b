/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint for tests of the relay core alone: defines the functions of
 * suci/endpoint.h the core calls, so libsuci is not linked for them, keeps what
 * was sent, and lets the test play the network. */
#ifndef TEST_RELAY_FAKE_SUCI_H
#define TEST_RELAY_FAKE_SUCI_H

#include "relay/core.h"

#include "base/assert.h"

#include <string.h>

#ifndef FAKE_PATHS
#define FAKE_PATHS 24
#endif
#define FAKE_SENT 64
#ifndef FAKE_NOTES
#define FAKE_NOTES 64
#endif

struct fake_path {
	bool used, up;
	struct suci_addr to;
	uint8_t hello[RELAY_HELLO_LEN];
	struct suci_segment sent[FAKE_SENT]; /* in flight */
	uint32_t nsent;
	uint8_t note[FAKE_NOTES][RELAY_NOTE_LIGHT_MAX];
	size_t note_len[FAKE_NOTES];
	uint32_t note_number[FAKE_NOTES];
	uint32_t nnotes;
	uint32_t mtu; /* UDP payload */
	bool small;   /* no segment fits */
};

struct suci {
	void *user;
	struct fake_path path[FAKE_PATHS];
	int send_error; /* what path_send answers, if not 0 */
	uint32_t opened, closed, nudged, acked;
	char close_text[SUCI_TEXT_MAX];
	uint64_t now;
	uint32_t note_number;		/* of the note that is told, 0 none */
	uint32_t note_tx;		/* and of the last that was queued */
	uint8_t hello[RELAY_HELLO_LEN]; /* of ACCEPT, if ever set */
};

static inline uint32_t
fake_find(const struct suci *ep, const struct suci_addr *a)
{
	for (uint32_t i = 0; i < FAKE_PATHS; i++)
		if (ep->path[i].used && memcmp(&ep->path[i].to, a, sizeof *a) == 0)
			return i;
	return UINT32_MAX;
}

static inline uint32_t
fake_new_path(struct suci *ep, const struct suci_addr *to)
{
	for (uint32_t i = 0; i < FAKE_PATHS; i++) {
		if (!ep->path[i].used) {
			memset(&ep->path[i], 0, sizeof ep->path[i]);
			ep->path[i].used = true;
			ep->path[i].to = *to;
			ep->path[i].mtu = 1472;
			return i;
		}
	}
	return UINT32_MAX;
}

static inline void
fake_give_back(struct suci *ep, uint32_t p, enum suci_fate fate)
{
	struct fake_path *f = &ep->path[p];
	for (uint32_t i = 0; i < f->nsent; i++) {
		if (fate == SUCI_FATE_ABANDONED)
			relay_ops()->abandoned(ep->user, p, &f->sent[i], ep->now);
		relay_ops()->released(ep->user, p, f->sent[i].cookie, fate, ep->now);
	}
	f->nsent = 0;
}

static inline void
fake_down(struct suci *ep, uint32_t p, enum suci_down why, const char *text)
{
	fake_give_back(ep, p, SUCI_FATE_ABANDONED);
	ep->path[p].used = ep->path[p].up = false;
	relay_ops()->path_down(ep->user, p, why, text);
}

/* The other side accepts what we opened. */
static inline void
fake_accepted(struct suci *ep, uint32_t p, const struct relay_hello *h)
{
	uint8_t hello[RELAY_HELLO_LEN];
	relay_hello_encode(h, hello);
	ep->path[p].up = true;
	relay_ops()->path_up(ep->user, p, &ep->path[p].to, hello, sizeof hello, false);
}

/* Somebody opens a path to us.  Its index, or UINT32_MAX if refused (why). */
static inline uint32_t
fake_incoming(struct suci *ep, const struct suci_addr *from, const void *hello, size_t len,
	      char why[SUCI_TEXT_MAX])
{
	why[0] = '\0';
	if (relay_ops()->accept(ep->user, from, hello, len, why))
		return UINT32_MAX;
	uint32_t p = fake_find(ep, from);
	if (p == UINT32_MAX)
		p = fake_new_path(ep, from);
	if (p == UINT32_MAX)
		return p;
	ep->path[p].up = true;
	relay_ops()->path_up(ep->user, p, from, hello, len, true);
	return ep->path[p].used ? p : UINT32_MAX;
}

int
suci_path_open(struct suci *ep, const struct suci_addr *to, const void *hello, size_t hello_len,
	       uint32_t *path, uint64_t now_ns)
{
	(void)now_ns;
	*path = fake_find(ep, to);
	if (*path != UINT32_MAX)
		return SUCI_ERR_EXISTS;
	*path = fake_new_path(ep, to);
	if (*path == UINT32_MAX)
		return SUCI_ERR_NOMEM;
	ep->opened++;
	if (hello && hello_len == RELAY_HELLO_LEN)
		memcpy(ep->path[*path].hello, hello, hello_len);
	return 0;
}

void
suci_path_close(struct suci *ep, uint32_t path, const char *text, uint64_t now_ns)
{
	(void)now_ns;
	strncpy(ep->close_text, text ? text : "", sizeof ep->close_text - 1);
	ep->closed++;
	if (ep->path[path].used)
		fake_down(ep, path, SUCI_DOWN_LOCAL, text);
}

int
suci_path_send(struct suci *ep, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	struct fake_path *f = &ep->path[path];
	(void)now_ns;
	if (ep->send_error)
		return ep->send_error;
	if (!f->used)
		return SUCI_ERR_DOWN;
	if (f->small)
		return SUCI_ERR_TOOBIG;
	if (f->nsent == FAKE_SENT)
		return SUCI_ERR_FULL;
	f->sent[f->nsent++] = *seg;
	return 0;
}

int
suci_path_forward(struct suci *ep, uint32_t path, const struct suci_segment *seg, uint8_t *payload,
		  uint32_t dst_label, uint32_t src_label, uint64_t now_ns)
{
	struct suci_segment out = *seg;
	out.data = payload;
	out.dst_label = dst_label;
	out.src_label = src_label;
	return suci_path_send(ep, path, &out, now_ns);
}

bool
suci_path_info(const struct suci *ep, uint32_t path, struct suci_path_info *out)
{
	if (path >= FAKE_PATHS || !ep->path[path].used)
		return false;
	*out = (struct suci_path_info){.up = ep->path[path].up,
				       .mtu = ep->path[path].mtu,
				       .mss = ep->path[path].mtu - SUCI_OVERHEAD};
	return true;
}

int
suci_set_hello(struct suci *ep, const void *hello, size_t len)
{
	BASE_ASSERT(len == RELAY_HELLO_LEN);
	memcpy(ep->hello, hello, len);
	return SUCI_ERR_OK;
}

uint32_t
suci_path_room(const struct suci *ep, uint32_t path)
{
	return path < FAKE_PATHS && ep->path[path].used ? FAKE_SENT - ep->path[path].nsent : 0;
}

int
suci_path_set_liveness(struct suci *ep, uint32_t path, uint64_t liveness_ns, uint64_t keepalive_ns)
{
	/* Local paths may be silent, light may not. */
	BASE_ASSERT((liveness_ns == 0) == (ep->path[path].to.leg < RELAY_LEG_LIGHT) &&
		    keepalive_ns);
	return SUCI_ERR_OK;
}

int
suci_path_nudge(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	(void)now_ns;
	if (!ep->path[path].used || ep->path[path].up)
		return SUCI_ERR_DOWN;
	ep->nudged++;
	return SUCI_ERR_OK;
}

void
suci_path_ack(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	(void)now_ns;
	ep->acked += ep->path[path].used && ep->path[path].up;
}

bool
suci_note_is_news(const struct suci *ep, uint32_t *latest)
{
	if (ep->note_number && ep->note_number < *latest)
		return false;
	*latest = ep->note_number;
	return true;
}

uint32_t
suci_note_number(struct suci *ep)
{
	return ++ep->note_tx;
}

int
suci_path_note(struct suci *ep, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	return suci_path_note_as(ep, path, suci_note_number(ep), note, len, now_ns);
}

int
suci_path_note_as(struct suci *ep, uint32_t path, uint32_t number, const void *note, size_t len,
		  uint64_t now_ns)
{
	struct fake_path *f = &ep->path[path];
	(void)now_ns;
	if (!f->used || !f->up)
		return SUCI_ERR_DOWN;
	if (f->nnotes == FAKE_NOTES || len > sizeof f->note[0])
		return SUCI_ERR_FULL;
	memcpy(f->note[f->nnotes], note, len);
	f->note_number[f->nnotes] = number;
	f->note_len[f->nnotes++] = len;
	return 0;
}

#endif
