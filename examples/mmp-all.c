/* SPDX-License-Identifier: BSD-2-Clause */
/* All to all, with sums: what a user of libmmp writes.
 *
 *      LIBMMP_RANK=0 mmp-all HOSTS ROUNDS BYTES &  LIBMMP_RANK=1 mmp-all HOSTS ROUNDS BYTES
 *      mpirun -np 4 mmp-all - ROUNDS BYTES
 *
 * In each round every rank sends a message of about BYTES to every rank, itself too, receives
 * theirs and checks each byte. */
#include <err.h>
#include <errno.h>
#include <mmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char
byte_of(int from, int to, int round, size_t i)
{
	return (unsigned char)((unsigned)(from * 131 + to * 17 + round * 7) + i + (i >> 9));
}

static size_t
length_of(int from, int to, int round, size_t bytes)
{
	return bytes ? bytes - (size_t)(from * 3 + to + round) % (bytes < 16 ? bytes : 16) : 0;
}

static void
one_round(int round, size_t bytes, unsigned char **in, unsigned char **out)
{
	int me = MP_rank(), n = MP_size();
	mp_handle *h = calloc((size_t)n * 2, sizeof *h);
	if (!h)
		err(1, "calloc");
	/* Receives first: then it does not matter how much the area holds. */
	for (int i = 0; i < n; i++)
		if ((h[i] = MP_receive(i, in[i], bytes)) < 0)
			errx(1, "rank %d: %s", me, MP_error());
	for (int k = 0; k < n; k++) {
		int to = (me + k) % n;
		size_t len = length_of(me, to, round, bytes);
		for (size_t i = 0; i < len; i++)
			out[to][i] = byte_of(me, to, round, i);
		if ((h[n + to] = MP_send(to, out[to], len)) < 0)
			errx(2, "rank %d: %s", me, MP_error());
		if (!(h[n + to] & MP_KEPT))
			memset(out[to], 0xee, len); /* it is ours again */
	}
	for (int i = 0; i < n; i++) {
		int64_t got = MP_wait(h[i], NULL);
		if (got < 0)
			errx(2, "rank %d: %s", me, MP_error());
		if ((size_t)got != length_of(i, me, round, bytes))
			errx(3, "rank %d: %lld bytes from rank %d", me, (long long)got, i);
		for (size_t k = 0; k < (size_t)got; k++)
			if (in[i][k] != byte_of(i, me, round, k))
				errx(3, "rank %d: byte %zu from rank %d in round %d is wrong", me,
				     k, i, round);
	}
	if (MP_waitall(n, h + n, NULL) < 0)
		errx(2, "rank %d: %s", me, MP_error());
	free(h);
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		errx(1, "usage: mmp-all HOSTS|- ROUNDS BYTES");
	if (MP_init(strcmp(argv[1], "-") ? argv[1] : NULL) < 0)
		errx(1, "%s", MP_error());
	int n = MP_size(), rounds = (int)strtoull(argv[2], NULL, 10);
	size_t bytes = strtoull(argv[3], NULL, 10);
	unsigned char **in = calloc((size_t)n, sizeof *in), **out = calloc((size_t)n, sizeof *out);
	for (int i = 0; in && out && i < n; i++) {
		in[i] = malloc(bytes + 1);
		out[i] = malloc(bytes + 1);
		if (!in[i] || !out[i])
			err(1, "malloc");
	}
	if (!in || !out)
		err(1, "calloc");
	if (MP_barrier() < 0)
		errx(2, "%s", MP_error());
	for (int r = 0; r < rounds; r++)
		one_round(r, bytes, in, out);
	printf("rank %d of %d: %d rounds of %zu bytes, all bytes right\n", MP_rank(), n, rounds,
	       bytes);
	if (MP_finalize() < 0)
		errx(2, "%s", MP_error());
	for (int i = 0; i < n; i++) {
		free(in[i]);
		free(out[i]);
	}
	free(in);
	free(out);
	return 0;
}
