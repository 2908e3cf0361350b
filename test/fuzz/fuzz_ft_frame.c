/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of lib/ft: bytes from anybody, to a process in the midst of agreements and revocations.
 * Two of the others are of another job.  Input: records of a choice, a sender, a length and so many
 * bytes. */
#include "ft/ft.h"

#include "base/assert.h"

#include <stdlib.h>

enum { OWN = 3, SIZE = 5, ME = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *
get(void *user, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

static void
put(void *user, void *p)
{
	(void)user;
	free(p);
}

static void
send_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	(void)user, (void)frame;
	BASE_ASSERT(to < SIZE && to != ME && len > 0);
}

static void
on_rank(void *user, uint32_t rank)
{
	(void)user;
	BASE_ASSERT(rank < SIZE);
}

static void
on_context(void *user, uint64_t ctx)
{
	(void)user, (void)ctx;
}

static void
on_agreed(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r)
{
	uint32_t *ended = user;

	(void)ctx, (void)seq;
	BASE_ASSERT(r->n == SIZE);
	++*ended;
}

static struct ft_name
put_name(void *user, uint32_t rank)
{
	(void)user;
	return rank < OWN ? (struct ft_name){7, rank} : (struct ft_name){1, rank - OWN};
}

static uint32_t
match_name(void *user, struct ft_name name)
{
	(void)user;
	if (name.job == 7 && name.number < OWN)
		return name.number;
	return name.job == 1 && name.number < SIZE - OWN ? OWN + name.number : UINT32_MAX;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ft_ops ops = {send_frame, on_rank,	on_context,
					  on_agreed,  put_name, match_name};
	static const uint32_t all[SIZE] = {3, 4, 0, 1, 2}; /* by names */
	uint32_t ended = 0, begun = 0;
	struct ft_memory memory = {.get = get, .put = put};
	struct ft *f = ft_new(ME, OWN, &ops, &ended, &memory);
	const char *what;

	ft_grow(f, SIZE);
	ft_join(f, 9, all, SIZE);
	while (size >= 3) {
		uint32_t choice = data[0] % 8, from = data[1] % (SIZE + 1);
		size_t len = data[2] < size - 3 ? data[2] : size - 3;
		struct ft_offer o = {.and_of = {data[1], data[2]}, .max_of = data[2]};
		if (choice == 0 && begun < 20) {
			begun++;
			ft_agree(f, data[1] % 2, all, SIZE, &o);
		} else if (choice == 1 && from != ME && from < SIZE) {
			ft_failed(f, from);
		} else if (choice == 2) {
			ft_revoke(f, data[1], all, SIZE);
		} else {
			(void)ft_on_frame(f, from, data + 3, len);
		}
		BASE_ASSERT(ft_check(f, &what));
		data += 3 + len;
		size -= 3 + len;
	}
	BASE_ASSERT(ended <= begun);
	ft_free(f);
	return 0;
}
