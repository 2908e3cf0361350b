/* SPDX-License-Identifier: BSD-2-Clause */
/* Real host-to-host streams (test/data/interop), through impi/stream.h. */
#include "impi/flow.h"
#include "impi/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"

#define PACKETS_MAX 128
#define BODY_BYTES  32 /* of a payload, as far as the listing shows it */
#define NO_IDENT    UINT32_MAX

/* What a stream turned out to hold. */
struct decoded {
	uint32_t ident; /* host rank that the connecting side sends first */
	uint32_t npackets;
	struct {
		struct impi_packet packet;
		uint8_t head[IMPI_PACKET_BYTES];
		uint8_t body[BODY_BYTES];
		uint64_t payload_bytes;
	} at[PACKETS_MAX];
};

/* Any pieces in, packets out. */
struct decoder {
	struct decoded *out;
	bool ident_due;
	uint8_t ident[IMPI_IDENT_BYTES];
	uint32_t named; /* bytes of it */
	struct impi_stream stream;
	uint64_t ended; /* packets told as complete */
};

struct stream {
	uint32_t from, to, len;
	uint8_t *bytes;
};

static const struct capture {
	const char *name;
	uint32_t datalen, ackmark;
	bool was_killed;
} captures[] = {
	{"01-p2p-barrier-bcast-2x2", 65536, 10, false},
	{"02-same-own-server-2x2", 65536, 10, false},
	{"03-keyauth-1x1", 65536, 10, false},
	{"04-long-1x1", 65536, 10, false},
	{"05a-ssend0-1x1", 65536, 10, false},
	{"05b-ssend100-1x1", 65536, 10, false},
	{"05c-ssend70000-1x1", 65536, 10, false},
	{"05d-ssend100-unmodified-1x1", 65536, 10, true},
	{"06-flood45x100-2x2", 65536, 10, false},
	{"07a-reduce-2x2", 65536, 10, false},
	{"07b-allreduce-2x2", 65536, 10, false},
	{"07c-gather-2x2", 65536, 10, false},
	{"08-asym-3x1-allpairs", 65536, 10, false},
	{"09-types-1x1", 65536, 10, false},
	{"10-three-clients-2x1x2", 65536, 10, false},
	{"11-five-clients-barrier", 65536, 10, false},
	{"12-five-clients-reduce", 65536, 10, false},
	{"13-bcast100000-unmodified-1x1", 65536, 10, false},
	{"14-datalen1024-ack2-hi4-1x1", 1024, 2, false},
	{"15-types-hetero-1x1", 65536, 10, false},
	{"16-unexpected-long-1x1", 65536, 10, false},
};
#define NCAPTURES (sizeof captures / sizeof *captures)

static FILE *
open_data(const char *name, const char *suffix)
{
	char path[256];
	snprintf(path, sizeof path, "test/data/interop/%s.%s", name, suffix);
	FILE *f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing; run from the top folder", path);
	return f;
}

static uint32_t
read_u32(FILE *f)
{
	uint8_t b[4];
	assert_int_equal(fread(b, 1, sizeof b, f), sizeof b);
	return be32_load(b);
}

/* The next stream of a .streams file (format: test/interop/extract.py); false at its end. */
static bool
read_stream(FILE *f, struct stream *s)
{
	int c = getc(f);
	if (c == EOF)
		return false;
	ungetc(c, f);
	s->from = read_u32(f);
	s->to = read_u32(f);
	s->len = read_u32(f);
	s->bytes = malloc(s->len);
	assert_non_null(s->bytes);
	uint32_t ntokens = read_u32(f), at = 0;
	for (uint32_t i = 0; i < ntokens; i++) {
		uint32_t literal = read_u32(f), copy = read_u32(f), distance = read_u32(f);
		assert_true(literal <= s->len - at && copy <= s->len - at - literal);
		assert_int_equal(fread(s->bytes + at, 1, literal, f), literal);
		at += literal;
		assert_true(distance <= at);
		for (uint32_t k = 0; k < copy; k++, at++)
			s->bytes[at] = s->bytes[at - distance];
	}
	assert_int_equal(at, s->len);
	return true;
}

