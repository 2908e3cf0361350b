/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of doors: places, trees of labels, clusters, and whether they agree. */
#include "door_internal.h"

#include <string.h>

#define NODE_DOORS  48u /* a node for so many entries: their labels lie close to each other */
#define NODES_TRUNK 4u	/* and so many for each tree: three levels, a last one that is not full */
#define NODES_SPARE 1024u
#define NODES_EACH  8u		    /* that labels of one door take at most */
#define LATE_NS	    (2 * BASE_S_NS) /* a place is not taken again before, see clear_places() */
#define NODE_LEVELS 4u

static uint32_t
count_buckets(uint32_t doors_max)
{
	return doors_max / 2 + 1;
}

static uint32_t
count_nodes(const struct relay_core_limits *l)
{
	uint32_t trees = l->trunks_max < l->doors_max ? l->trunks_max : l->doors_max;
	return l->doors_max ? l->doors_max / NODE_DOORS + NODES_TRUNK * trees + NODES_SPARE : 0;
}

size_t
relay_door_lay_out(const struct relay_core_limits *l, struct base_arena *a, struct doors *d)
{
	size_t before = base_arena_bytes(a);
	if (!l->doors_max)
		return 0;
	d->door = base_arena_take(a, l->doors_max, sizeof *d->door);
	d->map = base_arena_take(a, (l->doors_max + 63) / 64, sizeof *d->map);
	d->bucket = base_arena_take(a, count_buckets(l->doors_max), sizeof *d->bucket);
	d->node = base_arena_take(a, count_nodes(l), sizeof *d->node);
	d->cluster = base_arena_take(a, l->trunks_max, sizeof *d->cluster);
	size_t doors = base_arena_bytes(a) - before;
	relay_door_lay_out_holds(l, a, d);
	return doors;
}

void
relay_door_init(struct relay_core *c)
{
	struct doors *d = &c->doors;
	const struct relay_core_limits *l = &c->conf.limits;
	struct relay_door_conf *conf = &c->conf.doors;
	d->says = d->asks = (struct door_queue){NONE, NONE};
	d->dying_head = d->dying_tail = d->dying_tell = NONE;
	if (!conf->importers_max)
		conf->importers_max = 1024;
	if (!conf->imports_max)
		conf->imports_max = l->doors_max / 4;
	if (!conf->asks_per_s)
		conf->asks_per_s = 1000;
	if (!conf->per_proc_max)
		conf->per_proc_max = 1024;
	if (!conf->lost_ns)
		conf->lost_ns = 10 * BASE_S_NS;
	if (!l->doors_max)
		return;
	memset(d->door, 0, l->doors_max * sizeof *d->door);
	memset(d->map, 0, (l->doors_max + 63) / 64 * sizeof *d->map);
	memset(d->bucket, 0xff, count_buckets(l->doors_max) * sizeof *d->bucket);
	memset(d->cluster, 0, l->trunks_max * sizeof *d->cluster);
	d->map[0] = 1; /* label 0 of relay 0 says "none" */
	d->door[0].kind = DOOR_PART;
	d->next = 1 + conf->begin % (l->doors_max - 1);
	d->places_free = l->doors_max - 1;
	d->nodes_max = d->nodes_free = count_nodes(l);
	for (uint32_t i = 0; i < d->nodes_max; i++)
		d->node[i].next_free = i + 1 < d->nodes_max ? i + 1 : NONE;
	relay_door_init_holds(c);
}

/* ---- buckets -------------------------------------------------------------------- */

static uint32_t *
find_bucket(const struct relay_core *c, uint32_t cluster, uint32_t there)
{
	uint32_t h = there * 0x9e3779b1u ^ cluster * 0x85ebca6bu;
	return &c->doors.bucket[(h ^ h >> 15) % count_buckets(c->conf.limits.doors_max)];
}

/* ---- places ------------------------------------------------------------------- */

static bool
is_taken(const struct doors *d, uint32_t place)
{
	return d->map[place / 64] >> place % 64 & 1;
}

