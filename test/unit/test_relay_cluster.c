/* SPDX-License-Identifier: BSD-2-Clause */
/* The job coordinator of a cluster, one relay of it: what it orders and sends for what it hears. */
#include "relay_job_maker.h"

#include "relay/cluster.h"

#include "cmocka_all.h"

#include <stdio.h>

#define RELAYS	3
#define WORKERS 2
#define BASE_0	0x01000040u /* handed out by relay 0 */
#define BASE_1	0x02000040u
#define LOG_MAX 4096

struct relay {
	struct relay_cluster *c;
	void *mem;
	struct relay_labels labels;
	struct relay_member member[RELAYS];
	uint32_t up; /* channels, a bit each */
	uint32_t rooms;
	/* "add 0 3", "end g text", "finish g", "job>1", "OK>1", "END>1 text", "installed", ... */
	char log[LOG_MAX];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) note(struct relay *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	r->len += (size_t)vsnprintf(r->log + r->len, LOG_MAX - r->len, fmt, ap);
	va_end(ap);
	assert_true(r->len < LOG_MAX);
}

static void
forget_log(struct relay *r)
{
	r->len = 0;
	r->log[0] = '\0';
}

static void
assert_log_at(struct relay *r, const char *want, int line)
{
	if (strcmp(r->log, want))
		print_error("line %d:\n  got  \"%s\"\n  want \"%s\"\n", line, r->log, want);
	assert_string_equal(r->log, want);
	forget_log(r);
}
#define assert_log(r, want) assert_log_at(r, want, __LINE__)

static void
order(void *user, const struct relay_cluster_order *o)
{
	static const char *const names[] = {"add", "end", "finish", "elsewhere"};
	char place[16] = "g";
	if (o->place != RELAY_CLUSTER_GATEWAY)
		snprintf(place, sizeof place, "%u", o->place);
	note(user, "%s %s", names[o->type], place);
	if (o->type == RELAY_CLUSTER_ELSEWHERE)
		note(user, " %u", o->ways);
	note(user, "%s%s; ", *o->text ? " " : "", o->text);
}

static bool
send_frame(void *user, uint32_t i, const struct relay_peer_frame *f)
{
	static const char *const names[] = {"",	    "JOB",  "OK",   "REFUSE", "END",
					    "PING", "PONG", "GIVE", "WAYS"};
	struct relay *r = user;
	if (!(r->up >> i & 1))
		return false;
	note(r, "%s>%u%s%s; ", names[f->type], i, *f->text ? " " : "", f->text);
	return true;
}

static bool
send_job(void *user, uint32_t i, const struct relay_job *table)
{
	struct relay *r = user;
	(void)table;
	if (!(r->up >> i & 1))
		return false;
	note(r, "JOB>%u; ", i);
	return true;
}

static void *
room(void *user, size_t len)
{
	((struct relay *)user)->rooms++;
	return malloc(len);
}

static void
give_back(void *user, void *mem)
{
	((struct relay *)user)->rooms--;
	free(mem);
}

static void
installed(void *user, void *owner, const char *refusal)
{
	assert_ptr_equal(owner, user);
	note(user, "installed%s%s; ", refusal ? " " : "", refusal ? refusal : "");
}

static void
aborted(void *user, void *owner, const char *why)
{
	assert_ptr_equal(owner, user);
	note(user, "aborted %s; ", why);
}

static void
handed_over(void *user, void *owner)
{
	assert_ptr_equal(owner, user);
	note(user, "handed over; ");
}

static void
say(void *user, enum relay_cluster_level level, void *owner, uint32_t id, uint32_t primary,
    const char *text)
{
	(void)user;
	(void)level;
	(void)owner;
	(void)id;
	(void)primary;
	assert_true(*text);
}

static const struct relay_cluster_ops ops = {
	.order = order,
	.send = send_frame,
	.send_job = send_job,
	.room = room,
	.give_back = give_back,
	.installed = installed,
	.aborted = aborted,
	.handed_over = handed_over,
	.say = say,
};

static struct relay_cluster_conf
conf_of(struct relay *r, uint32_t self)
{
	for (uint32_t i = 0; i < RELAYS; i++)
		r->member[i] = (struct relay_member){
			.ipv4_global = maker_relay_ip(0, i),
			.ipv4_private = 0x0a000001u + i,
			.nshards = WORKERS,
			.port_global = {7000, 7001},
		};
	relay_labels_init(&r->labels, self);
	return (struct relay_cluster_conf){
		.self = self,
		.nrelays = RELAYS,
		.member = r->member,
		.name = "a",
		.gateway = true,
		.jobs_max = 2,
		.limits = {.nworld_max = 64, .nhosts_max = 64},
		.labels = &r->labels,
		.ops = &ops,
		.user = r,
	};
}

