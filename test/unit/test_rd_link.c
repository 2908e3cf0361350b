/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of the control thread over a pair of sockets: sealed, plain, of two kinds of mind. */
#include "link.h"
#include "sock.h"

#include "cmocka_all.h"
#include "../toy_aead.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rd_loop loop;

/* What link.c wants of the rest of relayd. */
int
rd_watch_add(struct rd_loop *l, struct rd_watch *w, int fd, uint32_t events)
{
	(void)l;
	w->fd = fd;
	w->events = events;
	return 0;
}

void
rd_watch_events(struct rd_loop *l, struct rd_watch *w, uint32_t events)
{
	(void)l;
	w->events = events;
}

void
rd_watch_close(struct rd_loop *l, struct rd_watch *w)
{
	(void)l;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

int
rd_sock_error(int fd)
{
	(void)fd;
	return 0;
}

/* Frames: u8 length of the rest, bytes; in_max 256. */
struct end {
	struct rd_link l;
	uint32_t ups, downs, frames, pings;
	char why[SEAL_TEXT];
	uint8_t last;
};

static long
take(struct rd_link *l, const uint8_t *in, size_t len, size_t *need)
{
	struct end *e = l->owner;
	if (len)
		*need = 1u + in[0];
	if (!len || len < *need)
		return 0;
	if (in[0] == 0)
		return -1;
	e->frames++;
	e->last = in[1];
	return (long)*need;
}

static void
up(struct rd_link *l)
{
	((struct end *)l->owner)->ups++;
}

static void
down(struct rd_link *l, const char *why)
{
	struct end *e = l->owner;
	e->downs++;
	snprintf(e->why, sizeof e->why, "%s", why);
}

static void
ping(struct rd_link *l)
{
	((struct end *)l->owner)->pings++;
}

static const struct rd_link_kind kind = {.in_max = 256,
					 .out_max = 1 << 20,
					 .ping_ns = 1000,
					 .dead_ns = 3000,
					 .take = take,
					 .up = up,
					 .down = down,
					 .ping = ping};

static struct seal_link_conf
keys(uint8_t fill)
{
	struct seal_link_conf k = {
		.crypto = toy_aead(), .purpose = "test", .nkeys = 1, .key[0].id = 1};
	memset(k.key[0].secret, fill, sizeof k.key[0].secret);
	return k;
}

static void
pump(struct end *a, struct end *b)
{
	for (int i = 0; i < 20; i++) {
		struct end *both[] = {a, b};
		for (int k = 0; k < 2; k++)
			if (rd_link_open(&both[k]->l) && both[k]->l.watch.events)
				both[k]->l.watch.fn(&both[k]->l.watch, both[k]->l.watch.events);
	}
}

static void
connect_two(struct end *a, const struct seal_link_conf *ka, struct end *b,
	    const struct seal_link_conf *kb)
{
	int fd[2];
	loop.now_ns = 1000000;
	memset(a, 0, sizeof *a);
	memset(b, 0, sizeof *b);
	rd_link_init(&a->l, &loop, &kind, ka, a);
	rd_link_init(&b->l, &loop, &kind, kb, b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_true(rd_link_adopt(&a->l, fd[0], true));
	assert_true(rd_link_adopt(&b->l, fd[1], false));
	pump(a, b);
}

static void
fini_two(struct end *a, struct end *b)
{
	rd_link_fini(&a->l);
	rd_link_fini(&b->l);
}

static void
frames_go_both_ways(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		struct seal_link_conf k = keys(7);
		struct end a, b;
		connect_two(&a, sealed ? &k : NULL, &b, sealed ? &k : NULL);
		assert_true(a.ups == 1 && b.ups == 1 && !a.downs && !b.downs);
		uint8_t big[256] = {255, 42};
		for (uint32_t i = 1; i <= 100; i++) {
			assert_true(rd_link_send(&a.l, big, sizeof big));
			assert_true(rd_link_send(&b.l, "\1x", 2));
		}
		pump(&a, &b);
		assert_int_equal(b.frames, 100);
		assert_int_equal(b.last, 42);
		assert_int_equal(a.frames, 100);
		/* Held: nothing is handled, and all of it when it is released. */
		rd_link_hold(&b.l);
		assert_true(rd_link_send(&a.l, "\1y", 2));
		pump(&a, &b);
		assert_int_equal(b.frames, 100);
		rd_link_release(&b.l);
		pump(&a, &b);
		assert_int_equal(b.frames, 101);
		/* Silence. */
		loop.now_ns += 1000;
		rd_link_tick(&a.l);
		assert_int_equal(a.pings, 1);
		loop.now_ns += 2001;
		rd_link_tick(&a.l);
		assert_string_equal(a.why, "silent for 3 s");
		pump(&a, &b);
		assert_string_equal(b.why, "it closed the connection");
		assert_false(rd_link_send(&b.l, "\1x", 2));
		fini_two(&a, &b);
	}
}

static void
who_has_no_key_is_not_up(void **state)
{
	(void)state;
	struct seal_link_conf good = keys(7), other = keys(8);
	struct end a, b;
	connect_two(&a, &other, &b, &good);
	assert_true(!a.ups && !b.ups && b.downs == 1);
	assert_true(strlen(b.why) > 10);
	fini_two(&a, &b);
	/* Not sealed at all: what it says is not handled. */
	connect_two(&a, NULL, &b, &good);
	assert_true(rd_link_send(&a.l, "\1x\1x\1x\1x\1x\1x\1x", 14));
	pump(&a, &b);
	assert_true(!b.ups && !b.frames && b.downs == 1);
	fini_two(&a, &b);
	/* Silent: it has 3 s, whatever it is that listens. */
	connect_two(&a, NULL, &b, &good);
	loop.now_ns += 3001;
	rd_link_tick(&b.l);
	assert_string_equal(b.why, "it has not shown that it has the key");
	fini_two(&a, &b);
}

/* A greeting that was recorded opens nothing: who sends it again cannot answer the answer. */
static void
a_recorded_greeting_is_not_up(void **state)
{
	(void)state;
	struct seal_link_conf k = keys(7);
	uint8_t greeting[SEAL_LINK_GREETING];
	struct end a = {0}, b = {0};
	int fd[2];
	loop.now_ns = 1000000;
	rd_link_init(&a.l, &loop, &kind, &k, &a);
	rd_link_init(&b.l, &loop, &kind, &k, &b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_true(rd_link_adopt(&a.l, fd[0], true));
	pump(&a, &b);
	ssize_t n = recv(fd[1], greeting, sizeof greeting, 0);
	assert_true(n > 32);
	close(fd[1]);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_true(rd_link_adopt(&b.l, fd[1], false));
	assert_int_equal(send(fd[0], greeting, 1, 0), 1);
	pump(&b, &b);
	assert_true(!b.ups && !b.downs);
	assert_int_equal(send(fd[0], greeting + 1, (size_t)n - 1, 0), n - 1);
	pump(&b, &b);
	assert_true(!b.ups && !b.downs);
	loop.now_ns += 3001;
	rd_link_tick(&b.l);
	assert_string_equal(b.why, "it has not shown that it has the key");
	close(fd[0]);
	fini_two(&a, &b);
}

static void
nonsense_and_floods_end_it(void **state)
{
	(void)state;
	struct seal_link_conf k = keys(7);
	struct end a, b;
	connect_two(&a, &k, &b, &k);
	assert_true(rd_link_send(&a.l, "\0", 1));
	pump(&a, &b);
	assert_string_equal(b.why, "it sent a malformed frame");
	fini_two(&a, &b);
	/* It takes nothing: what waits is bounded, and the tick hangs up. */
	connect_two(&a, &k, &b, &k);
	uint8_t big[256] = {255};
	uint32_t n = 0;
	while (rd_link_send(&a.l, big, sizeof big) && n < 100000)
		n++;
	assert_in_range(n, 1000, 99999);
	rd_link_tick(&a.l);
	assert_string_equal(a.why, "it takes nothing any more");
	fini_two(&a, &b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_go_both_ways),
		cmocka_unit_test(who_has_no_key_is_not_up),
		cmocka_unit_test(a_recorded_greeting_is_not_up),
		cmocka_unit_test(nonsense_and_floods_end_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
