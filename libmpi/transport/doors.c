/* Doors of this process, and doors of other clusters: see doors.h. */
#include "doors.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/siphash.h"
#include "relayproto/door.h"
#include "relayproto/hello.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define eng   lmpi_eng
#define net   lmpi_net
#define doors lmpi_doors

#define DOORS_MAX   512u /* ports, conversations, this process */
#define LETTERS_MAX 256u
#define READY_NS    (10 * BASE_S_NS)
#define SOON_NS	    BASE_MS_NS
#define LOOK_NS	    BASE_S_NS
#define ERR_OTHER   LMPI_ERR_OTHER

struct lmpi_doors lmpi_doors = {.path = DOOR_NONE, .due_ns = BASE_NEVER_NS};

static struct relay_door_note letter[LETTERS_MAX];
static uint32_t nletters;

static void
wake_doors(uint64_t at_ns)
{
	doors.due_ns = base_min_ns(doors.due_ns, at_ns);
}

/* ---- notes to the relay ---- */

static bool
note_relay(const struct relay_door_note *n)
{
	uint8_t b[RELAY_DOOR_NOTE_MAX];

	if (!doors.up || suci_path_note(net.ep, doors.path, b, relay_door_encode(n, b),
					suci_udp_now_ns()) != SUCI_ERR_OK)
		return false;
	net.dirty = true;
	return true;
}

static void
say_later(void)
{
	doors.says = true;
	wake_doors(eng.now_ns + SOON_NS);
}

void
lmpi_doors_letter(uint8_t op, uint32_t label, uint32_t request)
{
	struct relay_door_note n = {.op = op, .label = label, .request = request};

	/* What finds no room is told by the end of the path, if by nothing else. */
	if (!doors.up || (nletters == 0 && note_relay(&n)) || nletters == LETTERS_MAX)
		return;
	letter[nletters++] = n;
	say_later();
}

static bool
ask_door(struct lmpi_door *d)
{
	struct relay_door_note n = {.op = RELAY_DOOR_REGISTER,
				    .request = d->request,
				    .n = 1,
				    .realm = d->at.realm,
				    .token = d->at.token};

	if (!note_relay(&n))
		return false;
	d->state = LMPI_DOOR_ASKED;
	return true;
}

static bool
ask_import(struct lmpi_import *m)
{
	uint8_t at[DOOR_ADDRESS_MAX];
	struct relay_door_note n = {.op = RELAY_DOOR_IMPORT,
				    .request = m->request,
				    .label = doors.door[m->door].at.label,
				    .address = {at, (uint8_t)door_address_encode(&m->at, at)}};

	if (!note_relay(&n))
		return false;
	m->state = LMPI_DOOR_ASKED;
	return true;
}

/* False: not all found room. */
static bool
say_all(void)
{
	uint32_t i;

	for (i = 0; i < nletters && note_relay(&letter[i]); i++)
		;
	memmove(letter, letter + i, (nletters - i) * sizeof letter[0]);
	nletters -= i;
	for (i = 0; i < doors.ndoors; i++)
		if (doors.door[i].state == LMPI_DOOR_WANTED && !ask_door(&doors.door[i]))
			return false;
	for (i = 0; i < doors.nimports; i++)
		if (doors.import[i].state == LMPI_DOOR_WANTED &&
		    doors.door[doors.import[i].door].state == LMPI_DOOR_HAVE &&
		    !ask_import(&doors.import[i]))
			return false;
	return nletters == 0;
}

/* ---- the relay ---- */

/* Of the relays of this job the one with the lowest address: all its processes in this cluster find
 * the same one, while all are up. */
static uint32_t
relay_of_job(struct relayset_info *out)
{
	uint32_t best = DOOR_NONE;
	struct relayset_info r;

	if (!net.relays || net.relays_outside)
		return DOOR_NONE;
	for (uint32_t i = 0; i < relayset_count(net.relays); i++) {
		relayset_info(net.relays, i, &r);
		if (!r.up || (best != DOOR_NONE &&
			      memcmp(&r.relay.addr, &out->relay.addr, sizeof r.relay.addr) > 0))
			continue;
		best = i;
		*out = r;
	}
	return best;
}