/* Relay `self`, with channels to both others. */
static struct relay *
make(void **state, uint32_t self)
{
	(void)state;
	struct relay *r = calloc(1, sizeof *r);
	assert_non_null(r);
	struct relay_cluster_conf conf = conf_of(r, self);
	r->mem = malloc(relay_cluster_footprint(&conf));
	r->c = relay_cluster_new(r->mem, &conf);
	assert_non_null(r->c);
	r->up = 7;
	return r;
}

static void
drop(struct relay *r, struct relay_job *t)
{
	const char *what = "";
	if (!relay_cluster_check(r->c, &what))
		fail_msg("%s", what);
	relay_cluster_fini(r->c);
	assert_int_equal(r->rooms, 0);
	free(r->mem);
	free(r);
	free(t);
}

static struct relay_job *
table(uint32_t label_base, bool foreign)
{
	struct job_spec s = {.nclients = 2,
			     .nprocs = {6, 2},
			     .nrelays = {RELAYS, foreign ? 0 : 1},
			     .label_base = {label_base, 0x05000040},
			     .foreign = {0, foreign},
			     .token = 77,
			     .id = 9};
	return make_job(&s);
}

static void
frame(struct relay *r, uint32_t from, enum relay_peer_type type, uint32_t job, const char *text)
{
	struct relay_peer_frame f = {.type = (uint8_t)type, .job = job};
	snprintf(f.text, sizeof f.text, "%s", text);
	relay_cluster_frame(r->c, from, &f);
}

static void
give_table(struct relay *r, uint32_t from, const struct relay_job *t)
{
	uint8_t bytes[16384];
	struct relay_peer_frame f;
	size_t n = relay_peer_encode_job(t, bytes, sizeof bytes);
	assert_int_equal(relay_peer_decode(bytes, n, &f, NULL), (long)n);
	relay_cluster_frame(r->c, from, &f);
}

static void
done(struct relay *r, uint32_t job, enum relay_cluster_order_type type, bool gateway)
{
	for (uint32_t w = 0; w < WORKERS; w++)
		relay_cluster_answer(r->c, job, type, w, NULL);
	if (gateway)
		relay_cluster_answer(r->c, job, type, RELAY_CLUSTER_GATEWAY, NULL);
}

/* ---- primary ------------------------------------------------------------------------ */