static void
mark_places(struct doors *d, uint32_t first, uint32_t n, bool taken)
{
	for (uint32_t p = first; p < first + n; p++) {
		uint64_t bit = 1ull << p % 64;
		d->map[p / 64] = taken ? d->map[p / 64] | bit : d->map[p / 64] & ~bit;
	}
}

/* The first n free places in a row from `from` on, or NONE. */
static uint32_t
find_places(const struct relay_core *c, uint32_t from, uint32_t n)
{
	const struct doors *d = &c->doors;
	uint32_t run = 0;
	for (uint32_t p = from; p < c->conf.limits.doors_max; p++) {
		if (!run && p % 64 == 0 && d->map[p / 64] == UINT64_MAX) {
			p += 63;
			continue;
		}
		run = is_taken(d, p) ? 0 : run + 1;
		if (run == n)
			return p + 1 - n;
	}
	return NONE;
}

static void
occupy_places(struct relay_core *c, uint32_t i, uint32_t n, enum door_kind kind)
{
	struct doors *d = &c->doors;
	mark_places(d, i, n, true);
	d->places_free -= n;
	memset(&d->door[i], 0, n * sizeof *d->door);
	for (uint32_t k = 1; k < n; k++)
		d->door[i + k] = (struct door){.kind = DOOR_PART, .of = i};
	d->door[i].kind = (uint8_t)kind;
	d->door[i].n = (uint16_t)n;
	d->door[i].of = NONE;
}

uint32_t
relay_door_take(struct relay_core *c, uint32_t n, enum door_kind kind)
{
	struct doors *d = &c->doors;
	bool room = d->places_free >= n + d->reserved;
	uint32_t i = room ? find_places(c, d->next, n) : NONE;
	if (i == NONE && room)
		i = find_places(c, 0, n);
	if (i == NONE)
		return NONE;
	occupy_places(c, i, n, kind);
	d->next = i + n < c->conf.limits.doors_max ? i + n : 0;
	return i;
}

/* Those that this relay gave once, and nobody has now. */
static uint32_t
take_again(struct relay_core *c, uint32_t i, uint32_t n)
{
	struct doors *d = &c->doors;
	if (i >= c->conf.limits.doors_max || n > c->conf.limits.doors_max - i ||
	    d->places_free < n + d->reserved)
		return NONE;
	for (uint32_t k = 0; k < n; k++)
		if (is_taken(d, i + k))
			return NONE;
	occupy_places(c, i, n, DOOR_OWN);
	return i;
}

/* Also of a door that is dying. */
static uint32_t
find_named_label(const struct relay_core *c, uint32_t label)
{
	const struct door *door = c->doors.door;
	uint32_t i = *find_bucket(c, NONE, label);
	while (i != NONE && (door[i].kind != DOOR_NAME || door[i].there != label))
		i = door[i].hash_next;
	return i;
}

uint32_t
relay_door_take_label(struct relay_core *c, uint32_t label, uint32_t n)
{
	struct doors *d = &c->doors;
	uint32_t first = c->conf.self << DOOR_SPACE_BITS;
	if (relay_door_giver(label) == c->conf.self)
		return take_again(c, label - first, n);
	for (uint32_t k = 0; k < n && !RELAY_BUG(DOOR_NAMESAKE); k++)
		if (find_named_label(c, label + k) != NONE)
			return NONE;
	uint32_t i = relay_door_take(c, n + 1, DOOR_OWN);
	if (i == NONE)
		return NONE;
	d->door[i].n = (uint16_t)n;
	d->door[i].flags = DOOR_SECOND;
	for (uint32_t k = 1; k <= n; k++) {
		d->door[i + k] = (struct door){
			.kind = DOOR_NAME, .at = NONE, .there = label + k - 1, .of = i};
		relay_door_hash(c, i + k, true);
	}
	return i;
}

static bool
is_second(const struct door *e)
{
	return (e->kind == DOOR_OWN || e->kind == DOOR_DYING) && e->flags & DOOR_SECOND;
}

