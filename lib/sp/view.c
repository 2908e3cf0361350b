/* SPDX-License-Identifier: BSD-2-Clause */
/* Views, and changes of them.
 *
 * A view as bytes, big-endian:
 *   u8 version, u8 over, u16 units, u32 roles, u32 slots, u32 epoch, u64 number, u64 clock,
 *   u32 faults, u64 fault[SP_FAULTS_MAX], u64 off, u32 role[roles],
 *   slots of {u32 role, u32 token, u16 unit, u8 state, u8 why, u8 pool, u8 ready},
 *   units of {u32 incarnation, u8 down}, facts of {u32 a, u32 b}
 * A change:
 *   u8 version, u8 0, u16 n, u64 base, u64 term, u32 proposer, u32 elapsed ms,
 *   n of {u8 kind, u8 why, u16 0, u32 a, u32 b} */
#include "internal.h"

#include "canary.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

#define VERSION	    0x52
#define SLOT_BYTES  14u
#define UNIT_BYTES  5u
#define FACT_BYTES  8u
#define VIEW_HEAD   (44u + 8u * SP_FAULTS_MAX)
#define ROLE_GONE   (SP_NONE - 1) /* in place of its slot */
#define ELAPSED_MAX (24u * 3600u * 1000u)

#ifdef SUCI_CANARY
enum sp_bug sp_canary;
#define SPILL 64u /* the bug that goes beyond the bound is to be found by a check */
#else
#define SPILL 0u
#endif

static const char *const texts[] = {
#define X(id, text) text,
	SP_WHYS(X)
#undef X
};

const char *
sp_why_text(unsigned why)
{
	return why < SP_WHY_COUNT ? texts[why] : "?";
}

static size_t
lay_out_view(const struct sp_limits *l, void *mem, struct sp_view *v)
{
	struct base_arena a = base_arena(mem);

	base_arena_take(&a, 1, sizeof *v);
	v->role = base_arena_take(&a, l->roles, sizeof *v->role);
	v->gone = base_arena_take(&a, l->roles, sizeof *v->gone);
	v->slot = base_arena_take(&a, l->slots_max + SPILL, sizeof *v->slot);
	v->unit = base_arena_take(&a, l->units, sizeof *v->unit);
	v->fact = base_arena_take(&a, l->facts, sizeof *v->fact);
	return base_arena_bytes(&a);
}

size_t
sp_view_footprint(const struct sp_limits *l)
{
	struct sp_view counting;

	return lay_out_view(l, NULL, &counting);
}

struct sp_view *
sp_view_new(const struct sp_limits *l, void *mem)
{
	struct sp_view *v = mem;

	BASE_ASSERT(l->roles >= 1 && l->roles <= SP_ROLES_MAX && l->slots_max >= l->roles &&
		    l->slots_max <= SP_SLOTS_MAX && l->units >= 1 && l->units <= SP_UNITS_MAX &&
		    l->facts <= SP_FACTS_MAX);
	memset(mem, 0, sp_view_footprint(l));
	lay_out_view(l, mem, v);
	v->l = *l;
	for (uint32_t r = 0; r < l->roles; r++)
		v->role[r] = SP_NONE;
	return v;
}

void
sp_view_begin(struct sp_view *v, const uint16_t *unit_of, uint32_t n)
{
	BASE_ASSERT(v->number == 0 && n >= v->l.roles && n <= v->l.slots_max);
	for (uint32_t s = 0; s < n; s++) {
		bool spare = s >= v->l.roles;
		BASE_ASSERT(unit_of[s] < v->l.units);
		v->slot[s] = (struct sp_slot){.role = spare ? SP_NONE : s,
					      .token = s,
					      .unit = unit_of[s],
					      .state = spare ? SP_SLOT_SPARE : SP_SLOT_ROLE};
		if (!spare)
			v->role[s] = s;
	}
	v->slots = n;
	v->number = 1;
}

void
sp_view_begin_pools(struct sp_view *v, const uint8_t *pool_of, uint64_t off,
		    const struct sp_fact *fact)
{
	BASE_ASSERT(v->number == 1);
	v->off = off;
	for (uint32_t s = 0; s < v->slots && pool_of; s++) {
		struct sp_slot *of = &v->slot[s];
		BASE_ASSERT(pool_of[s] < SP_POOLS_MAX);
		of->pool = pool_of[s];
		if (!(off >> of->pool & 1))
			continue;
		if (of->role != SP_NONE)
			v->role[of->role] = SP_NONE;
		of->role = SP_NONE;
		of->state = SP_SLOT_DEAD;
		of->why = SP_WHY_OPERATOR;
	}
	if (v->l.facts)
		memcpy(v->fact, fact, v->l.facts * sizeof *fact);
}