static void
primary_waits_for_all(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	assert_log(r, "JOB>1; JOB>2; add 0; add 1; ");
	done(r, j, RELAY_CLUSTER_ADD, false);
	frame(r, 1, RELAY_PEER_OK, BASE_0, "");
	frame(r, 1, RELAY_PEER_OK, BASE_0, "");
	assert_log(r, "");
	frame(r, 2, RELAY_PEER_OK, BASE_0, "");
	assert_log(r, "installed; ");
	/* Others need time to leave; in a job that survives deaths all of the cluster's have. */
	relay_cluster_state(r->c, BASE_0, 0, 0, true, 5);
	assert_false(relay_cluster_left(r->c, j, 5 + RELAY_CLUSTER_ORPHAN_NS));
	assert_true(relay_cluster_left(r->c, j, 6 + RELAY_CLUSTER_ORPHAN_NS));
	relay_cluster_tolerate(r->c, BASE_0);
	assert_true(relay_cluster_left(r->c, j, 5));
	relay_cluster_end(r->c, j, NULL);
	relay_cluster_end(r->c, j, NULL);
	assert_log(r, "end 0; end 1; END>1; END>2; ");
	assert_false(relay_cluster_over(r->c, j));
	done(r, j, RELAY_CLUSTER_END, false);
	assert_true(relay_cluster_over(r->c, j));
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

static void
refusals_name_who(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	assert_log(r, "JOB>1; JOB>2; add 0; add 1; ");
	frame(r, 2, RELAY_PEER_REFUSE, BASE_0, "no room");
	assert_log(r, "installed relay 10.0.0.3 of cluster a refuses the job: no room; ");
	/* One from before tables had IPv6 addresses says what it sees of them. */
	impi_hostid_encode(&(struct impi_hostid){.kind = 1, .port = 1}, t->local[0].id);
	frame(r, 1, RELAY_PEER_REFUSE, BASE_0, "longer than its counts say");
	assert_log(r,
		   "installed relay 10.0.0.2 of cluster a refuses the job: longer than its "
		   "counts say (older ones know no processes with IPv6 alone; fix: update it); ");
	relay_cluster_answer(r->c, j, RELAY_CLUSTER_ADD, 1, "full");
	assert_log(r, "installed relay refuses the job: full; ");
	relay_cluster_end(r->c, j, "refused");
	assert_log(r, "end 0 refused; "); /* 1 and 2 have not got it */
	relay_cluster_answer(r->c, j, RELAY_CLUSTER_ADD, 0, NULL);
	relay_cluster_answer(r->c, j, RELAY_CLUSTER_END, 0, NULL);
	assert_log(r, "");
	assert_true(relay_cluster_over(r->c, j));
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

static void
relay_that_is_not_reached(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	r->up = 1 << 1;
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	assert_log(r, "JOB>1; add 0; add 1; ");
	done(r, j, RELAY_CLUSTER_ADD, false);
	frame(r, 1, RELAY_PEER_OK, BASE_0, "");
	relay_cluster_tick(r->c, RELAY_CLUSTER_JOIN_NS);
	assert_log(r, "");
	relay_cluster_tick(r->c, 1 + RELAY_CLUSTER_JOIN_NS);
	assert_log(r, "installed; ");
	/* It comes later, and gets the table. */
	r->up = 7;
	relay_cluster_up(r->c, 2);
	assert_log(r, "GIVE>2; WAYS>2; ");
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "JOB>2; WAYS>2; ");
	frame(r, 2, RELAY_PEER_REFUSE, BASE_0, "no room"); /* nothing depends on it */
	assert_log(r, "");
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "JOB>2; WAYS>2; ");
	relay_cluster_end(r->c, j, "why");
	assert_log(r, "end 0 why; end 1 why; END>1 why; END>2 why; ");
	done(r, j, RELAY_CLUSTER_END, false);
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

/* Its channel came up while the job's start-up was under way: it asked too early. */
static void
relay_that_is_no_member(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	uint32_t j = relay_cluster_begin(r->c, r, t, 3, 1);
	assert_log(r, "JOB>1; add 0; add 1; ");
	done(r, j, RELAY_CLUSTER_ADD, false);
	assert_log(r, "JOB>2; ");
	frame(r, 1, RELAY_PEER_OK, BASE_0, "");
	assert_log(r, "installed; ");
	frame(r, 2, RELAY_PEER_OK, BASE_0, "");
	relay_cluster_end(r->c, j, NULL);
	assert_log(r, "end 0; end 1; END>1; END>2; ");
	done(r, j, RELAY_CLUSTER_END, false);
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

static void
gateways_finish_first(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, true);
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	assert_log(r, "JOB>1; JOB>2; add 0; add 1; add g; ");
	done(r, j, RELAY_CLUSTER_ADD, true);
	frame(r, 1, RELAY_PEER_OK, BASE_0, "");
	frame(r, 2, RELAY_PEER_OK, BASE_0, "");
	relay_cluster_running(r->c, j);
	assert_log(r, "installed; ");
	relay_cluster_end(r->c, j, NULL);
	assert_log(r, "finish g; END>1; END>2; ");
	assert_false(relay_cluster_over(r->c, j));
	relay_cluster_answer(r->c, j, RELAY_CLUSTER_FINISH, RELAY_CLUSTER_GATEWAY, NULL);
	frame(r, 2, RELAY_PEER_END, BASE_0, "");
	relay_cluster_finished(r->c, BASE_0, "");
	assert_log(r, "");
	frame(r, 1, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "end 0; end 1; END>1; END>2; ");
	done(r, j, RELAY_CLUSTER_END, false);
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

static void
death_of_a_relay(void **state)
{
	for (int foreign = 0; foreign < 2; foreign++) {
		struct relay *r = make(state, 0);
		struct relay_job *t = table(BASE_0, foreign);
		uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
		done(r, j, RELAY_CLUSTER_ADD, foreign);
		frame(r, 1, RELAY_PEER_OK, BASE_0, "");
		frame(r, 2, RELAY_PEER_OK, BASE_0, "");
		relay_cluster_running(r->c, j);
		forget_log(r);
		r->up = 1 << 1;
		relay_cluster_down(r->c, 2, "no answer");
		assert_log(r, foreign ? "aborted relay 10.0.0.3 of cluster a is gone: no answer; "
				      : "");
		relay_cluster_forget(r->c, j);
		drop(r, t);
	}
}

static void
worker_ends_it(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	done(r, j, RELAY_CLUSTER_ADD, false);
	forget_log(r);
	relay_cluster_ended(r->c, BASE_0, 1, "a process died");
	assert_log(r, "aborted a process died; ");
	relay_cluster_end(r->c, j, "a process died");
	assert_log(r, "end 0 a process died; END>1 a process died; END>2 a process died; ");
	relay_cluster_answer(r->c, j, RELAY_CLUSTER_END, 0, NULL);
	assert_true(relay_cluster_over(r->c, j));
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

/* What an orphan gives of our running job is not installed again, and nothing of ours is lost. */
static void
own_table_comes_back(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	uint32_t j = relay_cluster_begin(r->c, r, t, 7, 1);
	done(r, j, RELAY_CLUSTER_ADD, false);
	forget_log(r);
	give_table(r, 1, t);
	assert_log(r, "");
	relay_cluster_end(r->c, j, NULL);
	assert_log(r, "end 0; end 1; END>1; END>2; ");
	done(r, j, RELAY_CLUSTER_END, false);
	/* And once it has ended, who still has it hears so. */
	give_table(r, 1, t);
	assert_log(r, "END>1; ");
	relay_cluster_forget(r->c, j);
	drop(r, t);
}

/* ---- member ------------------------------------------------------------------------------ */

static void
member_answers(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	assert_log(r, "add 0; add 1; ");
	done(r, 0, RELAY_CLUSTER_ADD, false);
	assert_log(r, "OK>0; ");
	give_table(r, 0, t); /* the channel was cut */
	assert_log(r, "OK>0; ");
	frame(r, 0, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	assert_int_equal(relay_cluster_members(r->c), 0);
	drop(r, t);
}

static void
member_refuses(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	assert_log(r, "add 0; add 1; ");
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_ADD, 0, "full");
	assert_log(r, "REFUSE>0 full; ");
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_ADD, 1, NULL);
	assert_log(r, "end 1 the job was refused; ");
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_END, 1, NULL);
	assert_int_equal(relay_cluster_members(r->c), 0);
	relay_cluster_drain(r->c, false);
	give_table(r, 0, t);
	assert_log(r, "REFUSE>0 the relay stops; ");
	drop(r, t);
}

/* Two jobs are all that it takes, and labels are of one job at a time. */
static void
member_has_limits(void **state)
{
	struct relay *r = make(state, 2);
	struct relay_job *t[3];
	for (uint32_t i = 0; i < 3; i++) {
		t[i] = table(BASE_0 + 0x40 * i, false);
		give_table(r, 0, t[i]);
	}
	assert_log(r, "add 0; add 1; add 0; add 1; REFUSE>0 this relay has as many jobs as it can "
		      "(limits.jobs); ");
	t[0]->token++;
	give_table(r, 0, t[0]);
	assert_log(r, "REFUSE>0 another job that is not over here has its labels; ");
	for (uint32_t i = 0; i < 3; i++)
		free(t[i]);
	drop(r, NULL);
}

static void
member_finishes(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, true);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, true);
	assert_log(r, "add 0; add 1; add g; OK>0; ");
	frame(r, 0, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "finish g; ");
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_FINISH, RELAY_CLUSTER_GATEWAY, NULL);
	relay_cluster_finished(r->c, BASE_0, "");
	assert_log(r, "END>0; ");
	frame(r, 0, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	drop(r, t);
}

