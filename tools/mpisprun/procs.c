/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes: starting them, what they say, their death. */
#include "mpisprun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct member *
procs_of_role(struct run *r, uint32_t role)
{
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].alive && r->member[i].role == role)
			return &r->member[i];
	return NULL;
}

uint32_t
procs_alive(const struct run *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nmember; i++)
		n += r->member[i].alive;
	return n;
}

void
procs_end(const struct member *m)
{
	if (m->alive && m->pid > 0)
		(void)kill(m->pid, SIGKILL);
}

void
procs_end_unit(struct run *r, uint32_t unit)
{
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].unit == unit)
			procs_end(&r->member[i]);
}

void
procs_kill_all(struct run *r)
{
	for (uint32_t i = 0; i < r->nmember; i++)
		procs_end(&r->member[i]);
}

void
procs_tell(struct member *m, const struct spx_feed *f)
{
	uint8_t b[2 * SPX_FEED_TEXT];
	size_t n = spx_feed_write(b, sizeof b, f);

	if (m->feed >= 0 && n)
		(void)!send(m->feed, b, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- starting ---- */

void
procs_name(const struct run *r, const struct member *m, char text[SPX_TEXT_MAX])
{
	char role[SPX_TEXT_MAX];
	const char *cluster = r->planned[m->pool / 2].name;
	bool io = m->pool % 2;
	int n = 0;

	if (m->slot == SP_NONE) {
		snprintf(text, SPX_TEXT_MAX, "%s %s", io ? "an I/O process behind" : "a process of",
			 cluster);
		return;
	}
	uint32_t id = spx_id_of_slot(&r->agreed, m->slot);
	if (io)
		snprintf(text, SPX_TEXT_MAX, "I/O process %u behind %s", id, cluster);
	else
		n = snprintf(text, SPX_TEXT_MAX, "process %u, ", id);
	if (!io && m->role == SP_NONE)
		snprintf(text + n, SPX_TEXT_MAX - (size_t)n, "a spare of %s", cluster);
	else if (!io) {
		spx_agreed_name(&r->agreed, m->role, role);
		snprintf(text + n, SPX_TEXT_MAX - (size_t)n, "%.*s", SPX_TEXT_MAX - 32, role);
	}
}

static void
be_program(const struct unit *u, const struct words *program, int feed)
{
	char *argv[2 * WORDS_MAX + 1], number[16];
	sigset_t none;
	int n = 0;

	for (int i = 0; i < u->prefix.n; i++)
		argv[n++] = u->prefix.word[i];
	for (int i = 0; i < program->n; i++)
		argv[n++] = program->word[i];
	argv[n] = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(number, sizeof number, "%d", feed);
	if (fcntl(feed, F_SETFD, 0) == 0 && setenv("LIBMPI_SPX_FEED", number, 1) == 0)
		execvp(argv[0], argv);
	fprintf(stderr, "mpisprun: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static struct words *
program_of(struct run *r, const struct member *m)
{
	static struct words io;

	if (m->pool % 2 == 0)
		return &r->cluster[m->pool / 2].program;
	snprintf(io.text, sizeof io.text, "%s", r->io_program);
	io.word[0] = io.text;
	io.n = 1;
	return &io;
}

/* The next unit of its cluster where processes may run.  false: there is none. */
static bool
place_member(struct run *r, struct member *m)
{
	struct cluster *c = &r->cluster[m->pool / 2];

	for (uint32_t i = 0; i < c->nunit; i++) {
		m->unit = c->unit[c->next_unit++ % c->nunit];
		if (!r->unit[m->unit].lost)
			return true;
	}
	tell_line(r, "cluster %s has no unit left", r->planned[m->pool / 2].name);
	return false;
}

static bool
fork_member(struct run *r, struct member *m)
{
	int pair[2], bytes = SPX_FEED_MAX;

	if (!place_member(r, m))
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		tell_line(r, "no socket for a process: %s", strerror(errno));
		return false;
	}
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	const struct words *program = program_of(r, m);
	m->pid = fork();
	if (m->pid == 0)
		be_program(&r->unit[m->unit], program, pair[1]);
	close(pair[1]);
	m->feed = pair[0];
	m->alive = m->fresh = m->pid > 0;
	if (!m->alive)
		tell_line(r, "a process cannot be started: %s", strerror(errno));
	return m->alive;
}

void
procs_start(struct run *r, uint32_t token, uint8_t pool)
{
	struct member *m = r->nmember < MEMBERS_MAX ? &r->member[r->nmember] : NULL;
	char text[SPX_TEXT_MAX];

	if (m) {
		*m = (struct member){
			.token = token, .slot = SP_NONE, .role = SP_NONE, .pool = pool, .feed = -1};
		r->nmember++;
	} else {
		tell_line(r, "more than %d processes were started", MEMBERS_MAX);
	}
	if (!m || !fork_member(r, m)) {
		r->over = r->failed = true;
		procs_kill_all(r);
		return;
	}
	procs_name(r, m, text);
	tell_line(r, "started %s: pid %d on %s", text, (int)m->pid, r->unit[m->unit].name);
}

/* ---- what is agreed on about them ---- */

static void
set_up_member(struct run *r, struct member *m)
{
	const char *ip = r->unit[m->unit].ip;
	struct spx_feed setup = {.type = SPX_FEED_SETUP,
				 .conf = r->conf,
				 .realm = r->realm,
				 .ip = {ip, (uint32_t)strlen(ip)},
				 .relay = {"", 0}};

	setup.conf.id = spx_id_of_slot(&r->agreed, m->slot);
	procs_tell(m, &setup);
}

static bool
was_played(const struct sp_view *v, uint32_t role, uint32_t but)
{
	for (uint32_t s = 0; s < v->slots; s++)
		if (s != but && v->slot[s].role == role)
			return true;
	return false;
}

static void
follow_member(struct run *r, struct member *m, const struct sp_view *v)
{
	char name[SPX_TEXT_MAX];

	for (uint32_t s = ROLES_MAX; s < v->slots && m->slot == SP_NONE; s++)
		if (v->slot[s].token == m->token) {
			m->slot = s;
			set_up_member(r, m);
		}
	if (m->slot == SP_NONE)
		return;
	const struct sp_slot *of = &v->slot[m->slot];
	if (of->state == SP_SLOT_DEAD) {
		procs_end(m);
		return;
	}
	if (of->role == m->role)
		return;
	m->role = of->role;
	spx_agreed_name(&r->agreed, m->role, name);
	tell_line(r, "%s: process %u %s", name, spx_id_of_slot(&r->agreed, m->slot),
		  was_played(v, m->role, m->slot) ? "takes over" : "begins");
}

void
procs_follow(struct run *r, const struct sp_view *v)
{
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].alive)
			follow_member(r, &r->member[i], v);
}

/* ---- what they say ---- */

static void
end_pipeline(struct run *r)
{
	const struct spx_feed f = {.type = SPX_FEED_OVER};

	r->over = true;
	tell_line(r, "all frames are committed");
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].slot == SP_NONE)
			procs_end(&r->member[i]);
		else if (r->member[i].alive)
			procs_tell(&r->member[i], &f);
}