void
relay_door_free(struct relay_core *c, uint32_t i)
{
	struct doors *d = &c->doors;
	bool second = is_second(&d->door[i]);
	uint32_t n = d->door[i].n + second;
	for (uint32_t k = 1; k < n && second; k++)
		relay_door_hash(c, i + k, false);
	mark_places(d, i, n, false);
	d->places_free += n;
	memset(&d->door[i], 0, n * sizeof *d->door);
}

void
relay_door_dying(struct relay_core *c, uint32_t i, const struct relay_door_note *n,
		 const uint32_t tell[DOOR_RELAYS_MAX])
{
	struct doors *d = &c->doors;
	struct door *e = &d->door[i];
	*e = (struct door){.free_ns = base_add_ns(c->now_ns, LATE_NS),
			   .tell = {tell[0], tell[1]},
			   .at = tell[2],
			   .here = n->label,
			   .there = n->request,
			   .of = n->op,
			   .link = {NONE, NONE},
			   .died = ++d->deaths,
			   .n = e->n,
			   .flags = is_second(e) ? DOOR_SECOND : 0,
			   .kind = DOOR_DYING};
	if (d->dying_tail == NONE)
		d->dying_head = i;
	else
		d->door[d->dying_tail].link.next = i;
	d->dying_tail = i;
	if (d->dying_tell == NONE)
		d->dying_tell = i;
	d->ndying++;
	wake_at(c, c->now_ns);
}

uint32_t
relay_door_label(const struct relay_core *c, uint32_t i)
{
	return c->conf.self << DOOR_SPACE_BITS | i;
}

uint32_t
relay_door_at(const struct relay_core *c, uint32_t label, enum door_kind kind)
{
	const struct doors *d = &c->doors;
	uint32_t i = label - (c->conf.self << DOOR_SPACE_BITS);
	if (i >= c->conf.limits.doors_max)
		i = kind == DOOR_OWN ? find_named_label(c, label) : NONE;
	if (i == NONE)
		return NONE;
	if (d->door[i].kind == DOOR_PART || d->door[i].kind == DOOR_NAME)
		i = d->door[i].of;
	return d->door[i].kind == kind ? i : NONE;
}

/* How many more may be kept.  Half of what is free, for the other relays ask as well, and what they
 * offer takes the rest. */
static uint32_t
reservable(const struct doors *d)
{
	uint32_t nodes = d->nodes_free / NODES_EACH, both = 2 * d->reserved;
	uint32_t free = d->places_free < nodes ? d->places_free : nodes;
	if (RELAY_BUG(DOOR_GREEDY))
		return free > d->reserved + 2 ? free - d->reserved - 2 : 0;
	return free > both + 2 ? (free - both - 1) / 2 : 0;
}

/* Who asks one cluster may keep as many places as it leaves: that may never answer, and n of them
 * leave an (n + 1)th. */
bool
relay_door_reserve(struct relay_core *c, uint32_t asker)
{
	struct doors *d = &c->doors;
	uint32_t left = reservable(d);
	if (!left || (d->kept[asker] >= left && !RELAY_BUG(DOOR_HOGGED)))
		return false;
	d->reserved++;
	d->kept[asker]++;
	return true;
}

/* ---- trees ------------------------------------------------------------------------ */

static uint32_t
take_node(struct doors *d)
{
	uint32_t i = d->free_node;
	BASE_ASSERT(i != NONE);
	d->free_node = d->node[i].next_free;
	d->nodes_free--;
	memset(&d->node[i], 0xff, sizeof d->node[i]);
	d->node[i].used = 0;
	return i;
}

static void
free_node(struct doors *d, uint32_t i)
{
	d->node[i].next_free = d->free_node;
	d->free_node = i;
	d->nodes_free++;
}

/* It is there. */
static void
clear_label(struct doors *d, uint32_t *root, uint32_t label)
{
	uint32_t *at[NODE_LEVELS + 1];
	uint32_t depth = 0;
	at[0] = root;
	for (int shift = 18; shift >= 0; shift -= 6, depth++)
		at[depth + 1] = &d->node[*at[depth]].child[label >> shift & 63];
	for (bool empty = true; empty && depth > 0; depth--) {
		struct door_node *node = &d->node[*at[depth - 1]];
		*at[depth] = NONE;
		empty = --node->used == 0;
		if (empty)
			free_node(d, *at[depth - 1]);
		if (empty && depth == 1)
			*root = NONE;
	}
}