void
sp_view_copy(struct sp_view *to, const struct sp_view *from)
{
	struct sp_view at = *to;

	*to = *from;
	to->role = at.role;
	to->gone = at.gone;
	to->slot = at.slot;
	to->unit = at.unit;
	to->fact = at.fact;
	memcpy(to->role, from->role, from->l.roles * sizeof *to->role);
	memcpy(to->gone, from->gone, from->l.roles * sizeof *to->gone);
	memcpy(to->slot, from->slot, from->slots * sizeof *to->slot);
	memcpy(to->unit, from->unit, from->l.units * sizeof *to->unit);
	if (from->l.facts)
		memcpy(to->fact, from->fact, from->l.facts * sizeof *to->fact);
}

static bool
check_slot(const struct sp_view *v, uint32_t s)
{
	const struct sp_slot *p = &v->slot[s];

	if (p->unit >= v->l.units || p->state > SP_SLOT_DEAD || p->why >= SP_WHY_COUNT ||
	    p->pool >= SP_POOLS_MAX)
		return false;
	if (p->state == SP_SLOT_ROLE)
		return p->role < v->l.roles && v->role[p->role] == s && p->why == SP_WHY_NONE;
	return p->role == SP_NONE || (p->state == SP_SLOT_DEAD && p->role < v->l.roles);
}

bool
sp_view_check(const struct sp_view *v, const char **what)
{
	*what = "a role is played by who does not play it";
	for (uint32_t r = 0; r < v->l.roles; r++)
		if (v->role[r] != SP_NONE &&
		    (v->role[r] >= v->slots || v->slot[v->role[r]].state != SP_SLOT_ROLE ||
		     v->slot[v->role[r]].role != r))
			return false;
	*what = "a role is played and gone";
	for (uint32_t r = 0; r < v->l.roles; r++)
		if (v->role[r] != SP_NONE && v->gone[r])
			return false;
	*what = "a role is played by a slot of another pool";
	for (uint32_t r = 0; r < v->l.roles; r++)
		if (v->role[r] != SP_NONE && v->slot[v->role[r]].pool != sp_role_pool(v, r))
			return false;
	*what = "more slots than the table holds";
	if (v->slots > v->l.slots_max)
		return false;
	*what = "a slot is not what its role says";
	for (uint32_t s = 0; s < v->slots; s++)
		if (!check_slot(v, s))
			return false;
	*what = "a slot lives on a unit that is down";
	for (uint32_t s = 0; s < v->slots; s++)
		if (sp_slot_lives(v, s) && v->unit[v->slot[s].unit].down)
			return false;
	*what = "a slot of a pool that is off lives";
	for (uint32_t s = 0; s < v->slots; s++)
		if (sp_slot_lives(v, s) && (v->off >> v->slot[s].pool & 1))
			return false;
	return true;
}

uint64_t
sp_view_hash(const struct sp_view *v)
{
	uint64_t h = 0xcbf29ce484222325ull;
#define MIX(x) h = (h ^ (x)) * 0x100000001b3ull
	MIX(v->number);
	MIX(v->epoch);
	MIX(v->over);
	MIX(v->clock_ms);
	for (uint32_t r = 0; r < v->l.roles; r++)
		MIX((uint64_t)v->gone[r] << 32 | v->role[r]);
	for (uint32_t s = 0; s < v->slots; s++) {
		MIX(v->slot[s].role);
		MIX((uint64_t)v->slot[s].token << 32 | (uint64_t)v->slot[s].unit << 16 |
		    (uint64_t)v->slot[s].state << 8 | v->slot[s].why);
		MIX((uint64_t)v->slot[s].pool << 1 | v->slot[s].ready);
	}
	MIX(v->off);
	for (uint32_t i = 0; i < v->l.facts; i++)
		MIX((uint64_t)v->fact[i].a << 32 | v->fact[i].b);
	for (uint32_t u = 0; u < v->l.units; u++)
		MIX((uint64_t)v->unit[u].incarnation << 1 | v->unit[u].down);
#undef MIX
	return h;
}

