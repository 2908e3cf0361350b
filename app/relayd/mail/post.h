/* SPDX-License-Identifier: BSD-2-Clause */
/* post.h - control's end of the mail: what it writes to workers and to the gateway, what comes
 * back.
 *
 *     rd_post_mail, fill it, rd_post_send --> worker or gateway --> rd_post_read --> mail.done
 *
 * A snapshot's mail goes round: from worker to worker, then to the gateway, then it is done.
 *
 * Limits   RD_MAILS for each worker, more than can be outstanding; there is always one.
 * Threads  control. */
#ifndef RD_POST_H
#define RD_POST_H

#include "mail.h"

#include <stdbool.h>
#include <stdint.h>

struct rd_post {
	uint32_t nworkers;
	struct rd_mailbox *box[RD_WORKERS_MAX];
	struct rd_gateway_box *gateway; /* NULL: none */
	struct rd_wake waker;		/* what all boxes wake */
};

/* A mail for a worker (for the gateway: 0) to fill and send; never NULL. */
struct rd_mail *rd_post_mail(struct rd_post *p, uint32_t worker, enum rd_mail_type type);
void rd_post_send(struct rd_post *p, struct rd_mail *mail);
/* To the gateway, which must be there; of worker 0's mails. */
void rd_post_send_gateway(struct rd_post *p, struct rd_mail *mail);
/* What came back: done() of each is called, and it is free again. */
void rd_post_read(struct rd_post *p);
/* What workers and gateway have to say; e is theirs again when fn returns. */
void rd_post_events(struct rd_post *p, void (*fn)(void *user, const struct rd_event *e),
		    void *user);
/* Something came that has not been read. */
bool rd_post_waiting(const struct rd_post *p);

#endif