/* can_set() has said that there are nodes. */
static void
set_label(struct doors *d, uint32_t *root, uint32_t label, uint32_t i)
{
	uint32_t *at = root;
	for (int shift = 18; shift >= 0; shift -= 6) {
		if (*at == NONE)
			*at = take_node(d);
		struct door_node *node = &d->node[*at];
		at = &node->child[label >> shift & 63];
		if (*at == NONE)
			node->used++;
	}
	*at = i;
}

/* Would all of them be set? */
static bool
can_set(const struct doors *d, uint32_t root, uint32_t label, uint32_t n, uint32_t i)
{
	if (d->nodes_free < NODES_EACH * (1 + d->reserved))
		return false;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = relay_door_find(d, root, label + k);
		if (at != NONE && at != i)
			return false;
	}
	return true;
}

bool
relay_door_map(struct relay_core *c, uint32_t *root, uint32_t label, uint32_t n, uint32_t i)
{
	struct doors *d = &c->doors;
	if (label >= DOOR_LABELS_END || n > DOOR_LABELS_END - label ||
	    !can_set(d, *root, label, n, i))
		return false;
	for (uint32_t k = 0; k < n; k++)
		set_label(d, root, label + k, i);
	return true;
}

void
relay_door_unmap(struct relay_core *c, uint32_t *root, uint32_t label, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (relay_door_find(&c->doors, *root, label + k) != NONE)
			clear_label(&c->doors, root, label + k);
}

static void
free_tree(struct doors *d, uint32_t at, uint32_t level)
{
	for (uint32_t k = 0; level + 1 < NODE_LEVELS && k < 64; k++)
		if (d->node[at].child[k] != NONE)
			free_tree(d, d->node[at].child[k], level + 1);
	free_node(d, at);
}

void
relay_door_unmap_all(struct relay_core *c, uint32_t *root)
{
	if (*root != NONE)
		free_tree(&c->doors, *root, 0);
	*root = NONE;
}

/* ---- imports by what they are at home ------------------------------------------------ */

uint32_t
relay_door_imported(const struct relay_core *c, uint32_t cluster, uint32_t there, uint64_t realm,
		    uint64_t token)
{
	const struct door *door = c->doors.door;
	for (uint32_t i = *find_bucket(c, cluster, there); i != NONE; i = door[i].hash_next)
		if (door[i].at == cluster && door[i].there == there && door[i].realm == realm &&
		    door[i].token == token)
			return i;
	return NONE;
}

void
relay_door_hash(struct relay_core *c, uint32_t i, bool in)
{
	struct door *door = c->doors.door;
	uint32_t *at = find_bucket(c, door[i].at, door[i].there);
	if (in) {
		door[i].hash_next = *at;
		*at = i;
		return;
	}
	while (*at != i)
		at = &door[*at].hash_next;
	*at = door[i].hash_next;
}

/* ---- clusters --------------------------------------------------------------------------- */

static bool
is_cluster(const struct door_cluster *k, const struct door_address *a)
{
	return k->used && k->n == a->nrelays &&
	       memcmp(k->relay, a->relay, a->nrelays * sizeof a->relay[0]) == 0;
}