/* --- as bytes -------------------------------------------------------------- */

size_t
sp_view_write(const struct sp_view *v, void *bytes, size_t room)
{
	size_t len = VIEW_HEAD + 4 * (size_t)v->l.roles + SLOT_BYTES * (size_t)v->slots +
		     UNIT_BYTES * (size_t)v->l.units + FACT_BYTES * (size_t)v->l.facts;

	if (room < len)
		return len;
	struct base_writer w = base_writer(bytes, len);
	base_write_u8(&w, VERSION);
	base_write_u8(&w, v->over);
	base_write_be16(&w, (uint16_t)v->l.units);
	base_write_be32(&w, v->l.roles);
	base_write_be32(&w, v->slots);
	base_write_be32(&w, v->epoch);
	base_write_be64(&w, v->number);
	base_write_be64(&w, v->clock_ms);
	base_write_be32(&w, v->faults);
	for (uint32_t i = 0; i < SP_FAULTS_MAX; i++)
		base_write_be64(&w, v->fault_ms[i]);
	base_write_be64(&w, v->off);
	for (uint32_t r = 0; r < v->l.roles; r++)
		base_write_be32(&w, v->gone[r] ? ROLE_GONE : v->role[r]);
	for (uint32_t s = 0; s < v->slots; s++) {
		base_write_be32(&w, v->slot[s].role);
		base_write_be32(&w, v->slot[s].token);
		base_write_be16(&w, v->slot[s].unit);
		base_write_u8(&w, v->slot[s].state);
		base_write_u8(&w, v->slot[s].why);
		base_write_u8(&w, v->slot[s].pool);
		base_write_u8(&w, v->slot[s].ready);
	}
	for (uint32_t u = 0; u < v->l.units; u++) {
		base_write_be32(&w, v->unit[u].incarnation);
		base_write_u8(&w, v->unit[u].down);
	}
	for (uint32_t i = 0; i < v->l.facts; i++) {
		base_write_be32(&w, v->fact[i].a);
		base_write_be32(&w, v->fact[i].b);
	}
	BASE_ASSERT(base_writer_ok(&w) && base_writer_len(&w) == len);
	return len;
}

static bool
read_tables(struct sp_view *v, struct base_reader *r)
{
	for (uint32_t i = 0; i < v->l.roles; i++) {
		v->role[i] = base_read_be32(r);
		v->gone[i] = v->role[i] == ROLE_GONE;
		if (v->gone[i])
			v->role[i] = SP_NONE;
	}
	for (uint32_t s = 0; s < v->slots; s++) {
		v->slot[s].role = base_read_be32(r);
		v->slot[s].token = base_read_be32(r);
		v->slot[s].unit = base_read_be16(r);
		v->slot[s].state = base_read_u8(r);
		v->slot[s].why = base_read_u8(r);
		v->slot[s].pool = base_read_u8(r);
		uint8_t ready = base_read_u8(r);
		if (ready > 1)
			return false;
		v->slot[s].ready = ready;
	}
	for (uint32_t u = 0; u < v->l.units; u++) {
		v->unit[u].incarnation = base_read_be32(r);
		uint8_t down = base_read_u8(r);
		if (down > 1)
			return false;
		v->unit[u].down = down;
	}
	for (uint32_t i = 0; i < v->l.facts; i++) {
		v->fact[i].a = base_read_be32(r);
		v->fact[i].b = base_read_be32(r);
	}
	return base_reader_ok(r) && base_reader_left(r) == 0;
}

bool
sp_view_read(struct sp_view *v, struct sp_view *scratch, const void *bytes, size_t len)
{
	struct base_reader r = base_reader(bytes, len);
	const char *what;
	uint8_t version = base_read_u8(&r), over = base_read_u8(&r);
	uint16_t units = base_read_be16(&r);
	uint32_t roles = base_read_be32(&r), slots = base_read_be32(&r);

	if (!base_reader_ok(&r) || version != VERSION || over >= SP_WHY_COUNT ||
	    units != v->l.units || roles != v->l.roles || slots > v->l.slots_max)
		return false;
	scratch->over = over;
	scratch->slots = slots;
	scratch->epoch = base_read_be32(&r);
	scratch->number = base_read_be64(&r);
	scratch->clock_ms = base_read_be64(&r);
	scratch->faults = base_read_be32(&r);
	for (uint32_t i = 0; i < SP_FAULTS_MAX; i++)
		scratch->fault_ms[i] = base_read_be64(&r);
	scratch->off = base_read_be64(&r);
	if (!read_tables(scratch, &r) || scratch->number == 0 || !sp_view_check(scratch, &what))
		return false;
	sp_view_copy(v, scratch);
	return true;
}