static void
told(struct decoder *d, const struct impi_stream_step *step)
{
	struct decoded *out = d->out;
	assert_false(step->what & IMPI_STREAM_FAILED);
	if (step->what & IMPI_STREAM_HEADER) {
		assert_true(out->npackets < PACKETS_MAX);
		out->at[out->npackets].packet = impi_stream_packet(&d->stream);
		memcpy(out->at[out->npackets].head, d->stream.head, IMPI_PACKET_BYTES);
		memset(out->at[out->npackets].body, 0, BODY_BYTES);
		out->at[out->npackets].payload_bytes = 0;
		out->npackets++;
	}
	uint32_t k = out->npackets - 1;
	if (step->what & IMPI_STREAM_PAYLOAD) {
		assert_int_equal(step->off, out->at[k].payload_bytes);
		for (uint32_t i = 0; i < step->bytes && step->off + i < BODY_BYTES; i++)
			out->at[k].body[step->off + i] = step->span[i];
		out->at[k].payload_bytes += step->bytes;
	}
	if (step->what & IMPI_STREAM_END) {
		assert_int_equal(out->at[k].payload_bytes,
				 impi_packet_payload_bytes(&out->at[k].packet));
		d->ended++;
	}
}

static void
feed(struct decoder *d, const uint8_t *p, size_t len)
{
	struct impi_stream_step step;
	size_t n;
	for (; d->ident_due && len > 0; p++, len--) {
		d->ident[d->named++] = *p;
		d->ident_due = d->named < IMPI_IDENT_BYTES;
		if (!d->ident_due)
			d->out->ident = be32_load(d->ident);
	}
	for (; (n = impi_stream_rx(&d->stream, p, len, &step)) > 0; p += n, len -= n)
		told(d, &step);
	assert_int_equal(len, 0);
}

/* As a gateway reads: headers into the splitter, payload into a place of its own. */
static void
feed_pulling(struct decoder *d, const uint8_t *p, size_t len)
{
	static uint8_t place[65536];
	for (uint32_t n; len > 0; p += n, len -= n) {
		uint8_t *where;
		uint32_t off = d->stream.payload_off;
		n = impi_stream_want(&d->stream, &where);
		assert_true(n > 0);
		if (n > len)
			n = (uint32_t)len;
		bool payload = !where;
		if (payload)
			where = place + off;
		memcpy(where, p, n);
		struct impi_stream_step step = {.what = impi_stream_took(&d->stream, n)};
		assert_int_equal(!!(step.what & IMPI_STREAM_PAYLOAD), payload);
		if (payload) {
			step.span = where;
			step.off = off;
			step.bytes = n;
		}
		told(d, &step);
	}
}

static void
decoder_init(struct decoder *d, struct decoded *out, const struct capture *c,
	     const struct stream *s)
{
	out->ident = NO_IDENT;
	out->npackets = 0;
	/* the higher host connects, and names itself */
	*d = (struct decoder){.out = out, .ident_due = s->from > s->to};
	impi_stream_init(&d->stream, c->datalen);
}

static void
assert_ends_at_a_packet(const struct decoder *d)
{
	assert_false(impi_stream_is_midway(&d->stream));
	assert_int_equal(d->ended, d->out->npackets);
	assert_int_equal(d->stream.npackets, d->out->npackets);
	assert_false(d->ident_due);
}

static void
assert_same(const struct decoded *a, const struct decoded *b)
{
	assert_int_equal(a->ident, b->ident);
	assert_int_equal(a->npackets, b->npackets);
	for (uint32_t i = 0; i < a->npackets; i++) {
		assert_memory_equal(a->at[i].head, b->at[i].head, IMPI_PACKET_BYTES);
		assert_memory_equal(a->at[i].body, b->at[i].body, BODY_BYTES);
		assert_int_equal(a->at[i].payload_bytes, b->at[i].payload_bytes);
	}
}

static int
put_proc(char *out, size_t cap, const char *field, const struct impi_proc *p)
{
	const uint8_t *a = p->hostid + 12;
	return snprintf(out, cap, " %s=%u.%u.%u.%u/%" PRId64, field, a[0], a[1], a[2], a[3],
			(int64_t)p->pid);
}

