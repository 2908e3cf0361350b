/* SPDX-License-Identifier: BSD-2-Clause */
/* The address database: ids and where they are. */
#include "datagram_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX       (16u << 20)
#define LINE_MAX_BYTES 256u

const char *
datagram_db_ip(const char *text, struct suci_addr *out)
{
	if (!suci_addr_parse_ip(text, strlen(text), out))
		return "is no IPv4 or IPv6 address such as 10.0.0.1 or fd00::1";
	return suci_addr_is_any(out) ? NULL : suci_addr_fault(out);
}

struct datagram_db *
datagram_db_new(void)
{
	return calloc(1, sizeof(struct datagram_db));
}

void
datagram_db_free(struct datagram_db *db)
{
	if (!db)
		return;
	free(db->e);
	free(db);
}

/* Index of the first entry whose id is not below. */
static size_t
place_db(const struct datagram_db *db, uint32_t id)
{
	size_t lo = 0, hi = db->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (db->e[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct db_entry *
datagram_db_find(const struct datagram_db *db, uint32_t id)
{
	size_t i = place_db(db, id);
	return i < db->n && db->e[i].id == id ? &db->e[i] : NULL;
}

/* 0, or an errno. */
static int
insert(struct datagram_db *db, const struct db_entry *e)
{
	size_t at = place_db(db, e->id);
	if (at < db->n && db->e[at].id == e->id)
		return EEXIST;
	if (db->n == db->room) {
		size_t room = db->room ? 2 * db->room : 16;
		struct db_entry *more = realloc(db->e, room * sizeof *more);
		if (!more)
			return ENOMEM;
		db->e = more;
		db->room = room;
	}
	memmove(&db->e[at + 1], &db->e[at], (db->n - at) * sizeof *db->e);
	db->e[at] = *e;
	db->n++;
	return 0;
}

int
datagram_db_add(struct datagram_db *db, uint32_t id, const char *ip, uint16_t port)
{
	struct db_entry e = {.id = id, .anywhere = !ip};
	int err = 0;
	if (id > DATAGRAM_ID_MAX || (ip && (!port || datagram_db_ip(ip, &e.at))))
		err = EINVAL;
	if (ip)
		e.at.port = port;
	for (size_t i = 0; ip && !err && i < db->n; i++)
		if (!db->e[i].anywhere && !memcmp(&db->e[i].at, &e.at, sizeof e.at))
			err = EEXIST;
	if (!err)
		err = insert(db, &e);
	errno = err ? err : errno;
	return err ? -1 : 0;
}

size_t
datagram_db_count(const struct datagram_db *db)
{
	return db->n;
}

int
datagram_db_get(const struct datagram_db *db, size_t index, uint32_t *id, char ip[DATAGRAM_IP_TEXT],
		uint16_t *port)
{
	if (index >= db->n) {
		errno = EINVAL;
		return -1;
	}
	const struct db_entry *e = &db->e[index];
	*id = e->id;
	char text[SUCI_ADDR_TEXT_MAX];
	*port = e->at.port;
	ip[0] = 0;
	if (!e->anywhere)
		snprintf(ip, DATAGRAM_IP_TEXT, "%.45s", suci_addr_ip_text(&e->at, text));
	return 0;
}

/* ---- text ---- */

struct parse {
	const char *name;
	char *error;
	size_t error_len;
	unsigned line;
	/* Where each entry stood, to name the other one of two. */
	struct seen {
		struct db_entry e;
		unsigned line;
	} * seen;
	size_t nseen, room;
};

static int __attribute__((format(printf, 2, 3))) wrong(struct parse *p, const char *fmt, ...)
{
	char what[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (p->error && p->error_len)
		snprintf(p->error, p->error_len, "%s:%u: %s", p->name, p->line, what);
	return EINVAL;
}

/* Digits only, at most max. */
static bool
db_number(const char *s, uint32_t max, uint32_t *out)
{
	uint32_t v = 0;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (uint32_t)(*s - '0');
		if (v > max)
			return false;
	}
	*out = v;
	return true;
}

/* The next word of *at, ended there; NULL if there is none. */
static char *
db_word(char **at)
{
	char *s = *at + strspn(*at, " \t\r\v\f");
	if (!*s)
		return NULL;
	char *end = s + strcspn(s, " \t\r\v\f");
	*at = *end ? end + 1 : end;
	*end = 0;
	return s;
}

static int
parse_db_line(struct parse *p, char *line, struct db_entry *e, bool *empty)
{
	line[strcspn(line, "#")] = 0;
	char *id = db_word(&line), *ip = id ? db_word(&line) : NULL,
	     *port = ip ? db_word(&line) : NULL;
	*e = (struct db_entry){0};
	*empty = !id;
	if (*empty)
		return 0;
	if (!port || db_word(&line))
		return wrong(p, "a line is: id address port");
	if (!db_number(id, DATAGRAM_ID_MAX, &e->id))
		return wrong(p, "id \"%.32s\" is not a number of 0 .. %u", id, DATAGRAM_ID_MAX);
	if (!strcmp(ip, "*")) {
		e->anywhere = true;
		if (strcmp(port, "*"))
			return wrong(p, "port \"%.32s\" for address *: it has to be * too", port);
		return 0;
	}
	const char *fault = datagram_db_ip(ip, &e->at);
	if (fault)
		return wrong(p, "\"%.64s\" %s", ip, fault);
	uint32_t n;
	if (!db_number(port, 65535, &n) || !n)
		return wrong(p, "port \"%.32s\" is not a number of 1 .. 65535", port);
	e->at.port = (uint16_t)n;
	return 0;
}

static int
note_seen(struct parse *p, const struct db_entry *e)
{
	if (p->nseen == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		struct seen *more = realloc(p->seen, room * sizeof *more);
		if (!more)
			return ENOMEM;
		p->seen = more;
		p->room = room;
	}
	p->seen[p->nseen++] = (struct seen){.e = *e, .line = p->line};
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->e.id != y->e.id)
		return x->e.id < y->e.id ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int
by_address(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->e.anywhere != y->e.anywhere)
		return x->e.anywhere ? 1 : -1;
	int at = memcmp(&x->e.at, &y->e.at, sizeof x->e.at);
	if (at)
		return at;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Sorted, so that a file of 65536 lines takes no quadratic time.  The last order is the
 * one the database needs. */
static int
check_twice(struct parse *p)
{
	for (int pass = 0; pass < 2 && p->nseen; pass++) {
		qsort(p->seen, p->nseen, sizeof *p->seen, pass ? by_id : by_address);
		for (size_t i = 1; i < p->nseen; i++) {
			const struct seen *a = &p->seen[i - 1], *b = &p->seen[i];
			bool same = pass ? a->e.id == b->e.id
					 : !b->e.anywhere &&
						    !memcmp(&a->e.at, &b->e.at, sizeof a->e.at);
			if (!same)
				continue;
			p->line = b->line;
			return pass ? wrong(p, "id %u is already in line %u", b->e.id, a->line)
				    : wrong(p, "the address of id %u is already in line %u",
					    b->e.id, a->line);
		}
	}
	return 0;
}

/* Entries sorted by id. */
static struct datagram_db *
build_db(const struct parse *p)
{
	struct datagram_db *db = datagram_db_new();
	if (!db)
		return NULL;
	db->e = malloc((p->nseen ? p->nseen : 1) * sizeof *db->e);
	if (!db->e) {
		free(db);
		return NULL;
	}
	for (size_t i = 0; i < p->nseen; i++)
		db->e[i] = p->seen[i].e;
	db->n = db->room = p->nseen;
	return db;
}

static int
parse_text(struct parse *p, const char *text, size_t len)
{
	char line[LINE_MAX_BYTES];
	for (size_t at = 0; at < len;) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - (text + at)) : len - at;
		struct db_entry e;
		bool empty;
		p->line++;
		/* A long line can still be a comment. */
		const char *hash = memchr(text + at, '#', n);
		size_t keep = hash ? (size_t)(hash - (text + at)) : n;
		if (keep >= sizeof line)
			return wrong(p, "line of more than %zu bytes", sizeof line - 1);
		if (memchr(text + at, 0, keep))
			return wrong(p, "a NUL byte: not a text file");
		memcpy(line, text + at, keep);
		line[keep] = 0;
		int err = parse_db_line(p, line, &e, &empty);
		if (!err && !empty)
			err = note_seen(p, &e);
		if (err)
			return err;
		at += n + 1;
	}
	return check_twice(p);
}

struct datagram_db *
datagram_db_parse(const char *name, const char *text, size_t len, char *error, size_t error_len)
{
	struct parse p = {.name = name, .error = error, .error_len = error_len};
	struct datagram_db *db = NULL;
	int err = parse_text(&p, text, len);
	if (!err) {
		db = build_db(&p);
		err = db ? 0 : ENOMEM;
	}
	if (err == ENOMEM && error && error_len)
		snprintf(error, error_len, "%s: out of memory", name);
	free(p.seen);
	if (err)
		errno = err;
	return db;
}

struct datagram_db *
datagram_db_read(const char *file, char *error, size_t error_len)
{
	FILE *f = fopen(file, "re");
	int err = f ? 0 : errno;
	char *text = NULL;
	size_t len = 0, room = 0;

	while (!err && !feof(f)) {
		if (len == room) {
			room = room ? 2 * room : 4096;
			char *more = room <= FILE_MAX ? realloc(text, room) : NULL;
			if (!more) {
				err = room > FILE_MAX ? EFBIG : ENOMEM;
				break;
			}
			text = more;
		}
		len += fread(text + len, 1, room - len, f);
		if (ferror(f))
			err = errno ? errno : EIO;
	}
	if (f)
		fclose(f);
	struct datagram_db *db = NULL;
	if (err) {
		if (error && error_len)
			snprintf(error, error_len, "%s: %s", file, strerror(err));
		errno = err;
	} else {
		db = datagram_db_parse(file, text ? text : "", len, error, error_len);
	}
	err = errno;
	free(text);
	errno = err;
	return db;
}