void
sp_change_write(const struct sp_change *c, const struct sp_op *op, void *bytes)
{
	struct base_writer w = base_writer(bytes, sp_change_bytes(c->n));

	base_write_u8(&w, VERSION);
	base_write_u8(&w, 0);
	base_write_be16(&w, (uint16_t)c->n);
	base_write_be64(&w, c->base);
	base_write_be64(&w, c->term);
	base_write_be32(&w, c->proposer);
	base_write_be32(&w, c->elapsed_ms);
	for (uint32_t i = 0; i < c->n; i++) {
		base_write_u8(&w, op[i].kind);
		base_write_u8(&w, op[i].why);
		base_write_be16(&w, 0);
		base_write_be32(&w, op[i].a);
		base_write_be32(&w, op[i].b);
	}
	BASE_ASSERT(base_writer_ok(&w));
}

bool
sp_change_read(struct sp_change *c, const void *bytes, size_t len)
{
	struct base_reader r = base_reader(bytes, len);
	uint8_t version = base_read_u8(&r), zero = base_read_u8(&r);

	c->n = base_read_be16(&r);
	c->base = base_read_be64(&r);
	c->term = base_read_be64(&r);
	c->proposer = base_read_be32(&r);
	c->elapsed_ms = base_read_be32(&r);
	c->ops = r.at;
	return base_reader_ok(&r) && version == VERSION && zero == 0 && c->n >= 1 &&
	       c->elapsed_ms <= ELAPSED_MAX && len == sp_change_bytes(c->n);
}

struct sp_op
sp_change_op(const struct sp_change *c, uint32_t i)
{
	const uint8_t *p = c->ops + (size_t)i * SP_OP_BYTES;

	return (struct sp_op){
		.kind = p[0], .why = p[1], .a = be32_load(p + 4), .b = be32_load(p + 8)};
}

/* --- applying -------------------------------------------------------------- */

static bool
kill_slot(struct sp_view *v, const struct sp_op *o)
{
	if (!sp_slot_lives(v, o->a) || o->why == SP_WHY_NONE)
		return false;
	struct sp_slot *s = &v->slot[o->a];
	if (s->state == SP_SLOT_ROLE)
		v->role[s->role] = SP_NONE;
	s->state = SP_SLOT_DEAD;
	s->why = o->why;
	if (o->why == SP_WHY_EXIT || o->why == SP_WHY_HANG)
		v->fault_ms[v->faults++ % SP_FAULTS_MAX] = v->clock_ms;
	return true;
}

static bool
give_role(struct sp_view *v, const struct sp_op *o, bool *epoch)
{
	if (o->a >= v->l.roles || !sp_slot_lives(v, o->b) || v->role[o->a] != SP_NONE ||
	    v->gone[o->a])
		return false;
	struct sp_slot *s = &v->slot[o->b];
	if ((s->state != SP_SLOT_SPARE && !SP_BUG(DOUBLED)) || s->pool != sp_role_pool(v, o->a))
		return false;
	s->state = SP_SLOT_ROLE;
	s->role = o->a;
	v->role[o->a] = o->b;
	*epoch = true;
	return true;
}

static bool
give_up_role(struct sp_view *v, const struct sp_op *o, bool *epoch)
{
	if (o->a >= v->l.roles || v->role[o->a] != SP_NONE || v->gone[o->a])
		return false;
	v->gone[o->a] = true;
	*epoch = true;
	return true;
}

/* The slots that play roles in view 1 have their pools. */
static bool
assign_roles(struct sp_view *v, const struct sp_op *o)
{
	if (o->why >= SP_POOL_LATER || o->b == 0 || o->a >= v->l.roles || o->b > v->l.roles - o->a)
		return false;
	for (uint32_t r = o->a; r < o->a + o->b; r++)
		if ((sp_role_pool(v, r) != SP_POOL_LATER || v->role[r] != SP_NONE || v->gone[r]) &&
		    !SP_BUG(REASSIGNED))
			return false;
	for (uint32_t r = o->a; r < o->a + o->b; r++)
		v->slot[r].pool = o->why;
	return true;
}

