#include "mail.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
rd_mailbox_init(struct rd_mailbox *b)
{
	memset(b, 0, sizeof *b);
	base_ring_init(&b->to_worker, b->slot_to_worker, RD_MAILS);
	base_ring_init(&b->replies, b->slot_replies, RD_MAILS);
	base_ring_init(&b->events, b->slot_events, RD_EVENTS);
	base_ring_init(&b->event_free, b->slot_event_free, RD_EVENTS);
	for (int leg = 0; leg < RD_LEGS; leg++) {
		base_ring_init(&b->to_tap[leg], b->slot_to_tap[leg], RD_TAP_RING);
		base_ring_init(&b->from_tap[leg], b->slot_from_tap[leg], RD_TAP_RING);
	}
	for (uint32_t i = 0; i < RD_EVENTS; i++)
		base_ring_push(&b->event_free, &b->event[i]);
	atomic_init(&b->control_sleeps, 0);
	b->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return b->wake_fd < 0 ? -errno : 0;
}

void
rd_mailbox_fini(struct rd_mailbox *b)
{
	if (b->wake_fd >= 0)
		close(b->wake_fd);
	b->wake_fd = -1;
}

void
rd_mailbox_wake(struct rd_mailbox *b)
{
	/* Orders the push before the look at the flag; the other half of the
	 * handshake is in rd_mailbox_sleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&b->control_sleeps, memory_order_relaxed))
		return;
	atomic_store_explicit(&b->control_sleeps, 0, memory_order_relaxed);
	uint64_t one = 1;
	while (write(b->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void
rd_mailbox_sleep(struct rd_mailbox *b)
{
	atomic_store_explicit(&b->control_sleeps, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void
rd_mailbox_awake(struct rd_mailbox *b)
{
	uint64_t n;
	atomic_store_explicit(&b->control_sleeps, 0, memory_order_relaxed);
	if (read(b->wake_fd, &n, sizeof n) < 0 && errno != EAGAIN && errno != EINTR)
		return; /* an eventfd has no other errors */
}