bool
lmpi_doors_wanted(void)
{
	if (lmpi_net_has_relays())
		return !net.relays_outside;
	return lmpi_knob_text(LMPI_KNOB_RELAY) != NULL;
}

void
lmpi_doors_relay(char name[LMPI_RELAY_NAME])
{
	const uint8_t *ip = doors.relay.ip + 12;

	name[0] = '\0';
	if (doors.path != DOOR_NONE)
		lmpi_net_name(ip, doors.relay.port, name);
}

static uint64_t
own_realm(void)
{
	static const uint8_t key[16] = "realm";
	const char *text = lmpi_knob_text(LMPI_KNOB_REALM);

	return text ? base_siphash(key, text, strlen(text)) : 0;
}

static bool
knob_relay(struct suci_addr *at, char why[LMPI_WHY])
{
	const char *text = lmpi_knob_text(LMPI_KNOB_RELAY), *wrong = NULL;
	char host[256], port[16];
	struct base_prefix one;

	if (lmpi_split_server(text, host, port) && strpbrk(host, "/:") == NULL &&
	    base_prefix_parse(host, strlen(host), &one)) {
		uint16_t number = (uint16_t)strtonum(port, 1, UINT16_MAX, &wrong);
		*at = suci_udp_addr(one.addr + 12, number);
		if (!wrong)
			return true;
	}
	snprintf(why, LMPI_WHY,
		 "LIBMPI_RELAY=%.80s is not an IPv4 address and a port of a relay, as "
		 "10.0.0.254:7812",
		 text);
	return false;
}

static void
choose_relay(uint32_t path, bool shared, const struct suci_addr *at)
{
	doors.path = path;
	doors.shared = shared;
	doors.relay = *at;
	doors.why[0] = '\0';
}

static void
set_up_relay(uint32_t mtu)
{
	struct suci_path_info info = {0};

	(void)suci_path_info(net.ep, doors.path, &info);
	doors.mss = info.mss;
	if (mtu > SUCI_OVERHEAD && mtu - (uint32_t)SUCI_OVERHEAD < info.mss)
		doors.mss = mtu - SUCI_OVERHEAD;
	doors.up = true;
	doors.looked_ns = eng.now_ns;
	doors.silent_ns = 0;
	say_later();
	if (!doors.shared)
		wake_doors(eng.now_ns + LOOK_NS);
}

static int
open_relay(char why[LMPI_WHY])
{
	struct relay_hello h = {.kind = RELAY_HELLO_DOOR, .rank = RELAY_RANK_NONE};
	uint8_t hello[RELAY_HELLO_LEN];
	struct relayset_info r;
	struct suci_addr at;
	uint32_t path;

	if (lmpi_net_has_relays()) {
		if (relay_of_job(&r) == DOOR_NONE) {
			snprintf(why, LMPI_WHY, "no relay of this job is up");
			return ERR_OTHER;
		}
		choose_relay(r.path, true, &r.relay.addr);
		set_up_relay(r.mtu);
		return LMPI_OK;
	}
	if (!knob_relay(&at, why))
		return ERR_OTHER;
	int err = lmpi_net_more(); /* the kernel may know only one other process */
	relay_hello_encode(&h, hello);
	choose_relay(DOOR_NONE, false, &at);
	if (!err)
		err = suci_path_open(net.ep, &at, hello, sizeof hello, &path, suci_udp_now_ns());
	if (err) {
		snprintf(why, LMPI_WHY, "no path to the relay of LIBMPI_RELAY: %s",
			 suci_strerror(err));
		return ERR_OTHER;
	}
	net.path_use[path] = USE_DOOR;
	net.dirty = true;
	doors.path = path;
	return LMPI_OK;
}

bool
lmpi_doors_is_relay(const struct suci_addr *at)
{
	return doors.relay.port != 0 && memcmp(&doors.relay, at, sizeof *at) == 0;
}

