/* SPDX-License-Identifier: BSD-2-Clause */
/* rte_pcapng.h is complete, but DPDK 22.11 does not promise its ABI. */
#define ALLOW_EXPERIMENTAL_API
#include "capture.h"

#include "log.h"
#include "loop.h"
#include "post.h"
#include "sniff.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_pcapng.h>

#include <bsd/string.h>

#define WRITE_BURST   64
#define WRITER_NAP_NS (2 * BASE_MS_NS)
#define STUCK_TRIES   200 /* of 10 ms: then the end does not wait for the writer any more */

enum state { IDLE, RUN, OFF, FLUSH };

struct rd_capture {
	struct rd_loop *loop;
	struct rd_post *post;
	enum state state;
	struct rd_capture_conf conf;
	uint64_t until_ns;
	uint32_t mails, marks;
	int mark_at;
	struct rte_mempool *pool;
	uint32_t nsniffers;
	struct rd_sniffer *sniffer[RD_WORKERS_MAX];
	char ended[128];
	uint64_t seen, lost; /* of the last one */
	/* shared with the writer */
	rte_pcapng_t *file;
	pthread_t thread;
	_Atomic uint64_t written, bytes;
	_Atomic int error;	/* errno of a write */
	_Atomic uint32_t full;	/* as many frames or bytes as were asked for */
	_Atomic uint32_t flush; /* nothing comes any more */
	_Atomic uint32_t done;
};

/* ---- the writer --------------------------------------------------------------------- */

static uint32_t
take_frame(struct rd_capture *c, struct rte_mbuf **burst)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nsniffers; i++) {
		struct rte_mbuf *m;
		while (n < WRITE_BURST && (m = base_ring_pop(&c->sniffer[i]->ring)))
			burst[n++] = m;
	}
	return n;
}

/* How many of n frames may still be written. */
static uint32_t
is_allowed(const struct rd_capture *c, uint32_t n)
{
	if (atomic_load(&c->error) || (c->conf.bytes && c->bytes >= c->conf.bytes))
		return 0;
	uint64_t left = c->conf.frames - c->written;
	return c->conf.frames && left < n ? (uint32_t)left : n;
}

static void
write_burst(struct rd_capture *c, struct rte_mbuf **burst, uint32_t n)
{
	uint32_t few = is_allowed(c, n);
	if (few) {
		/* They are freed, whatever becomes of them. */
		ssize_t r = rte_pcapng_write_packets(c->file, burst, (uint16_t)few);
		if (r < 0) {
			atomic_store(&c->error, errno ? errno : EIO);
		} else {
			c->bytes += (uint64_t)r;
			c->written += few;
		}
	}
	for (uint32_t i = few; i < n; i++)
		rte_pktmbuf_free(burst[i]);
	if (!is_allowed(c, 1))
		atomic_store(&c->full, 1);
}

static void *
writer(void *arg)
{
	struct rd_capture *c = arg;
	struct rte_mbuf *burst[WRITE_BURST];
	for (;;) {
		/* Before the look at the rings: what came before it is written. */
		bool last = atomic_load(&c->flush);
		uint32_t n = take_frame(c, burst);
		if (n) {
			write_burst(c, burst, n);
		} else if (last) {
			break;
		} else {
			struct timespec ts = {.tv_nsec = WRITER_NAP_NS};
			nanosleep(&ts, NULL);
		}
	}
	rte_pcapng_close(c->file);
	atomic_store(&c->done, 1);
	return NULL;
}

/* ---- control ------------------------------------------------------------------------- */

struct rd_capture *
rd_capture_new(struct rd_loop *loop, struct rd_post *post)
{
	struct rd_capture *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->loop = loop;
	c->post = post;
	return c;
}

static void
count_up(const struct rd_capture *c, uint64_t *seen, uint64_t *lost)
{
	for (uint32_t i = 0; i < c->nsniffers; i++) {
		*seen += atomic_load_explicit(&c->sniffer[i]->seen, memory_order_relaxed);
		*lost += atomic_load_explicit(&c->sniffer[i]->lost, memory_order_relaxed);
	}
}

static void
give_buffer_back(struct rd_capture *c)
{
	for (uint32_t i = 0; i < c->nsniffers; i++)
		free(c->sniffer[i]);
	c->nsniffers = 0;
	rte_mempool_free(c->pool);
	c->pool = NULL;
	c->state = IDLE;
}

static void
take_capture_mail(struct rd_mail *mail)
{
	struct rd_capture *c = mail->owner;
	c->mails--;
}

static void
tell_capture(struct rd_capture *c, bool on)
{
	for (uint32_t i = 0; i < c->nsniffers; i++) {
		struct rd_mail *mail = rd_post_mail(c->post, i, RD_MAIL_SNIFF);
		mail->tool = on ? c->sniffer[i] : NULL;
		mail->done = take_capture_mail;
		mail->owner = c;
		c->mails++;
		rd_post_send(c->post, mail);
	}
}