static void
answer_chain(struct run *r, struct member *m, const struct spx_feed *ask)
{
	char why[SPX_TEXT_MAX] = "", name[SPX_TEXT_MAX];
	struct spx_feed f = {.type = SPX_FEED_ANSWER, .number = ask->number};

	f.ok = agree_chains(r, ask->text.at, ask->text.len, why);
	f.text = (struct spx_feed_text){why, (uint32_t)strlen(why)};
	procs_name(r, m, name);
	tell_line(r, "%s: chain %.*s: %s", name, (int)ask->text.len, ask->text.at,
		  f.ok ? "done" : why);
	procs_tell(m, &f);
}

static void
hear_hello(struct run *r, struct member *m, const struct spx_feed *f)
{
	if (m->slot == SP_NONE || f->text.len >= sizeof m->address)
		return;
	memcpy(m->address, f->text.at, f->text.len);
	m->address[f->text.len] = '\0';
	m->ready = r->changed = true;
	sp_node_reached(r->node, m->slot, run_now_ns());
}

static void
take_feed(struct run *r, struct member *m, const struct spx_feed *f)
{
	char name[SPX_TEXT_MAX];

	switch (f->type) {
	case SPX_FEED_HELLO:
		hear_hello(r, m, f);
		break;
	case SPX_FEED_CHAIN_OPS:
		answer_chain(r, m, f);
		break;
	case SPX_FEED_EVENT:
		procs_name(r, m, name);
		tell_line(r, "%s: %.*s", name, (int)f->text.len, f->text.at);
		break;
	case SPX_FEED_DONE:
		if (m->slot != SP_NONE)
			r->left[m->slot] = true;
		if (!r->over &&
		    spx_agreed_done(&r->agreed, sp_node_view(r->node), &r->view, r->left))
			end_pipeline(r);
		break;
	default:
		break;
	}
}