void
lmpi_doors_path_up(uint32_t path, uint32_t mtu, bool is_relay)
{
	if (!is_relay)
		suci_path_close(net.ep, path, "not a relay", eng.now_ns);
	else if (path == doors.path)
		set_up_relay(mtu);
}

/* The process behind it is gone, or the way to it. */
static void
lose_import(struct lmpi_import *m, enum suci_down why, const char *text)
{
	struct lmpi_route *r;

	m->state = LMPI_DOOR_OVER;
	if (m->world == DOOR_NONE) {
		lmpi_talk_lost((uint32_t)(m - doors.import));
		return;
	}
	r = &lmpi_route[m->world];
	if (r->has_lane)
		suci_lane_close(net.lanes, r->lane, eng.now_ns);
	r->has_lane = false;
	lmpi_net_stranger_down(m->world, why, text);
}

void
lmpi_doors_path_down(uint32_t path, enum suci_down why, const char *what, const char *text)
{
	char name[LMPI_RELAY_NAME];

	if (path != doors.path)
		return;
	lmpi_doors_relay(name);
	snprintf(doors.why, sizeof doors.why, "the relay %s %s%s%.80s", name,
		 why == SUCI_DOWN_LOCAL ? "is not a relay" : what, text && *text ? ": " : "",
		 text ? text : "");
	doors.path = DOOR_NONE;
	doors.up = false;
	nletters = 0;
	for (uint32_t i = 0; i < doors.ndoors; i++)
		if (doors.door[i].state != LMPI_DOOR_FREE)
			doors.door[i].state = i ? LMPI_DOOR_OVER : LMPI_DOOR_FREE;
	lmpi_talks_over();
	for (uint32_t i = 0; i < doors.nimports; i++)
		if (doors.import[i].state != LMPI_DOOR_FREE &&
		    doors.import[i].state != LMPI_DOOR_OVER)
			lose_import(&doors.import[i], SUCI_DOWN_SILENT, doors.why);
}

/* ---- own doors ---- */

static bool
draw_door(struct lmpi_door *d)
{
	*d = (struct lmpi_door){
		.at = {.realm = own_realm()}, .request = ++doors.serial, .state = LMPI_DOOR_WANTED};
	return getrandom(&d->at.token, sizeof d->at.token, 0) == (ssize_t)sizeof d->at.token;
}

static bool
door_settled(void *arg)
{
	const uint32_t *i = arg;

	return doors.path == DOOR_NONE || doors.door[*i].state == LMPI_DOOR_HAVE ||
	       doors.door[*i].state == LMPI_DOOR_OVER;
}

/* Ask for door i and wait for it. */
static int
await_door(uint32_t i, char why[LMPI_WHY])
{
	char name[LMPI_RELAY_NAME];

	if (!draw_door(&doors.door[i])) {
		doors.door[i].state = LMPI_DOOR_FREE;
		snprintf(why, LMPI_WHY, "no random numbers from the kernel");
		return ERR_OTHER;
	}
	say_later();
	bool in_time = lmpi_wait_until(door_settled, &i, suci_udp_now_ns() + READY_NS);
	if (doors.path != DOOR_NONE && doors.door[i].state == LMPI_DOOR_HAVE)
		return LMPI_OK;
	lmpi_doors_relay(name);
	if (doors.path == DOOR_NONE)
		snprintf(why, LMPI_WHY, "%s", doors.why);
	else if (in_time)
		snprintf(
			why, LMPI_WHY,
			"the relay %s has no room for a door: is doors.max in its configuration 0, "
			"or doors.per_process reached?",
			name);
	else
		snprintf(why, LMPI_WHY,
			 "the relay %s does not answer on UDP within %llu s: is relayd running "
			 "there?",
			 name, READY_NS / BASE_S_NS);
	doors.door[i].state = LMPI_DOOR_FREE;
	return ERR_OTHER;
}

