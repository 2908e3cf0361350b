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
procs_of_role(struct run *r, uint16_t cluster, uint16_t rank)
{
	for (uint32_t i = 0; i < r->nmember; i++) {
		struct member *m = &r->member[i];
		if (m->alive && m->role == MEMBER_RANK && m->cluster == cluster && m->rank == rank)
			return m;
	}
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

static void
name_process(const struct run *r, const struct member *m, char *text, size_t room)
{
	const char *cluster = r->view.cluster[m->cluster].name;

	if (m->role == MEMBER_IO)
		snprintf(text, room, "I/O process %u behind %s", m->id, cluster);
	else if (m->role == MEMBER_SPARE)
		snprintf(text, room, "process %u, a spare of %s", m->id, cluster);
	else
		snprintf(text, room, "process %u, rank %u of %s", m->id, m->rank, cluster);
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

	if (m->role != MEMBER_IO)
		return &r->cluster[m->cluster].program;
	snprintf(io.text, sizeof io.text, "%s", r->io_program);
	io.word[0] = io.text;
	io.n = 1;
	return &io;
}

static void
start_member(struct run *r, struct member *m)
{
	struct cluster *c = &r->cluster[m->cluster];
	struct spx_feed setup = {.type = SPX_FEED_SETUP, .conf = r->conf, .realm = r->realm};
	char text[128];
	int pair[2];

	m->id = (uint32_t)(m - r->member) + 1;
	for (uint32_t i = 0; i < c->nunit; i++) {
		m->unit = c->unit[c->next_unit++ % c->nunit];
		if (!r->unit[m->unit].lost)
			break;
	}
	if (r->unit[m->unit].lost) {
		tell_line(r, "cluster %s has no unit left", r->view.cluster[m->cluster].name);
		r->over = r->failed = true;
		procs_kill_all(r);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		tell_line(r, "no socket for a process: %s", strerror(errno));
		r->over = r->failed = true;
		return;
	}
	int bytes = SPX_FEED_MAX;
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	const struct words *program = program_of(r, m);
	m->pid = fork();
	if (m->pid == 0)
		be_program(&r->unit[m->unit], program, pair[1]);
	close(pair[1]);
	m->feed = pair[0];
	m->alive = m->pid > 0;
	setup.conf.id = m->id;
	setup.ip =
		(struct spx_feed_text){r->unit[m->unit].ip, (uint32_t)strlen(r->unit[m->unit].ip)};
	setup.relay.at = "";
	procs_tell(m, &setup);
	name_process(r, m, text, sizeof text);
	tell_line(r, "started %s: pid %d on %s", text, (int)m->pid, r->unit[m->unit].name);
	r->changed = true;
}

static struct member *
add_process(struct run *r, enum member_role role, uint16_t cluster)
{
	if (r->nmember == MEMBERS_MAX) {
		tell_line(r, "more than %d processes were started", MEMBERS_MAX);
		r->over = r->failed = true;
		return NULL;
	}
	struct member *m = &r->member[r->nmember++];
	*m = (struct member){.role = role, .cluster = cluster, .feed = -1};
	return m;
}

/* One that is ready, if there is one. */
static struct member *
find_ready_spare(struct run *r, uint16_t cluster)
{
	struct member *found = NULL;

	for (uint32_t i = 0; i < r->nmember; i++) {
		struct member *m = &r->member[i];
		if (m->alive && m->role == MEMBER_SPARE && m->cluster == cluster &&
		    (!found || (m->ready && !found->ready)))
			found = m;
	}
	return found;
}

static void
fill_rank(struct run *r, uint16_t k, uint16_t rank)
{
	struct member *m = find_ready_spare(r, k);
	bool first = true;

	for (uint32_t i = 0; i < r->nmember; i++)
		first &= r->member[i].role != MEMBER_RANK || r->member[i].cluster != k ||
			 r->member[i].rank != rank;
	if (!first)
		r->cluster[k].takeovers[rank]++;
	if (!first && m) {
		m->role = MEMBER_RANK;
		m->rank = rank;
		tell_line(r, "rank %u of %s: process %u takes over", rank, r->view.cluster[k].name,
			  m->id);
		r->changed = true;
		return;
	}
	m = add_process(r, MEMBER_RANK, k);
	if (!m)
		return;
	m->rank = rank;
	start_member(r, m);
}

void
procs_fill(struct run *r)
{
	for (uint16_t k = 0; k < r->view.ncluster && !r->over; k++) {
		uint32_t spares = 0;
		for (uint16_t rank = 0; rank < r->view.cluster[k].compute && !r->over; rank++)
			if (!procs_of_role(r, k, rank))
				fill_rank(r, k, rank);
		for (uint32_t i = 0; i < r->nmember; i++)
			spares += r->member[i].alive && r->member[i].role == MEMBER_SPARE &&
				  r->member[i].cluster == k;
		for (; spares < r->cluster[k].spares && !r->over; spares++) {
			struct member *m = add_process(r, MEMBER_SPARE, k);
			if (m)
				start_member(r, m);
		}
	}
	for (uint32_t i = 0; i < r->nmember && !r->over; i++)
		if (r->member[i].id == 0)
			start_member(r, &r->member[i]);
}

/* ---- what they say ---- */

/* All that make frames have made and seen committed what they wanted. */
static bool
is_all_done(struct run *r)
{
	bool any = false;

	for (uint16_t k = 0; k < r->view.ncluster; k++) {
		if (spx_view_into(&r->view, k) || !spx_view_out_of(&r->view, k))
			continue;
		any = true;
		for (uint16_t rank = 0; rank < r->view.cluster[k].compute; rank++) {
			const struct member *m = procs_of_role(r, k, rank);
			if (!m || !m->done)
				return false;
		}
	}
	return any;
}

static void
end_pipeline(struct run *r)
{
	const struct spx_feed f = {.type = SPX_FEED_OVER};

	r->over = true;
	tell_line(r, "all frames are committed");
	for (uint32_t i = 0; i < r->nmember; i++)
		if (r->member[i].alive)
			procs_tell(&r->member[i], &f);
}

static void
answer_chain(struct run *r, struct member *m, const struct spx_feed *ask)
{
	char why[SPX_TEXT_MAX] = "";
	struct spx_feed f = {.type = SPX_FEED_ANSWER, .number = ask->number};

	f.ok = spx_chain_ops(&r->view, r->view.chain, &r->view.nchain, ask->text.at, ask->text.len,
			     why);
	f.text = (struct spx_feed_text){why, (uint32_t)strlen(why)};
	tell_line(r, "process %u: chain %.*s: %s", m->id, (int)ask->text.len, ask->text.at,
		  f.ok ? "done" : why);
	r->changed |= f.ok;
	procs_tell(m, &f);
}

static void
take_feed(struct run *r, struct member *m, const struct spx_feed *f)
{
	switch (f->type) {
	case SPX_FEED_HELLO:
		memcpy(m->address, f->text.at, f->text.len);
		m->address[f->text.len] = '\0';
		m->ready = true;
		r->changed |= m->role != MEMBER_SPARE;
		break;
	case SPX_FEED_CHAIN_OPS:
		answer_chain(r, m, f);
		break;
	case SPX_FEED_EVENT:
		tell_line(r, "process %u: %.*s", m->id, (int)f->text.len, f->text.at);
		break;
	case SPX_FEED_DONE:
		m->done = true;
		if (!r->over && is_all_done(r))
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
	char why[SPX_TEXT_MAX];
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
			tell_line(r, "process %u says what cannot be understood, and is ended",
				  m->id);
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
bury_member(struct run *r, struct member *m, int status)
{
	char text[128], how[64];

	name_process(r, m, text, sizeof text);
	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof how, "status %d", WEXITSTATUS(status));
	m->alive = false;
	if (m->feed >= 0)
		close(m->feed);
	m->feed = -1;
	free(m->in);
	m->in = NULL;
	r->failed |= r->over && status != 0;
	if (r->over) {
		if (status != 0)
			tell_line(r, "%s ended with %s", text, how);
		return;
	}
	tell_line(r, "%s died: %s", text, how);
	r->changed = true;
	if (!m->ready || ++r->deaths > r->deaths_max) {
		if (m->ready)
			tell_line(r, "more than %u processes died: all is stopped", r->deaths_max);
		else
			tell_line(r,
				  "its program did not come to MPI_Init under a pipeline: all is "
				  "stopped");
		r->over = r->failed = true;
		procs_kill_all(r);
		return;
	}
	if (m->role == MEMBER_IO) {
		struct member *next = add_process(r, MEMBER_IO, m->cluster);
		if (next)
			next->serves = m->serves;
	}
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
