/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks over lanes that break, as mmp/link.h says. */
#include "mmp/link.h"

#include "canary.h"

static void
begin_turn(struct mmp_link *l, uint32_t turn)
{
	l->turn = turn;
	l->began = false;
	l->given = l->acked + (MMP_BUG(FORGOTTEN) && l->put - l->acked > 1);
}

bool
mmp_link_open(struct mmp_link *l)
{
	if (l->turn - l->heard >= MMP_LINK_AHEAD)
		return false;
	begin_turn(l, l->turn + 1);
	return true;
}

bool
mmp_link_follow(struct mmp_link *l, uint32_t slot)
{
	uint32_t ahead = (slot - l->turn) % MMP_LINK_SLOTS;
	if (!ahead || ahead > MMP_LINK_AHEAD)
		return false;
	begin_turn(l, l->turn + ahead);
	return true;
}

/* ---- sending ---- */

static struct mmp_link_block *
block_at(struct mmp_link *l, uint64_t number)
{
	return &l->block[number % MMP_LINK_BLOCKS];
}

bool
mmp_link_put(struct mmp_link *l, const struct mmp_head *h, const void *data, uint32_t name)
{
	if (l->put - l->acked == MMP_LINK_BLOCKS)
		return false;
	*block_at(l, l->put++) = (struct mmp_link_block){.head = *h, .data = data, .name = name};
	return true;
}

bool
mmp_link_next(const struct mmp_link *l, struct mmp_link_block *out)
{
	if (!l->began) {
		*out = (struct mmp_link_block){
			.head = {.kind = MMP_FIRST, .offset = l->acked},
		};
		return true;
	}
	if (l->given == l->put)
		return false;
	*out = l->block[l->given % MMP_LINK_BLOCKS];
	return true;
}

void
mmp_link_gave(struct mmp_link *l)
{
	if (!l->began) {
		l->began = true;
		return;
	}
	l->again += l->given < l->top;
	l->given++;
	l->top = l->given > l->top ? l->given : l->top;
}

bool
mmp_link_acked(struct mmp_link *l, uint64_t number, uint32_t *name)
{
	if (l->acked > number || l->acked == l->put)
		return false;
	*name = block_at(l, l->acked++)->name;
	l->given = l->given > l->acked ? l->given : l->acked;
	return true;
}

/* ---- receiving ---- */

static uint64_t *
word_of(struct mmp_link *l, uint64_t number)
{
	return &l->here[number % MMP_LINK_BLOCKS / 64];
}

static uint64_t
bit_of(uint64_t number)
{
	return 1ull << number % 64;
}

static bool
came_before(const struct mmp_link *l, uint64_t number)
{
	return number < l->have || l->here[number % MMP_LINK_BLOCKS / 64] & bit_of(number);
}

bool
mmp_link_first(struct mmp_link *l, uint64_t number)
{
	/* What was acknowledged is here, and no more than a ring of it is sent again. */
	if (mmp_link_is_heard(l) || number > l->have || l->have - number > MMP_LINK_BLOCKS)
		return false;
	l->heard = l->turn;
	l->next = number;
	return true;
}

bool
mmp_link_is_here(const struct mmp_link *l)
{
	return mmp_link_is_heard(l) && came_before(l, l->next) && !MMP_BUG(TWICE);
}

enum mmp_link_is
mmp_link_begin(struct mmp_link *l, uint64_t *number)
{
	if (!mmp_link_is_heard(l) || l->next >= l->have + MMP_LINK_BLOCKS)
		return MMP_LINK_BAD;
	*number = l->next++;
	if (!came_before(l, *number) || MMP_BUG(TWICE))
		return MMP_LINK_NEW;
	l->dropped++;
	return MMP_LINK_HERE;
}

void
mmp_link_end(struct mmp_link *l, uint64_t number)
{
	*word_of(l, number) |= bit_of(number);
	while (*word_of(l, l->have) & bit_of(l->have)) {
		*word_of(l, l->have) &= ~bit_of(l->have);
		l->have++;
	}
}