int
lmpi_doors_ready(char why[LMPI_WHY])
{
	int err = LMPI_OK;

	if (!lmpi_doors_wanted())
		return LMPI_OK;
	if (!doors.door)
		doors.door = calloc(DOORS_MAX, sizeof *doors.door);
	if (!doors.door) {
		snprintf(why, LMPI_WHY, "out of memory");
		return LMPI_ERR_NO_MEM;
	}
	if (doors.path == DOOR_NONE)
		err = open_relay(why);
	doors.ndoors = doors.ndoors ? doors.ndoors : 1;
	if (!err && doors.door[0].state != LMPI_DOOR_HAVE)
		err = await_door(0, why);
	if (!err)
		lmpi_world.hides_nodes = true;
	return err;
}

bool
lmpi_doors_mine(struct door_address *a)
{
	if (!doors.door || doors.door[0].state != LMPI_DOOR_HAVE)
		return false;
	*a = doors.door[0].at;
	return true;
}

int
lmpi_doors_open(uint32_t *door, struct door_address *at, char why[LMPI_WHY])
{
	uint32_t i = 1;

	while (i < doors.ndoors && doors.door[i].state != LMPI_DOOR_FREE)
		i++;
	if (i == DOORS_MAX) {
		snprintf(why, LMPI_WHY, "%u doors are in use: close some ports", DOORS_MAX);
		return ERR_OTHER;
	}
	doors.ndoors = i == doors.ndoors ? i + 1 : doors.ndoors;
	int err = await_door(i, why);
	if (!err) {
		*door = i;
		*at = doors.door[i].at;
	}
	return err;
}

void
lmpi_doors_close(uint32_t door)
{
	struct lmpi_door *d = &doors.door[door];

	/* One that was asked for leaves when its address comes. */
	if (d->state == LMPI_DOOR_HAVE)
		lmpi_doors_letter(RELAY_DOOR_LEAVE, d->at.label, 0);
	d->state = LMPI_DOOR_FREE;
}

bool
lmpi_doors_near(const struct door_address *a)
{
	const struct door_address *me = &doors.door[0].at;

	for (uint32_t i = 0; i < a->nrelays; i++)
		for (uint32_t k = 0; k < me->nrelays; k++)
			if (a->relay[i].ipv4 == me->relay[k].ipv4 &&
			    a->relay[i].port == me->relay[k].port)
				return true;
	return false;
}

/* ---- doors of others ---- */

uint32_t
lmpi_import_new(const struct door_address *at, uint32_t door, uint32_t world)
{
	uint32_t i = 0;

	while (i < doors.nimports && doors.import[i].state != LMPI_DOOR_FREE)
		i++;
	if (i == doors.imports_max) {
		uint32_t most = i ? 2 * i : 16;
		struct lmpi_import *more = realloc(doors.import, most * sizeof *more);
		if (!more)
			return DOOR_NONE;
		doors.import = more;
		doors.imports_max = most;
	}
	doors.nimports = i == doors.nimports ? i + 1 : doors.nimports;
	doors.import[i] = (struct lmpi_import){.at = *at,
					       .request = ++doors.serial,
					       .door = (uint16_t)door,
					       .world = world,
					       .state = LMPI_DOOR_WANTED};
	say_later();
	return i;
}

void
lmpi_import_drop(uint32_t import)
{
	struct lmpi_import *m = &doors.import[import];

	/* One that was asked for is dropped when the answer comes. */
	if (m->state == LMPI_DOOR_HAVE)
		lmpi_doors_letter(RELAY_DOOR_DROP, m->label, m->request);
	m->state = LMPI_DOOR_FREE;
}

bool
lmpi_doors_import(uint32_t world, const struct door_address *at)
{
	return lmpi_import_new(at, 0, world) != DOOR_NONE;
}

static struct lmpi_import *
import_asked(uint32_t request)
{
	for (uint32_t i = 0; i < doors.nimports; i++)
		if (doors.import[i].state != LMPI_DOOR_FREE && doors.import[i].request == request)
			return &doors.import[i];
	return NULL;
}

/* The process's door that our relay calls so; *more: there are some that it has no name for yet. */
static struct lmpi_import *
import_called(uint32_t label, bool *more)
{
	*more = false;
	for (uint32_t i = 0; i < doors.nimports; i++) {
		struct lmpi_import *m = &doors.import[i];
		if (m->world == DOOR_NONE)
			continue;
		if (m->state == LMPI_DOOR_HAVE && m->label == label)
			return m;
		*more |= m->state == LMPI_DOOR_WANTED || m->state == LMPI_DOOR_ASKED;
	}
	return NULL;
}