/* A packet as the listing writes it. */
static void
show(const struct decoded *d, uint32_t i, char *out, size_t cap)
{
	const struct impi_packet *p = &d->at[i].packet;
	int n = snprintf(out, cap, "%s len=%u", impi_packet_type_name(p->type), p->len);
	n += put_proc(out + n, cap - (size_t)n, "src", &p->src);
	n += put_proc(out + n, cap - (size_t)n, "dest", &p->dest);
	n += snprintf(out + n, cap - (size_t)n,
		      " srqid=%" PRIu64 " drqid=%" PRIu64 " msglen=%" PRIu64
		      " lsrank=%d tag=%d cid=%" PRIu64 " seq=%" PRIu64 " count=%" PRId64
		      " dtype=%" PRIu64 " resv=%" PRIu64,
		      p->srqid, p->drqid, p->msglen, p->lsrank, p->tag, p->cid, p->seqnum, p->count,
		      p->dtype, p->reserved);
	if (d->at[i].payload_bytes == 0)
		return;
	n += snprintf(out + n, cap - (size_t)n, " body=");
	for (uint32_t k = 0; k < BODY_BYTES && k < d->at[i].payload_bytes; k++)
		n += snprintf(out + n, cap - (size_t)n, "%02x", d->at[i].body[k]);
}

/* The listing shows payload only of the first packets of a stream. */
static void
assert_next_line(FILE *list, char *got)
{
	char line[1024];
	assert_non_null(fgets(line, sizeof line, list));
	line[strcspn(line, "\n")] = 0;
	char *body = strstr(got, " body=");
	if (body && !strstr(line, " body="))
		*body = 0;
	assert_string_equal(got, line);
}

static void
decode_whole(const struct capture *c, const struct stream *s, struct decoded *out)
{
	struct decoder d;
	decoder_init(&d, out, c, s);
	feed(&d, s->bytes, s->len);
	assert_ends_at_a_packet(&d);
}

static void
streams_decode_to_the_listing(void **state)
{
	(void)state;
	static struct decoded got;
	for (size_t i = 0; i < NCAPTURES; i++) {
		const struct capture *c = &captures[i];
		FILE *f = open_data(c->name, "streams"), *list = open_data(c->name, "list");
		struct stream s;
		char line[1024];
		print_message("%s\n", c->name);
		while (read_stream(f, &s)) {
			snprintf(line, sizeof line, "stream %u %u %u", s.from, s.to, s.len);
			assert_next_line(list, line);
			decode_whole(c, &s, &got);
			if (s.from > s.to) {
				assert_int_equal(got.ident, s.from);
				snprintf(line, sizeof line, "ident %u", got.ident);
				assert_next_line(list, line);
			}
			for (uint32_t k = 0; k < got.npackets; k++) {
				show(&got, k, line, sizeof line);
				assert_next_line(list, line);
			}
			free(s.bytes);
		}
		assert_int_equal(getc(list), EOF);
		fclose(f);
		fclose(list);
	}
}

static void
headers_encode_to_the_captured_bytes(void **state)
{
	(void)state;
	static struct decoded got;
	for (size_t i = 0; i < NCAPTURES; i++) {
		FILE *f = open_data(captures[i].name, "streams");
		struct stream s;
		while (read_stream(f, &s)) {
			decode_whole(&captures[i], &s, &got);
			for (uint32_t k = 0; k < got.npackets; k++) {
				uint8_t out[IMPI_PACKET_BYTES];
				impi_packet_encode(&got.at[k].packet, out);
				assert_memory_equal(out, got.at[k].head, sizeof out);
			}
			free(s.bytes);
		}
		fclose(f);
	}
}

static void
streams_decode_the_same_cut_at_every_byte(void **state)
{
	(void)state;
	static struct decoded whole, got;
	for (size_t i = 0; i < NCAPTURES; i++) {
		const struct capture *c = &captures[i];
		FILE *f = open_data(c->name, "streams");
		struct stream s;
		while (read_stream(f, &s)) {
			struct decoder d;
			decode_whole(c, &s, &whole);
			for (uint32_t cut = 0; cut <= s.len; cut++) {
				decoder_init(&d, &got, c, &s);
				feed(&d, s.bytes, cut);
				feed(&d, s.bytes + cut, s.len - cut);
				assert_ends_at_a_packet(&d);
				assert_same(&whole, &got);
			}
			decoder_init(&d, &got, c, &s);
			for (uint32_t at = 0; at < s.len; at++)
				feed(&d, s.bytes + at, 1);
			assert_ends_at_a_packet(&d);
			assert_same(&whole, &got);
			free(s.bytes);
		}
		fclose(f);
	}
}