static int
make_sniffers(struct rd_capture *c, const struct rd_capture_conf *conf)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "relayd_capture", .size = sizeof(uint32_t), .align = sizeof(uint32_t)};
	c->mark_at = rte_mbuf_dynfield_register(&field);
	if (c->mark_at < 0)
		return -rte_errno;
	c->marks = c->marks == UINT32_MAX ? 1 : c->marks + 1;
	for (; c->nsniffers < c->post->nworkers; c->nsniffers++) {
		struct rd_sniffer *s = aligned_alloc(64, (sizeof *s + 63) & ~(size_t)63);
		if (!s)
			return -ENOMEM;
		memset(s, 0, sizeof *s);
		s->filter = conf->filter;
		s->segments = rd_filter_wants_segments(&conf->filter);
		s->pool = c->pool;
		s->snaplen = conf->snaplen;
		s->mark_at = (size_t)c->mark_at;
		s->mark = c->marks;
		base_ring_init(&s->ring, s->slot, RD_SNIFF_RING);
		c->sniffer[c->nsniffers] = s;
	}
	return 0;
}

static int
open_captures(struct rd_capture *c, const struct rd_capture_conf *conf, int fd)
{
	uint32_t room = rte_pcapng_mbuf_size(conf->snaplen);
	c->pool = rte_pktmbuf_pool_create("capture", RD_CAPTURE_BUFFERS, 0, 0, (uint16_t)room,
					  SOCKET_ID_ANY);
	if (!c->pool)
		return -rte_errno;
	int e = make_sniffers(c, conf);
	if (e)
		return e;
	c->file = rte_pcapng_fdopen(fd, NULL, NULL, "relayd", NULL);
	return c->file ? 0 : -rte_errno;
}

int
rd_capture_start(struct rd_capture *c, const struct rd_capture_conf *conf, int fd, char *err,
		 size_t err_max)
{
	if (c->state != IDLE) {
		snprintf(err, err_max, "a capture runs already");
		return -1;
	}
	/* A descriptor of our own, so that the caller's is his until all has gone well. */
	int own = dup(fd), e = own < 0 ? -errno : open_captures(c, conf, own);
	if (e) {
		snprintf(err, err_max, "%s%s", strerror(-e),
			 e == -ENOMEM
				 ? ": DPDK's heap has no room for the copies; lower snaplen or "
				   "raise eal.memory_mb"
				 : "");
		goto err_undo;
	}
	c->conf = *conf;
	c->written = c->bytes = 0;
	c->error = 0;
	c->full = c->flush = c->done = 0;
	c->ended[0] = '\0';
	e = pthread_create(&c->thread, NULL, writer, c);
	if (e) {
		snprintf(err, err_max, "no thread: %s", strerror(e));
		rte_pcapng_close(c->file);
		own = -1;
		goto err_undo;
	}
	close(fd);
	c->state = RUN;
	c->until_ns = conf->duration_ns ? c->loop->now_ns + conf->duration_ns : 0;
	tell_capture(c, true);
	return 0;
err_undo:
	if (own >= 0)
		close(own);
	give_buffer_back(c);
	return -1;
}

static void
end_it(struct rd_capture *c, const char *why)
{
	if (c->state != RUN)
		return;
	strlcpy(c->ended, why, sizeof c->ended);
	c->state = OFF;
	tell_capture(c, false);
}

void
rd_capture_stop(struct rd_capture *c)
{
	end_it(c, "stopped");
}

static void
finish_capture(struct rd_capture *c)
{
	int e = atomic_load(&c->error);
	(void)pthread_join(c->thread, NULL);
	c->seen = c->lost = 0;
	count_up(c, &c->seen, &c->lost);
	if (e)
		snprintf(c->ended, sizeof c->ended, "cannot write: %s", strerror(e));
	rd_log(RD_LOG_INFO, "capture: %llu frames written, %llu lost to it, %llu bytes: %s",
	       (unsigned long long)c->written, (unsigned long long)c->lost,
	       (unsigned long long)c->bytes, c->ended);
	give_buffer_back(c);
}

void
rd_capture_tick(struct rd_capture *c)
{
	if (c->state == RUN && atomic_load(&c->full))
		end_it(c, "all that was asked for");
	else if (c->state == RUN && c->until_ns && c->loop->now_ns >= c->until_ns)
		end_it(c, "time");
	if (c->state == OFF && !c->mails) {
		c->state = FLUSH;
		atomic_store(&c->flush, 1);
	}
	if (c->state == FLUSH && atomic_load(&c->done))
		finish_capture(c);
}

void
rd_capture_info(const struct rd_capture *c, struct rd_capture_info *out)
{
	*out = (struct rd_capture_info){
		.running = c->state != IDLE,
		.written = c->written,
		.bytes = c->bytes,
		.seen = c->seen,
		.lost = c->lost,
	};
	if (c->state != IDLE) {
		out->seen = out->lost = 0;
		count_up(c, &out->seen, &out->lost);
	}
	strlcpy(out->ended, c->ended, sizeof out->ended);
}

void
rd_capture_free(struct rd_capture *c)
{
	if (!c)
		return;
	if (c->state != IDLE) {
		atomic_store(&c->flush, 1);
		for (int i = 0; i < STUCK_TRIES && !atomic_load(&c->done); i++) {
			struct timespec ts = {.tv_nsec = 10 * BASE_MS_NS};
			nanosleep(&ts, NULL);
		}
		if (!atomic_load(&c->done)) {
			rd_log(RD_LOG_ERROR, "capture: its file takes nothing; left as it is");
			return; /* the thread still uses all of it */
		}
		if (!*c->ended)
			strlcpy(c->ended, "the relay ends", sizeof c->ended);
		finish_capture(c);
	}
	free(c);
}