static void
orphan_ends_when_all_left(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	assert_log(r, "add 0; add 1; OK>0; ");
	relay_cluster_state(r->c, BASE_0, 0, 0, true, 5);
	relay_cluster_tick(r->c, 6 + RELAY_CLUSTER_ORPHAN_NS); /* its primary will say so */
	assert_log(r, "");
	r->up = 1 << 2;
	relay_cluster_down(r->c, 0, "no answer");
	assert_log(r, "JOB>2; ");
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "JOB>2; WAYS>2; ");
	relay_cluster_tick(r->c, 6 + RELAY_CLUSTER_ORPHAN_NS);
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	drop(r, t);
}

/* Its primary comes back as somebody who has forgotten: an orphan it stays. */
static void
primary_starts_anew(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	relay_cluster_down(r->c, 0, "no answer");
	forget_log(r);
	relay_cluster_up(r->c, 0);
	frame(r, 0, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "GIVE>0; WAYS>0; JOB>0; WAYS>0; ");
	frame(r, 0, RELAY_PEER_OK, BASE_0, "");
	give_table(r, 0, t);
	assert_log(r, "OK>0; ");
	relay_cluster_state(r->c, BASE_0, 0, 0, true, 5);
	relay_cluster_tick(r->c, 6 + RELAY_CLUSTER_ORPHAN_NS);
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	drop(r, t);
}

