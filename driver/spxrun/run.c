/* SPDX-License-Identifier: BSD-2-Clause */
/* The object, its thread, the program's calls. */
#include "spxrun_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

uint64_t
spxrun_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BASE_S_NS + (uint64_t)t.tv_nsec;
}

void
spxrun_ring(struct spxrun *r)
{
	ssize_t n = write(r->bell, &(uint64_t){1}, sizeof(uint64_t));

	(void)n; /* it rings already */
}

void
spxrun_set_over(struct spxrun *r, const char *why)
{
	if (!r->over)
		snprintf(r->why_over, sizeof r->why_over, "%s", why);
	r->over = true;
	pthread_cond_broadcast(&r->news);
}

/* ---- what lib/spx asks ---- */

static void
wake_waiting(void *user)
{
	struct spxrun *r = user;

	pthread_cond_broadcast(&r->news);
}

static void
note_done(void *user, uint32_t origin, uint64_t number)
{
	(void)origin, (void)number;
	wake_waiting(user); /* spxrun_finish() counts */
}

static void
keep_spx_event(void *user, const struct spx_event *e)
{
	struct spxrun *r = user;
	struct spx_feed f = {.type = SPX_FEED_EVENT, .event = *e};

	f.text = (struct spx_feed_text){e->text, (uint32_t)strnlen(e->text, SPX_TEXT_MAX - 1)};
	(void)spxrun_tell(r, &f);
	if (r->events == SPXRUN_EVENTS) {
		r->count.unheard++;
		r->event_first++;
		r->events--;
	}
	struct spxrun_event *k = &r->event[(r->event_first + r->events++) % SPXRUN_EVENTS];
	k->e = *e;
	k->e.text = NULL;
	snprintf(k->text, sizeof k->text, "%s", e->text);
	pthread_cond_broadcast(&r->news);
}

static uint32_t
ask_program(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	struct spxrun *r = user;

	return r->pick ? r->pick(r->pick_user, c, n, out) : n; /* n: the next one */
}