uint32_t
relay_door_cluster(struct relay_core *c, const struct door_address *a)
{
	struct doors *d = &c->doors;
	uint32_t i = NONE, max = c->conf.limits.trunks_max;
	for (uint32_t k = 0; k < max; k++) {
		if (is_cluster(&d->cluster[k], a))
			return k;
		if (i == NONE && !d->cluster[k].used)
			i = k;
	}
	if (i == NONE)
		return NONE;
	struct door_cluster *k = &d->cluster[i];
	*k = (struct door_cluster){.n = a->nrelays,
				   .imports = BASE_ICHAIN_EMPTY,
				   .lost_ns = BASE_NEVER_NS,
				   .sweep_ns = BASE_NEVER_NS};
	memcpy(k->relay, a->relay, sizeof k->relay);
	bool up = false;
	for (uint32_t r = 0; r < k->n; r++) {
		struct suci_addr to = relay_place_of(c, k->relay[r].ipv4, k->relay[r].port);
		uint32_t t = k->trunk[r] = relay_trunk_get(c, &to);
		if (t == NONE)
			continue;
		struct trunk *trunk = &c->trunk[t];
		trunk->nclusters++;
		trunk->users++;
		up = up || trunk->up;
		if (trunk->up || trunk->path != NONE)
			continue;
		trunk->until_ns = base_add_ns(c->now_ns, c->conf.connect_ns);
		trunk->retry_ns = c->now_ns;
	}
	k->used = true;
	d->nclusters++;
	if (!up)
		k->lost_ns = base_add_ns(c->now_ns, c->conf.doors.lost_ns);
	wake_at(c, c->now_ns);
	return i;
}

void
relay_door_cluster_rest(struct relay_core *c, uint32_t cluster)
{
	struct door_cluster *k = &c->doors.cluster[cluster];
	if (!k->used || k->nimports)
		return;
	k->used = false;
	c->doors.nclusters--;
	for (uint32_t r = 0; r < k->n; r++) {
		if (k->trunk[r] == NONE)
			continue;
		c->trunk[k->trunk[r]].nclusters--;
		c->trunk[k->trunk[r]].users--;
		relay_trunk_rest(c, k->trunk[r]);
	}
}

/* ---- queries --------------------------------------------------------------------------- */

void
relay_core_doors(const struct relay_core *c, struct relay_door_info *out)
{
	const struct doors *d = &c->doors;
	*out = (struct relay_door_info){.own = d->nown,
					.imports = d->nimports,
					.exports = d->nexports,
					.dying = d->ndying,
					.places_free = d->places_free,
					.holds = d->nholds,
					.clusters = d->nclusters,
					.processes = d->npaths};
}

struct tally {
	uint32_t own, imports, exports, dying, places;
};

static const char *
check_own(const struct relay_core *c, uint32_t i)
{
	const struct door *door = c->doors.door, *e = &door[i];
	uint32_t n = 0;
	if (relay_door_at(c, e->here, DOOR_OWN) != i)
		return "a door is found by its label";
	if (e->at >= c->conf.limits.paths_max ||
	    (c->path[e->at].kind != RELAY_PATH_DOOR && c->path[e->at].kind != RELAY_PATH_PROC))
		return "a door is of a process that is connected";
	for (uint32_t x = e->of; x != NONE && n <= e->exports; x = door[x].of_link.next, n++)
		if (door[x].kind != DOOR_EXPORT || door[x].of != i)
			return "a door and its exports name each other";
	return n == e->exports ? NULL : "exports of a door = their number";
}

static const char *
check_import(const struct relay_core *c, uint32_t i)
{
	const struct doors *d = &c->doors;
	const struct door *e = &d->door[i];
	const struct door_cluster *k = &d->cluster[e->at];
	if (!k->used)
		return "an import is of a cluster in use";
	if (relay_door_imported(c, e->at, e->there, e->realm, e->token) != i)
		return "an import is found by what it is at home";
	for (uint32_t r = 0; r < DOOR_RELAYS_MAX; r++) {
		bool proved = e->flags >> r & 1;
		if (proved && (r >= k->n || k->trunk[r] == NONE || !c->trunk[k->trunk[r]].up))
			return "an import is proved over trunks that are up";
		if (proved && relay_door_find(d, c->trunk[k->trunk[r]].door_root, e->there) != i)
			return "a proved import's label leads to it";
	}
	if (e->flags & DOOR_PROVED && relay_door_way(e) == DOOR_RELAYS_MAX)
		return "an import that is proved has a way";
	for (uint32_t h = e->of; h != NONE; h = d->hold[h].of_import.next)
		if (d->hold[h].asks)
			return NULL;
	return e->flags & DOOR_OFFERED ? NULL : "an import is asked for or offered";
}