void
procs_hear(struct run *r, struct member *m)
{
	enum { ROOM = 8192 };
	char why[SPX_TEXT_MAX], name[SPX_TEXT_MAX];
	struct spx_feed f;

	if (!m->in)
		m->in = malloc(ROOM);
	ssize_t n = m->in ? recv(m->feed, m->in + m->in_len, ROOM - m->in_len, MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	m->in_len += n > 0 ? (size_t)n : 0;
	while (n > 0 && m->in_len >= 4) {
		size_t len = spx_feed_length(m->in);
		if (!len || len > ROOM ||
		    (len <= m->in_len && !spx_feed_read(&f, m->in, len, why))) {
			procs_name(r, m, name);
			tell_line(r, "%s says what cannot be understood, and is ended", name);
			procs_end(m);
			n = 0;
			break;
		}
		if (len > m->in_len)
			return;
		take_feed(r, m, &f);
		m->in_len -= len;
		memmove(m->in, m->in + len, m->in_len);
	}
	if (n <= 0) {
		close(m->feed);
		m->feed = -1;
	}
}

/* ---- their death ---- */

static void
judge_death(struct run *r, const struct member *m)
{
	if (!m->ready) {
		tell_line(r,
			  "its program did not come to MPI_Init under a pipeline: all is stopped");
		agree_stop(r, SP_WHY_FAULTS);
	} else if (++r->deaths > r->deaths_max) {
		tell_line(r, "more than %u processes died: all is stopped", r->deaths_max);
		agree_stop(r, SP_WHY_FAULTS);
	}
	if (m->slot == SP_NONE)
		sp_node_gone(r->node, m->token, run_now_ns());
	else
		sp_node_died(r->node, m->slot, SP_WHY_EXIT, run_now_ns());
}

static void
bury_member(struct run *r, struct member *m, int status)
{
	char text[SPX_TEXT_MAX], how[64];

	procs_name(r, m, text);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof how, "status %d", WEXITSTATUS(status));
	m->alive = m->fresh = false;
	if (m->feed >= 0)
		close(m->feed);
	m->feed = -1;
	free(m->in);
	m->in = NULL;
	if (r->over && m->slot == SP_NONE) /* it was not told who it is, and was ended */
		return;
	r->failed |= r->over && status != 0;
	if (r->over) {
		if (status != 0)
			tell_line(r, "%s ended with %s", text, how);
		return;
	}
	tell_line(r, "%s died: %s", text, how);
	judge_death(r, m);
}

void
procs_reap(struct run *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < r->nmember; i++)
			if (r->member[i].alive && r->member[i].pid == pid)
				bury_member(r, &r->member[i], status);
}