/* The labels of an earlier life are taken while that life's job is here, and it says that it is
 * not its primary. */
static void
own_job_of_an_earlier_life(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 1, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	assert_log(r, "add 0; add 1; OK>1; JOB>2; OK>2; "); /* a member like him */
	r->labels.next = 0;
	assert_int_not_equal(relay_labels_alloc(&r->labels, 4), 0);
	assert_false(relay_labels_take(&r->labels, BASE_0, 4));
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "JOB>2; OK>2; WAYS>2; ");
	frame(r, 1, RELAY_PEER_END, BASE_0, "over");
	assert_log(r, "end 0 over; end 1 over; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	assert_true(relay_labels_take(&r->labels, BASE_0, 4));
	drop(r, t);
}

/* Asked for before it was an orphan: given when it is one. */
static void
given_later(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	forget_log(r);
	frame(r, 2, RELAY_PEER_GIVE, 0, "");
	assert_log(r, "WAYS>2; ");
	relay_cluster_down(r->c, 0, "no answer");
	assert_log(r, "JOB>2; ");
	drop(r, t);
}

/* Its primary goes before the workers have answered: their processes go on all the same. */
static void
orphan_before_it_is_installed(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_ADD, 0, NULL);
	r->up = 1 << 2;
	relay_cluster_down(r->c, 0, "no answer");
	assert_log(r, "add 0; add 1; ");
	relay_cluster_answer(r->c, 0, RELAY_CLUSTER_ADD, 1, NULL);
	assert_log(r, "JOB>2; ");
	r->up = 7;
	relay_cluster_up(r->c, 0);
	assert_log(r, "GIVE>0; WAYS>0; ");
	give_table(r, 0, t);
	assert_log(r, "OK>0; ");
	frame(r, 0, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	drop(r, t);
}