static const char *
check_name(const struct relay_core *c, uint32_t i)
{
	const struct door *e = &c->doors.door[i];
	const struct door *of = &c->doors.door[e->of];
	if (!is_second(of) || i <= e->of || i > e->of + of->n)
		return "a name is behind its door";
	return find_named_label(c, e->there) == i ? NULL : "a label is the name of one door only";
}

static const char *
check_export(const struct relay_core *c, uint32_t i)
{
	const struct doors *d = &c->doors;
	const struct door *e = &d->door[i];
	if (d->door[e->of].kind != DOOR_OWN)
		return "an export is of a door";
	if (!c->trunk[e->at].up)
		return "an export's trunk is up";
	return relay_door_find(d, c->trunk[e->at].door_root, e->there) == i
		       ? NULL
		       : "an export's label leads to it";
}

static const char *
check_entries(const struct relay_core *c, struct tally *n)
{
	const struct doors *d = &c->doors;
	for (uint32_t i = 0; i < c->conf.limits.doors_max; i++) {
		const struct door *e = &d->door[i];
		const char *fault = NULL;
		n->places += is_taken(d, i);
		if (is_taken(d, i) != (e->kind != DOOR_FREE))
			return "places taken are those of entries";
		switch ((enum door_kind)e->kind) {
		case DOOR_OWN:
			n->own++;
			fault = check_own(c, i);
			break;
		case DOOR_IMPORT:
			n->imports++;
			fault = check_import(c, i);
			break;
		case DOOR_EXPORT:
			n->exports++;
			fault = check_export(c, i);
			break;
		case DOOR_DYING:
			n->dying++;
			break;
		case DOOR_NAME:
			fault = check_name(c, i);
			break;
		case DOOR_PART:
		case DOOR_FREE:
			break;
		}
		if (fault)
			return fault;
	}
	return NULL;
}

static uint32_t
count_tree(const struct doors *d, uint32_t at, uint32_t level)
{
	uint32_t n = 1;
	for (uint32_t k = 0; level + 1 < NODE_LEVELS && k < 64; k++)
		if (d->node[at].child[k] != NONE)
			n += count_tree(d, d->node[at].child[k], level + 1);
	return n;
}

static const char *
check_trunks(const struct relay_core *c, uint32_t *nodes)
{
	const struct doors *d = &c->doors;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		const struct trunk *k = &c->trunk[t];
		uint32_t exports = 0, asked = 0, clusters = 0;
		if (!k->used)
			continue;
		for (uint32_t x = k->exports; x != NONE && exports <= k->nexports;
		     x = d->door[x].link.next, exports++)
			asked += (d->door[x].flags & DOOR_ASKED) != 0;
		if (exports != k->nexports || asked != k->nasked)
			return "exports over a trunk = their number";
		if (k->nasked > c->conf.doors.imports_max)
			return "what a relay asked for <= imports_max";
		for (uint32_t i = 0; i < c->conf.limits.trunks_max; i++)
			for (uint32_t r = 0; d->cluster[i].used && r < d->cluster[i].n; r++)
				clusters += d->cluster[i].trunk[r] == t;
		if (clusters != k->nclusters)
			return "a trunk's clusters = their number";
		if (k->door_root != NONE)
			*nodes += count_tree(d, k->door_root, 0);
	}
	return NULL;
}

const char *
relay_door_check(const struct relay_core *c)
{
	const struct doors *d = &c->doors;
	struct tally n = {0};
	uint32_t nodes = 0;
	if (!c->conf.limits.doors_max)
		return NULL;
	const char *fault = check_entries(c, &n);
	if (!fault)
		fault = check_trunks(c, &nodes);
	if (!fault)
		fault = relay_door_check_holds(c);
	if (fault)
		return fault;
	if (n.own != d->nown || n.imports != d->nimports || n.exports != d->nexports ||
	    n.dying != d->ndying)
		return "doors of each kind = their number";
	if (n.places + d->places_free != c->conf.limits.doors_max)
		return "places of doors taken + free = all";
	return nodes + d->nodes_free == d->nodes_max ? NULL : "nodes in trees + free = all";
}
