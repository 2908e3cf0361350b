/* SPDX-License-Identifier: BSD-2-Clause */
/* What daemons have agreed on, as a view of lib/spx. */
#include "spx/agreed.h"

#include <stdio.h>
#include <string.h>

#define IS_CHAIN UINT32_C(0x80000000)

/* ---- facts ---- */

static struct sp_fact
fact_of_chain(const struct spx_chain *c)
{
	return (struct sp_fact){IS_CHAIN | (uint32_t)c->from << 16 | c->to,
				(uint32_t)c->state | (uint32_t)c->ordered << 2 |
					(uint32_t)c->policy << 3 | (uint32_t)c->on_lost << 6 |
					(uint32_t)c->window << 16};
}

static struct spx_chain
chain_of_fact(struct sp_fact f)
{
	return (struct spx_chain){.from = (uint16_t)((f.a & ~IS_CHAIN) >> 16),
				  .to = (uint16_t)f.a,
				  .state = (enum spx_chain_state)(f.b & 3),
				  .ordered = f.b >> 2 & 1,
				  .policy = (enum spx_policy)(f.b >> 3 & 7),
				  .on_lost = (enum spx_on_lost)(f.b >> 6 & 3),
				  .window = (uint16_t)(f.b >> 16)};
}

void
spx_agreed_facts(const struct spx_chain *chain, uint32_t n, struct sp_fact *fact)
{
	for (uint32_t i = 0; i < n; i++)
		fact[SPX_FACT_CHAIN + i] = fact_of_chain(&chain[i]);
}

static uint64_t
started_of(const struct sp_view *v)
{
	const struct sp_fact *f = &v->fact[SPX_FACT_STARTED];

	return (uint64_t)f->a << 32 | f->b;
}

/* ---- a view of lib/spx ---- */

static void
read_chain_facts(const struct sp_view *v, struct spx_view *x)
{
	x->nchain = 0;
	for (uint32_t i = 0; i < SPX_CHAINS_MAX && v->fact[SPX_FACT_CHAIN + i].a; i++)
		x->chain[x->nchain++] = chain_of_fact(v->fact[SPX_FACT_CHAIN + i]);
}

/* Chains that an I/O process serves, whatever their state: from its beginning to its end. */
static uint64_t
chains_of_part(const struct spx_view *x, const struct spx_role *r)
{
	uint64_t bits = 0;

	if (r->part == SPX_PART_CHAIN)
		return SPX_CHAIN_BIT(r->index);
	for (uint32_t c = 0; c < x->nchain; c++)
		if ((r->part == SPX_PART_BEFORE ? x->chain[c].to : x->chain[c].from) == r->cluster)
			bits |= SPX_CHAIN_BIT(c);
	return bits;
}

static void
fill_spx_proc(const struct spx_agreed *a, const struct sp_view *v, uint32_t s,
	      const struct spx_view *x, struct spx_proc *p)
{
	const struct sp_slot *of = &v->slot[s];
	const struct spx_role *r = &a->role[of->role];

	*p = (struct spx_proc){.id = spx_id_of_slot(a, s),
			       .cluster = r->cluster,
			       .kind = r->part == SPX_PART_RANK ? SPX_COMPUTE : SPX_IO,
			       .state = of->state == SP_SLOT_DEAD ? SPX_DEAD : SPX_ALIVE,
			       .ready = of->ready};
	if (p->kind == SPX_COMPUTE) {
		p->rank = r->index;
		p->takeovers = a->played[of->role];
	} else {
		p->chains = chains_of_part(x, r);
	}
	a->played[of->role]++;
}

void
spx_agreed_view(const struct spx_agreed *a, const struct sp_view *v, uint64_t lost,
		struct spx_view *x)
{
	uint64_t started = started_of(v);

	x->number = v->number;
	read_chain_facts(v, x);
	x->ncluster = a->clusters;
	for (uint32_t k = 0; k < a->clusters; k++) {
		struct spx_cluster *to = &x->cluster[k];
		*to = (struct spx_cluster){.compute = a->cluster[k].compute,
					   .started = started >> k & 1,
					   .lost = (started & lost) >> k & 1};
		snprintf(to->name, sizeof to->name, "%s", a->cluster[k].name);
	}
	x->nproc = 0;
	memset(a->played, 0, v->l.roles * sizeof *a->played);
	for (uint32_t s = a->first; s < v->slots; s++)
		if (v->slot[s].role != SP_NONE)
			fill_spx_proc(a, v, s, x, &x->proc[x->nproc++]);
}

/* ---- what is asked for ---- */

bool
spx_agreed_ask(struct sp_node *n, struct spx_view *x, const char *ops, size_t len, char *why,
	       uint64_t now_ns)
{
	uint64_t given_up;

	if (sp_node_asks(n, &given_up))
		return spx_say(why, "another change is under way; ask again");
	if (!spx_chain_ops(x, x->chain, &x->nchain, ops, len, why))
		return false;
	for (uint32_t i = 0; i < x->nchain; i++) {
		struct sp_fact f = fact_of_chain(&x->chain[i]);
		const struct sp_fact *is = &sp_node_view(n)->fact[SPX_FACT_CHAIN + i];
		if (f.a != is->a || f.b != is->b)
			(void)sp_node_ask(n, SP_OP_FACT, (uint8_t)(SPX_FACT_CHAIN + i), f.a, f.b,
					  now_ns);
	}
	return true;
}

uint64_t
spx_agreed_complete(const struct spx_view *x)
{
	uint64_t bits = 0;
	char why[SPX_TEXT_MAX];

	for (uint32_t k = 0; k < x->ncluster; k++)
		if (!x->cluster[k].started &&
		    (spx_view_into(x, (uint16_t)k) | spx_view_out_of(x, (uint16_t)k)) &&
		    spx_view_complete(x, (uint16_t)k, why))
			bits |= UINT64_C(1) << k;
	return bits;
}

void
spx_agreed_start(struct sp_node *n, uint64_t bits, uint64_t now_ns)
{
	uint64_t is = started_of(sp_node_view(n)) | bits;

	(void)sp_node_ask(n, SP_OP_FACT, SPX_FACT_STARTED, (uint32_t)(is >> 32), (uint32_t)is,
			  now_ns);
}

bool
spx_agreed_done(const struct spx_agreed *a, const struct sp_view *v, const struct spx_view *x,
		const bool *left)
{
	bool any = false;

	for (uint32_t r = 0; r < v->l.roles; r++) {
		const struct spx_role *of = &a->role[r];
		if (of->part != SPX_PART_RANK || spx_view_into(x, of->cluster) ||
		    !spx_view_out_of(x, of->cluster))
			continue;
		any = true;
		if (v->role[r] == SP_NONE || !left[v->role[r]])
			return false;
	}
	return any;
}

void
spx_agreed_name(const struct spx_agreed *a, uint32_t role, char *text)
{
	const struct spx_role *r = &a->role[role];
	const char *name = r->part == SPX_PART_NONE ? "" : a->cluster[r->cluster].name;

	if (r->part == SPX_PART_RANK)
		snprintf(text, SPX_TEXT_MAX, "rank %u of %s", r->index, name);
	else if (r->part == SPX_PART_BEFORE || r->part == SPX_PART_BEHIND)
		snprintf(text, SPX_TEXT_MAX, "I/O process %u %s %s", r->index,
			 r->part == SPX_PART_BEFORE ? "before" : "behind", name);
	else if (r->part == SPX_PART_CHAIN)
		snprintf(text, SPX_TEXT_MAX, "I/O process behind %s", name);
	else
		snprintf(text, SPX_TEXT_MAX, "role %u", role);
}