static bool
join_slot(struct sp_view *v, const struct sp_op *o)
{
	if (o->a >= v->l.units || v->unit[o->a].down || o->why >= SP_POOLS_MAX ||
	    (v->off >> o->why & 1) || (v->slots >= v->l.slots_max && !SP_BUG(UNBOUNDED)))
		return false;
	v->slot[v->slots++] = (struct sp_slot){.role = SP_NONE,
					       .token = o->b,
					       .unit = (uint16_t)o->a,
					       .state = SP_SLOT_SPARE,
					       .pool = o->why};
	return true;
}

static bool
mark_ready(struct sp_view *v, const struct sp_op *o)
{
	if (!sp_slot_lives(v, o->a) || v->slot[o->a].ready)
		return false;
	v->slot[o->a].ready = true;
	return true;
}

static bool
turn_pool(struct sp_view *v, const struct sp_op *o)
{
	uint64_t bit = UINT64_C(1) << (o->a % SP_POOLS_MAX);
	bool off = v->off & bit;

	if (o->a >= SP_POOL_LATER || o->b > 1 || off == (o->b == 0))
		return false;
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].pool == o->a && sp_slot_lives(v, s))
			return false;
	v->off ^= bit;
	return true;
}

static bool
set_fact(struct sp_view *v, const struct sp_op *o)
{
	struct sp_fact *f = o->why < v->l.facts ? &v->fact[o->why] : NULL;

	if (!f || (f->a == o->a && f->b == o->b) || (o->kind == SP_OP_CLAIM && (f->a || f->b)))
		return false;
	*f = (struct sp_fact){o->a, o->b};
	return true;
}

static bool
has_living(const struct sp_view *v, uint32_t unit)
{
	for (uint32_t s = 0; s < v->slots; s++)
		if (v->slot[s].unit == unit && sp_slot_lives(v, s))
			return true;
	return false;
}

bool
sp_view_op(struct sp_view *v, const struct sp_op *o, bool *epoch)
{
	if (o->why >= SP_WHY_COUNT && o->kind != SP_OP_JOIN && o->kind != SP_OP_FACT &&
	    o->kind != SP_OP_CLAIM && o->kind != SP_OP_ROLES)
		return false;
	switch (o->kind) {
	case SP_OP_DEAD:
		return kill_slot(v, o);
	case SP_OP_GIVE:
		return give_role(v, o, epoch);
	case SP_OP_JOIN:
		return join_slot(v, o);
	case SP_OP_DOWN:
		if (o->a >= v->l.units || v->unit[o->a].down || has_living(v, o->a))
			return false;
		v->unit[o->a].down = true;
		return true;
	case SP_OP_UP:
		/* The first time it comes it has what view 1 gives it. */
		if (o->a >= v->l.units || o->b < v->unit[o->a].incarnation ||
		    (v->unit[o->a].incarnation && has_living(v, o->a)))
			return false;
		v->unit[o->a] = (struct sp_unit_state){.incarnation = o->b, .down = false};
		return true;
	case SP_OP_END:
		if (o->why == SP_WHY_NONE || v->over != SP_WHY_NONE)
			return false;
		v->over = o->why;
		return true;
	case SP_OP_READY:
		return mark_ready(v, o);
	case SP_OP_POOL:
		return turn_pool(v, o);
	case SP_OP_FACT:
	case SP_OP_CLAIM:
		return set_fact(v, o);
	case SP_OP_GONE:
		return give_up_role(v, o, epoch);
	case SP_OP_ROLES:
		return assign_roles(v, o);
	default:
		return false;
	}
}

enum sp_applied
sp_view_apply(struct sp_view *v, struct sp_view *scratch, const void *bytes, size_t len)
{
	struct sp_change c;
	bool epoch = false;

	if (!sp_change_read(&c, bytes, len))
		return SP_INVALID;
	if (c.base != v->number && !SP_BUG(SKIPPED))
		return SP_STALE;
	sp_view_copy(scratch, v);
	scratch->clock_ms += c.elapsed_ms;
	for (uint32_t i = 0; i < c.n; i++) {
		struct sp_op o = sp_change_op(&c, i);
		if (!sp_view_op(scratch, &o, &epoch))
			return SP_INVALID;
	}
	scratch->number++;
	scratch->epoch += epoch;
	sp_view_copy(v, scratch);
	return SP_APPLIED;
}