static void *
get_frame_memory(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void
put_frame_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

/* ---- the thread ---- */

/* When something has to be done though nothing comes. */
static uint64_t
next_due_ns(struct spxrun *r, uint64_t now)
{
	int ms = datagram_timeout(r->sock);
	uint64_t next = base_min_ns(spx_expiry_ns(r->x), now + BASE_S_NS);

	return ms >= 0 ? base_min_ns(next, now + (unsigned)ms * BASE_MS_NS) : next;
}

/* What has come, what is due, what leaves: by the thread, or by the program that has the lock
 * anyway, as waking the thread for it costs more. */
static void
take_run_turn(struct spxrun *r)
{
	(void)spxrun_net_turn(r);
	spx_tick(r->x, spxrun_now_ns());
	(void)datagram_progress(r->sock);
}

static void
take_program_turn(struct spxrun *r)
{
	take_run_turn(r);
	/* The thread sleeps for longer than there is time, or has not asked for room to send. */
	if (next_due_ns(r, spxrun_now_ns()) < r->sleeps_until_ns ||
	    (r->sleeps_until_ns && datagram_events(r->sock) != r->sleeps_on))
		spxrun_ring(r);
}

/* true: the manager has said something. */
static bool
wait_for_work(struct spxrun *r)
{
	struct pollfd p[3] = {{.fd = r->bell, .events = POLLIN},
			      {.fd = datagram_fd(r->sock), .events = datagram_events(r->sock)},
			      {.fd = r->over ? -1 : r->feed, .events = POLLIN}};
	uint64_t now = spxrun_now_ns(), next = next_due_ns(r, now),
		 left = next > now ? next - now : 0;
	struct timespec t = {(time_t)(left / BASE_S_NS), (long)(left % BASE_S_NS)};
	uint64_t rings;

	r->sleeps_until_ns = next;
	r->sleeps_on = p[1].events;
	pthread_mutex_unlock(&r->lock);
	(void)ppoll(p, 3, &t, NULL);
	if (p[0].revents && read(r->bell, &rings, sizeof rings) < 0)
		rings = 0;
	pthread_mutex_lock(&r->lock);
	r->sleeps_until_ns = 0;
	return p[2].revents != 0;
}

static void *
run_pipeline_thread(void *arg)
{
	struct spxrun *r = arg;

	pthread_mutex_lock(&r->lock);
	for (bool told = true; !r->stop;) {
		if (told && !r->over)
			spxrun_talk_turn(r);
		take_run_turn(r);
		told = !r->stop && wait_for_work(r);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- beginning and end ---- */

static void
free_all(struct spxrun *r)
{
	if (r->x)
		spx_end(r->x);
	spxrun_net_close(r);
	free(r->x_memory);
	free(r->view.proc);
	free(r->view.cluster);
	free(r->view.chain);
	free(r->where);
	free(r->in);
	if (r->feed >= 0)
		close(r->feed);
	if (r->bell >= 0)
		close(r->bell);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->news);
	free(r);
}

struct spxrun *
spxrun_open(int feed, char why[SPX_TEXT_MAX])
{
	struct spxrun *r = calloc(1, sizeof *r);
	pthread_condattr_t attr;

	if (!r) {
		spx_say(why, "no memory");
		close(feed);
		return NULL;
	}
	r->feed = feed;
	r->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->ops = (struct spx_ops){spxrun_net_send, wake_waiting,   wake_waiting,
				  note_done,	   keep_spx_event, ask_program};
	r->memory = (struct spx_memory){get_frame_memory, put_frame_memory, NULL};
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->news, &attr);
	pthread_condattr_destroy(&attr);
	bool ok = r->bell >= 0 || spx_say(why, "no eventfd: %s", strerror(errno));
	ok = ok && spxrun_talk_begin(r, why);
	if (ok && pthread_create(&r->thread, NULL, run_pipeline_thread, r) != 0)
		ok = spx_say(why, "no thread");
	if (!ok) {
		free_all(r);
		return NULL;
	}
	r->started = true;
	return r;
}

void
spxrun_free(struct spxrun *r)
{
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	spxrun_ring(r);
	pthread_mutex_unlock(&r->lock);
	if (r->started)
		pthread_join(r->thread, NULL);
	free_all(r);
}

/* ---- waiting ---- */

struct deadline {
	bool ever;
	struct timespec at;
};

static struct deadline
deadline_in(int64_t ms)
{
	struct deadline d = {.ever = ms < 0};
	uint64_t at = d.ever ? 0 : spxrun_now_ns() + (uint64_t)ms * BASE_MS_NS;

	d.at = (struct timespec){(time_t)(at / BASE_S_NS), (long)(at % BASE_S_NS)};
	return d;
}

/* false: the time is over. */
static bool
wait_news(struct spxrun *r, const struct deadline *d)
{
	if (d->ever)
		return pthread_cond_wait(&r->news, &r->lock) == 0;
	return pthread_cond_timedwait(&r->news, &r->lock, &d->at) != ETIMEDOUT;
}

static const struct spx_proc *
own_place(struct spxrun *r)
{
	return spx_view_proc(spx_view_of(r->x), r->conf.id);
}

bool
spxrun_self(struct spxrun *r, struct spxrun_self *self, int64_t wait_ms)
{
	struct deadline d = deadline_in(wait_ms);
	const struct spx_proc *me;

	pthread_mutex_lock(&r->lock);
	while (!(me = own_place(r)) && !r->over && wait_news(r, &d))
		;
	if (me) {
		const struct spx_view *v = spx_view_of(r->x);
		*self = (struct spxrun_self){
			.id = me->id,
			.kind = me->kind,
			.rank = me->rank,
			.ranks = v->cluster[me->cluster].compute,
			.takeovers = me->takeovers,
			.makes = me->kind == SPX_COMPUTE && !spx_view_into(v, me->cluster),
			.ends = me->kind == SPX_COMPUTE && !spx_view_out_of(v, me->cluster),
			.view = v->number};
		memcpy(self->cluster, v->cluster[me->cluster].name, SPX_NAME_MAX);
	}
	pthread_mutex_unlock(&r->lock);
	return me != NULL;
}

uint32_t
spxrun_worlds(struct spxrun *r, char (*name)[SPX_NAME_MAX])
{
	uint64_t set = 0;
	uint32_t n = 0;

	pthread_mutex_lock(&r->lock);
	const struct spx_view *v = spx_view_of(r->x);
	const struct spx_proc *me = own_place(r);
	if (me && me->kind == SPX_COMPUTE)
		set = SPX_CHAIN_BIT(me->cluster);
	for (uint32_t c = 0; me && me->kind == SPX_IO && c < v->nchain; c++)
		if (me->chains & SPX_CHAIN_BIT(c))
			set |= SPX_CHAIN_BIT(v->chain[c].from) | SPX_CHAIN_BIT(v->chain[c].to);
	for (uint32_t k = 0; k < v->ncluster; k++)
		if (set & SPX_CHAIN_BIT(k))
			memcpy(name[n++], v->cluster[k].name, SPX_NAME_MAX);
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* ---- frames ---- */

/* A frame to make or to take. */
static bool
look_for_frame(struct spxrun *r, struct spx_frame *f)
{
	const struct spx_proc *me = own_place(r);

	if (!me || me->kind != SPX_COMPUTE)
		return false;
	r->made_here = !spx_view_into(spx_view_of(r->x), me->cluster);
	if (!r->made_here)
		return spx_begin(r->x, f, spxrun_now_ns());
	*f = (struct spx_frame){.origin = SPX_ROLE(me->cluster, me->rank), .from = SPX_NONE};
	return spx_next(r->x, &f->number, &f->again);
}

enum spxrun_got
spxrun_begin(struct spxrun *r, struct spx_frame *f, int64_t wait_ms)
{
	struct deadline d = deadline_in(wait_ms);
	enum spxrun_got got = SPXRUN_NONE;

	pthread_mutex_lock(&r->lock);
	/* Events are for the program to hear, also while it waits. */
	uint32_t heard = r->events;
	take_program_turn(r);
	do {
		if (look_for_frame(r, f))
			got = SPXRUN_FRAME;
		else if (r->over)
			got = SPXRUN_OVER;
	} while (got == SPXRUN_NONE && r->events == heard && wait_news(r, &d));
	r->in_frame = got == SPXRUN_FRAME;
	if (got == SPXRUN_FRAME)
		take_program_turn(r);
	pthread_mutex_unlock(&r->lock);
	return got;
}

bool
spxrun_end(struct spxrun *r, const struct spx_frame *f, const void *bytes, size_t len,
	   char why[SPX_TEXT_MAX])
{
	uint64_t now = spxrun_now_ns();
	bool ok = true;

	pthread_mutex_lock(&r->lock);
	const struct spx_proc *me = own_place(r);
	bool ends = me && !spx_view_out_of(spx_view_of(r->x), me->cluster);
	if (len > r->conf.frame_max)
		ok = spx_say(why,
			     "frame %llu has %zu bytes, but %u are allowed: give the manager a "
			     "larger frame_max",
			     (unsigned long long)f->number, len, r->conf.frame_max);
	if (ok && r->made_here && !spx_put(r->x, f->origin, f->number, bytes, len, now))
		ok = spx_say(why, "frame %llu cannot be put: it is not this process' to make",
			     (unsigned long long)f->number);
	if (ok && !r->made_here && bytes && !ends &&
	    !spx_put(r->x, f->origin, f->number, bytes, len, now))
		ok = spx_say(why, "frame %llu of rank %u cannot be put: no memory",
			     (unsigned long long)f->number, f->origin & 0xffff);
	if (ok && !r->made_here && !spx_finish(r->x, f->origin, f->number, now))
		ok = spx_say(why, "frame %llu of rank %u is not begun here",
			     (unsigned long long)f->number, f->origin & 0xffff);
	r->in_frame = r->in_frame && !ok;
	take_program_turn(r);
	pthread_mutex_unlock(&r->lock);
	return ok;
}

void
spxrun_abandon(struct spxrun *r, const struct spx_frame *f)
{
	pthread_mutex_lock(&r->lock);
	if (!r->made_here)
		(void)spx_abandon(r->x, f->origin, f->number, spxrun_now_ns());
	r->in_frame = false;
	take_program_turn(r);
	pthread_mutex_unlock(&r->lock);
}

size_t
spxrun_frame_max(const struct spxrun *r)
{
	return r->conf.frame_max;
}

enum spx_in_flight
spxrun_in_flight(const struct spxrun *r)
{
	return r->conf.in_flight;
}

/* ---- the rest ---- */

bool
spxrun_chain(struct spxrun *r, const char *ops, char why[SPX_TEXT_MAX])
{
	struct deadline d = deadline_in(-1);
	size_t len = strlen(ops);
	struct spx_feed f = {.type = SPX_FEED_CHAIN_OPS, .text = {ops, (uint32_t)len}};
	bool ok = len < SPX_FEED_TEXT;

	if (!ok)
		return spx_say(why, "a text of %zu bytes changes chains: at most %u at a time", len,
			       SPX_FEED_TEXT - 1);
	pthread_mutex_lock(&r->lock);
	f.number = ++r->asked;
	ok = !r->over && spxrun_tell(r, &f);
	while (ok && !r->over && r->answered != f.number)
		(void)wait_news(r, &d);
	if (!ok || r->answered != f.number)
		ok = spx_say(why, "all is over: %s", r->why_over);
	else if (!r->answer_ok)
		ok = spx_say(why, "%s", r->answer);
	pthread_mutex_unlock(&r->lock);
	return ok;
}

void
spxrun_policy(struct spxrun *r, spx_pick_fn *pick, void *user)
{
	pthread_mutex_lock(&r->lock);
	r->pick = pick;
	r->pick_user = user;
	pthread_mutex_unlock(&r->lock);
}

bool
spxrun_event(struct spxrun *r, struct spxrun_event *e)
{
	pthread_mutex_lock(&r->lock);
	bool any = r->events > 0;
	if (any) {
		*e = r->event[r->event_first++ % SPXRUN_EVENTS];
		e->e.text = NULL;
		r->events--;
	}
	pthread_mutex_unlock(&r->lock);
	return any;
}

void
spxrun_alive(struct spxrun *r)
{
	const struct spx_feed f = {.type = SPX_FEED_ALIVE};

	pthread_mutex_lock(&r->lock);
	(void)spxrun_tell(r, &f);
	pthread_mutex_unlock(&r->lock);
}

const char *
spxrun_over(struct spxrun *r)
{
	pthread_mutex_lock(&r->lock);
	const char *why = r->over ? r->why_over : NULL;
	pthread_mutex_unlock(&r->lock);
	return why;
}

void
spxrun_counters(struct spxrun *r, struct spx_counts *spx, struct spxrun_counts *own)
{
	pthread_mutex_lock(&r->lock);
	*spx = *spx_counters(r->x);
	*own = r->count;
	pthread_mutex_unlock(&r->lock);
}

bool
spxrun_finish(struct spxrun *r, int64_t wait_ms, char why[SPX_TEXT_MAX])
{
	const struct spx_feed done = {.type = SPX_FEED_DONE};
	struct deadline d = deadline_in(wait_ms);
	bool ok = true, told = false;

	pthread_mutex_lock(&r->lock);
	while (!r->over) {
		if (!told && !spx_busy(r->x))
			told = spxrun_tell(r, &done);
		if (!wait_news(r, &d))
			break;
	}
	if (!r->over)
		ok = spx_say(why, "%u frames are not committed, in that time", spx_busy(r->x));
	else if (r->why_over[0])
		ok = spx_say(why, "%s, with %u frames not committed", r->why_over, spx_busy(r->x));
	pthread_mutex_unlock(&r->lock);
	return ok;
}
