/* SPDX-License-Identifier: BSD-2-Clause */
#include "pcap.h"

#include "pktgen/frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_HDR = 24, RECORD_HDR = 16, LINKTYPE_ETHERNET = 1 };

static void
le32_store(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void
write_all_pcap(FILE *f, struct pg_gen *g, uint64_t count, uint64_t rate_pps)
{
	uint8_t hdr[FILE_HDR] = {[4] = 2, [6] = 4, [20] = LINKTYPE_ETHERNET};
	le32_store(hdr, 0xa1b2c3d4);
	le32_store(hdr + 16, 65535);
	fwrite(hdr, sizeof hdr, 1, f);
	for (uint64_t i = 0; i < count && !ferror(f); i++) {
		uint8_t record[RECORD_HDR + PG_FRAME_MAX];
		enum pg_kind kind;
		uint32_t len = (uint32_t)pg_next(g, record + RECORD_HDR, &kind);
		le32_store(record, (uint32_t)(i / rate_pps));
		le32_store(record + 4, (uint32_t)(i % rate_pps * 1000000 / rate_pps));
		le32_store(record + 8, len);
		le32_store(record + 12, len);
		fwrite(record, RECORD_HDR + len, 1, f);
	}
}

int
pg_pcap_write(const char *path, struct pg_gen *g, uint64_t count, uint64_t rate_pps)
{
	errno = 0;
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	write_all_pcap(f, g, count, rate_pps);
	int r = ferror(f) ? -(errno ? errno : EIO) : 0;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r)
		(void)unlink(path);
	return r;
}