static void
streams_decode_the_same_read_into_place(void **state)
{
	(void)state;
	static struct decoded whole, got;
	for (size_t i = 0; i < NCAPTURES; i++) {
		const struct capture *c = &captures[i];
		FILE *f = open_data(c->name, "streams");
		struct stream s;
		while (read_stream(f, &s)) {
			decode_whole(c, &s, &whole);
			for (size_t piece = 1; piece < 300; piece += 7) {
				struct decoder d;
				decoder_init(&d, &got, c, &s);
				size_t at = d.ident_due ? IMPI_IDENT_BYTES : 0;
				feed(&d, s.bytes, at);
				for (; at < s.len; at += piece)
					feed_pulling(&d, s.bytes + at,
						     piece < s.len - at ? piece : s.len - at);
				assert_ends_at_a_packet(&d);
				assert_same(&whole, &got);
			}
			free(s.bytes);
		}
		fclose(f);
	}
}

/* Packets of one ordered pair of procs, and the PROTOACKs that answered them. */
struct pair {
	struct impi_proc src, dest;
	uint32_t counted, acks;
};

static struct pair *
find_pair(struct pair *pairs, uint32_t *n, const struct impi_proc *src,
	  const struct impi_proc *dest)
{
	for (uint32_t i = 0; i < *n; i++)
		if (!impi_proc_cmp(&pairs[i].src, src) && !impi_proc_cmp(&pairs[i].dest, dest))
			return &pairs[i];
	assert_true(*n < 64);
	pairs[*n] = (struct pair){.src = *src, .dest = *dest};
	return &pairs[(*n)++];
}

static void
protoacks_answer_what_is_counted(void **state)
{
	(void)state;
	static struct decoded got;
	uint32_t acks = 0;
	for (size_t i = 0; i < NCAPTURES; i++) {
		const struct capture *c = &captures[i];
		FILE *f = open_data(c->name, "streams");
		struct stream s;
		struct pair pairs[64];
		uint32_t npairs = 0;
		while (read_stream(f, &s)) {
			decode_whole(c, &s, &got);
			for (uint32_t k = 0; k < got.npackets; k++) {
				const struct impi_packet *p = &got.at[k].packet;
				if (p->type == IMPI_PK_PROTOACK)
					find_pair(pairs, &npairs, &p->dest, &p->src)->acks++;
				else if (impi_flow_counts(p->type))
					find_pair(pairs, &npairs, &p->src, &p->dest)->counted++;
			}
			free(s.bytes);
		}
		fclose(f);
		for (uint32_t k = 0; k < npairs && !c->was_killed; k++) {
			assert_int_equal(pairs[k].acks, pairs[k].counted / c->ackmark);
			acks += pairs[k].acks;
		}
	}
	assert_int_equal(acks, 20);
}

static void
streams_end_with_fini(void **state)
{
	(void)state;
	static struct decoded got;
	for (size_t i = 0; i < NCAPTURES; i++) {
		FILE *f = open_data(captures[i].name, "streams");
		struct stream s;
		while (read_stream(f, &s)) {
			uint32_t finis = 0;
			decode_whole(&captures[i], &s, &got);
			for (uint32_t k = 0; k < got.npackets; k++)
				finis += got.at[k].packet.type == IMPI_PK_FINI;
			assert_int_equal(finis, captures[i].was_killed ? 0 : 1);
			if (finis)
				assert_int_equal(got.at[got.npackets - 1].packet.type,
						 IMPI_PK_FINI);
			free(s.bytes);
		}
		fclose(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_decode_to_the_listing),
		cmocka_unit_test(headers_encode_to_the_captured_bytes),
		cmocka_unit_test(streams_decode_the_same_cut_at_every_byte),
		cmocka_unit_test(streams_decode_the_same_read_into_place),
		cmocka_unit_test(protoacks_answer_what_is_counted),
		cmocka_unit_test(streams_end_with_fini),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