/* Nobody asked for it since it began, and the primary may not have reached all. */
static void
orphan_is_offered(void **state)
{
	for (int has = 0; has < 2; has++) {
		struct relay *r = make(state, 1);
		struct relay_job *t = table(BASE_0, false);
		give_table(r, 0, t);
		done(r, 0, RELAY_CLUSTER_ADD, false);
		if (has)
			frame(r, 2, RELAY_PEER_WAYS, BASE_0, "");
		forget_log(r);
		r->up = 1 << 2;
		relay_cluster_down(r->c, 0, "no answer");
		assert_log(r, has ? "" : "JOB>2; ");
		drop(r, t);
	}
	/* From another orphan it goes further, but not back. */
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	r->up = 1 << 2;
	give_table(r, 2, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	assert_log(r, "add 0; add 1; OK>2; ");
	r->up = 7;
	struct relay_job *other = table(BASE_1 + 0x1000000, false);
	give_table(r, 0, other);
	done(r, 1, RELAY_CLUSTER_ADD, false);
	assert_log(r, "add 0; add 1; OK>0; JOB>2; ");
	drop(r, t);
	free(other);
}

/* Who lost the primary offers the table to us, who have not: the primary's word still counts. */
static void
offer_with_a_primary(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	forget_log(r);
	give_table(r, 2, t);
	assert_log(r, "");
	frame(r, 0, RELAY_PEER_END, BASE_0, "");
	assert_log(r, "end 0; end 1; ");
	done(r, 0, RELAY_CLUSTER_END, false);
	drop(r, t);
}

static void
bad_tables(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	uint8_t body[16] = {[8] = 1, [11] = 0x40};
	struct relay_peer_frame f = {.type = RELAY_PEER_JOB, .body = body, .body_len = 16};
	relay_cluster_frame(r->c, 0, &f);
	assert_memory_equal(r->log, "REFUSE>0 ", 9);
	forget_log(r);
	f.body_len = 11; /* nobody knows which job */
	relay_cluster_frame(r->c, 0, &f);
	assert_log(r, "");
	struct impi_hostid id = {77, IMPI_HOSTID_RELAY, 7002, maker_relay_ip(0, 1), 0, 0};
	impi_hostid_encode(&id, t->host[1].id);
	give_table(r, 0, t);
	assert_log(r, "REFUSE>0 it names workers that this relay does not have: "
		      "cluster.relays[].workers, workers or udp_port differ between the relays; ");
	relay_cluster_frame(r->c, 1, &f); /* from itself, from nobody */
	relay_cluster_frame(r->c, RELAYS, &f);
	assert_log(r, "");
	drop(r, t);
}

/* ---- ways, the end ------------------------------------------------------------------------- */

static void
ways_are_shared(void **state)
{
	struct relay *r = make(state, 1);
	struct relay_job *t = table(BASE_0, false);
	give_table(r, 0, t);
	done(r, 0, RELAY_CLUSTER_ADD, false);
	forget_log(r);
	relay_cluster_state(r->c, BASE_0, 0, 2, false, 5);
	assert_log(r, "elsewhere 1 2; WAYS>0; WAYS>2; ");
	relay_cluster_state(r->c, BASE_0, 0, 2, false, 6);
	assert_log(r, "");
	struct relay_peer_frame f = {.type = RELAY_PEER_WAYS, .job = BASE_0, .ways = 1};
	relay_cluster_frame(r->c, 2, &f);
	assert_log(r, "elsewhere 0 1; elsewhere 1 3; ");
	relay_cluster_down(r->c, 2, "no answer");
	assert_log(r, "elsewhere 0 0; elsewhere 1 2; ");
	relay_cluster_state(r->c, BASE_1, 0, 2, false, 6); /* not here */
	assert_log(r, "");
	drop(r, t);
}

static void
hands_over_what_goes_on(void **state)
{
	struct relay *r = make(state, 0);
	struct relay_job *own = table(BASE_0, false), *other = table(BASE_1, true);
	uint32_t j = relay_cluster_begin(r->c, r, own, 1, 1);
	done(r, j, RELAY_CLUSTER_ADD, false);
	relay_cluster_running(r->c, j);
	give_table(r, 1, other);
	done(r, j + 1, RELAY_CLUSTER_ADD, true);
	assert_int_equal(relay_cluster_bound(r->c), 1);
	forget_log(r);
	relay_cluster_drain(r->c, true);
	relay_cluster_hand_over(r->c);
	assert_log(r, "handed over; ");
	assert_true(relay_cluster_over(r->c, j));
	relay_cluster_end_all(r->c, "stops");
	assert_log(r, "END>1 stops; end g stops; end 0 stops; end 1 stops; ");
	relay_cluster_forget(r->c, j);
	drop(r, own);
	free(other);
}

static void
configuration(void **state)
{
	struct relay r = {0};
	struct relay_cluster_conf good = conf_of(&r, 0), bad = good;
	(void)state;
	assert_true(relay_cluster_footprint(&good) > 0);
	bad.self = RELAYS;
	assert_int_equal(relay_cluster_footprint(&bad), 0);
	bad = good;
	bad.jobs_max = 0;
	assert_int_equal(relay_cluster_footprint(&bad), 0);
	bad = good;
	bad.limits.nworld_max = 0;
	assert_null(relay_cluster_new(&r, &bad));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(primary_waits_for_all),
		cmocka_unit_test(refusals_name_who),
		cmocka_unit_test(relay_that_is_not_reached),
		cmocka_unit_test(relay_that_is_no_member),
		cmocka_unit_test(gateways_finish_first),
		cmocka_unit_test(death_of_a_relay),
		cmocka_unit_test(worker_ends_it),
		cmocka_unit_test(own_table_comes_back),
		cmocka_unit_test(member_answers),
		cmocka_unit_test(member_refuses),
		cmocka_unit_test(member_has_limits),
		cmocka_unit_test(member_finishes),
		cmocka_unit_test(orphan_ends_when_all_left),
		cmocka_unit_test(primary_starts_anew),
		cmocka_unit_test(own_job_of_an_earlier_life),
		cmocka_unit_test(given_later),
		cmocka_unit_test(orphan_before_it_is_installed),
		cmocka_unit_test(orphan_is_offered),
		cmocka_unit_test(offer_with_a_primary),
		cmocka_unit_test(bad_tables),
		cmocka_unit_test(ways_are_shared),
		cmocka_unit_test(hands_over_what_goes_on),
		cmocka_unit_test(configuration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