/* ---- lanes ---- */

void
lmpi_doors_lane(uint32_t own, uint32_t label, struct suci_lane_conf *c)
{
	*c = (struct suci_lane_conf){.path = doors.path,
				     .tx_dst_label = label,
				     .tx_src_label = own,
				     .rx_dst_label = own,
				     .rx_src_label = label,
				     .crc = true,
				     .mss = doors.mss,
				     .window = lmpi_net_relay_window(),
				     .window_max = LMPI_HELD_MAX};
}

static uint64_t
salt_of(const struct lmpi_proc *from, const struct lmpi_proc *to)
{
	return (from->job ^ from->number) * 0x9e3779b97f4a7c15u + (to->job ^ to->number);
}

bool
lmpi_doors_lane_to(uint32_t world, struct suci_lane_conf *c)
{
	const struct lmpi_proc *me = &lmpi_world.proc[lmpi_world.rank];
	const struct lmpi_proc *it = &lmpi_world.proc[world];

	for (uint32_t i = 0; doors.up && i < doors.nimports; i++) {
		const struct lmpi_import *m = &doors.import[i];
		if (m->world != world || m->state != LMPI_DOOR_HAVE)
			continue;
		lmpi_doors_lane(doors.door[0].at.label, m->label, c);
		c->tx_salt = salt_of(me, it);
		c->rx_salt = salt_of(it, me);
		return true;
	}
	return false;
}

enum suci_verdict
lmpi_doors_unknown(uint32_t path, uint32_t dst, uint32_t src)
{
	bool more;

	if (path != doors.path || !doors.up)
		return SUCI_DROPPED;
	for (uint32_t i = 1; i < doors.ndoors; i++)
		if (doors.door[i].state == LMPI_DOOR_HAVE && doors.door[i].at.label == dst)
			return lmpi_talk_came(i, src);
	if (doors.door[0].state != LMPI_DOOR_HAVE || doors.door[0].at.label != dst)
		return SUCI_DROPPED;
	struct lmpi_import *m = import_called(src, &more);
	if (!m)
		return more ? SUCI_REFUSED : SUCI_DROPPED;
	return lmpi_net_open_lane(&eng.peer[m->world], path) ? SUCI_TAKEN : SUCI_DROPPED;
}

/* ---- what the relay says ---- */

static void
learn_address(const struct relay_door_note *n)
{
	struct door_address a;

	if (door_address_decode(n->address.at, n->address.len, &a))
		return;
	for (uint32_t i = 0; i < doors.ndoors; i++) {
		struct lmpi_door *d = &doors.door[i];
		if (d->request != n->request || d->at.token != a.token)
			continue;
		if (d->state == LMPI_DOOR_HAVE)
			return; /* the note came twice */
		if (d->state != LMPI_DOOR_ASKED)
			break;
		/* Not the label by which processes of this job call us. */
		if (a.label == LMPI_LABEL_BASE + lmpi_world.rank && draw_door(d)) {
			say_later();
			break;
		}
		d->at = a;
		d->state = LMPI_DOOR_HAVE;
		say_later(); /* imports may wait for it */
		return;
	}
	lmpi_doors_letter(RELAY_DOOR_LEAVE, a.label, 0);
}

static void
hear_no(const struct relay_door_note *n)
{
	struct lmpi_import *m = import_asked(n->request);

	for (uint32_t i = 0; i < doors.ndoors; i++)
		if (doors.door[i].request == n->request && doors.door[i].state == LMPI_DOOR_ASKED)
			doors.door[i].state = LMPI_DOOR_OVER;
	if (m && m->state == LMPI_DOOR_ASKED)
		lose_import(m, SUCI_DOWN_REFUSED, "its relay knows no such door, or one is full");
}

