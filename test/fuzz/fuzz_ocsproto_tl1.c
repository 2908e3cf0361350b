/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a TL1 agent.  First byte: the dialect, or (3) the splitter alone, which must
 * tell the same of a stream whole and in pieces. */
#include "fuzz_ocsproto.h"

#include "tl1_stream.h"

struct told {
	uint64_t digest, events;
};

static struct told
split(const uint8_t *p, size_t len, size_t chunk)
{
	struct tl1_stream s;
	struct tl1_event ev;
	struct told t = {0};
	char value[4];
	ocsproto_tl1_stream_init(&s);
	for (size_t at = 0; at < len;) {
		size_t n = len - at < chunk ? len - at : chunk;
		size_t took = ocsproto_tl1_rx(&s, p + at, n, &ev);
		BASE_ASSERT(took > 0 && took <= n && s.len <= TL1_LINE_MAX);
		BASE_ASSERT(ev.kind || took == n);
		at += took;
		if (!ev.kind)
			continue;
		t.events++;
		t.digest = t.digest * 31 + (uint64_t)ev.kind + at * 8;
		for (const char *c = ev.text; c && *c; c++)
			t.digest = t.digest * 31 + (uint8_t)*c;
		if (ev.kind == TL1_END)
			t.digest = t.digest * 31 + s.msg.ctag + s.msg.completion;
		if (ev.kind == TL1_RECORD && ocsproto_tl1_field(ev.text, "A", value, sizeof value))
			BASE_ASSERT(strlen(value) < sizeof value);
	}
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[FUZZ_PORTS] = {"1.1.1", "1.1.2", "1.1.3", "1.1.4",
						      "1.2.1", "1.2.2", "1.2.3", "1.2.4"};
	static const enum ocsproto_kind kinds[] = {OCSPROTO_TL1_POLATIS, OCSPROTO_TL1_CALIENT,
						   OCSPROTO_TL1_GLIMMERGLASS};
	if (size < 1)
		return 0;
	uint8_t k = data[0] % 4;
	if (k == 3) {
		struct told a = split(data + 1, size - 1, size), b = split(data + 1, size - 1, 1);
		BASE_ASSERT(a.digest == b.digest && a.events == b.events);
		return 0;
	}
	return fuzz_session((struct ocsproto_config){.kind = kinds[k],
						     .names = k == 1 ? names : NULL,
						     .user = data[0] & 8 ? "u" : NULL,
						     .password = "p"},
			    data + 1, size - 1);
}