static void
hear_import(const struct relay_door_note *n)
{
	struct lmpi_import *m = import_asked(n->request);

	if (!m || m->state == LMPI_DOOR_OVER) {
		lmpi_doors_letter(RELAY_DOOR_DROP, n->label, n->request);
	} else if (m->state == LMPI_DOOR_ASKED) {
		m->state = LMPI_DOOR_HAVE;
		m->label = n->label;
		m->turn = n->turn;
	} else if (m->turn != n->turn) {
		/* What was under way may be lost. */
		lose_import(m, SUCI_DOWN_RESET, "a path between relays broke");
	}
}

static void
learn_gone(const struct relay_door_note *n)
{
	struct lmpi_import *m = n->request ? import_asked(n->request) : NULL;

	if (!n->request)
		lmpi_talk_gone(n->label);
	else if (m && m->state == LMPI_DOOR_HAVE)
		lose_import(m, SUCI_DOWN_CLOSED, NULL);
}

void
lmpi_doors_note(uint32_t path, const void *note, size_t len)
{
	struct relay_door_note n;

	if (path != doors.path || !doors.up || relay_door_decode(note, len, &n))
		return;
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_ADDRESS:
		learn_address(&n);
		break;
	case RELAY_DOOR_REFUSED:
		hear_no(&n);
		break;
	case RELAY_DOOR_IMPORTED:
		hear_import(&n);
		break;
	case RELAY_DOOR_GONE:
		learn_gone(&n);
		break;
	case RELAY_DOOR_REGISTER:
	case RELAY_DOOR_LEAVE:
	case RELAY_DOOR_IMPORT:
	case RELAY_DOOR_HOLD:
	case RELAY_DOOR_DROP:
	case RELAY_DOOR_ASK:
	case RELAY_DOOR_ANSWER:
	case RELAY_DOOR_WITHDRAW:
		break; /* not a relay's to say to us */
	}
}

/* ---- turns ---- */

/* Only time in which this process listened counts: programs compute. */
static void
watch_silence(uint64_t now_ns)
{
	uint64_t limit = lmpi_knob_number(LMPI_KNOB_LIVENESS) * BASE_MS_NS;
	uint64_t step = base_min_ns(now_ns - doors.looked_ns, 2 * LOOK_NS);
	uint8_t ping[RELAY_NOTE_MAX];
	struct suci_path_info info;

	if (!suci_path_info(net.ep, doors.path, &info))
		return;
	doors.silent_ns = info.last_rx_ns == doors.heard_ns ? doors.silent_ns + step : 0;
	doors.heard_ns = info.last_rx_ns;
	doors.looked_ns = now_ns;
	if (limit && doors.silent_ns > limit) {
		suci_path_silent(net.ep, doors.path, now_ns);
	} else if (doors.silent_ns >= LOOK_NS) {
		size_t len = relay_note_encode(&(struct relay_note){.type = RELAY_NOTE_PING}, ping);
		(void)suci_path_note(net.ep, doors.path, ping, len, now_ns);
		net.dirty = true;
	}
}

void
lmpi_doors_turn(uint64_t now_ns)
{
	if (now_ns < doors.due_ns)
		return;
	doors.due_ns = BASE_NEVER_NS;
	if (!doors.up)
		return;
	if (doors.says) {
		doors.says = false;
		if (!say_all())
			say_later();
	}
	lmpi_talks_turn();
	if (doors.shared || eng.closing)
		return;
	if (now_ns - doors.looked_ns >= LOOK_NS)
		watch_silence(now_ns);
	wake_doors(doors.looked_ns + LOOK_NS);
}

uint64_t
lmpi_doors_expiry_ns(void)
{
	return doors.due_ns;
}

void
lmpi_doors_leave(const char *text)
{
	if (doors.path != DOOR_NONE && !doors.shared)
		suci_path_close(net.ep, doors.path, text, suci_udp_now_ns());
}

void
lmpi_doors_fini(void)
{
	free(doors.door);
	free(doors.import);
	doors = (struct lmpi_doors){.path = DOOR_NONE, .due_ns = BASE_NEVER_NS};
	nletters = 0;
}
