/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is called by an IPv4 address and is somewhere else, by IPv6. */
#include "boot.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

static bool
parse_place(const char *text, size_t len, struct lmpi_place *out)
{
	const char *is = memchr(text, '=', len);
	struct suci_addr name, at;
	size_t before = is ? (size_t)(is - text) : 0;

	if (!is || !suci_addr_parse_ip(text, before, &name) || name.family != 4 ||
	    !be32_load(name.ip + 12) || !suci_addr_parse_ip(is + 1, len - before - 1, &at) ||
	    at.family != 6 || suci_addr_fault(&at))
		return false;
	out->name = be32_load(name.ip + 12);
	memcpy(out->at, at.ip, sizeof out->at);
	return true;
}

bool
lmpi_places_parse(const char *text, struct lmpi_places *places, char why[LMPI_PLACES_WHY])
{
	uint8_t known[16];

	places->n = 0;
	while (text && *text) {
		size_t len = strcspn(text, ",");
		struct lmpi_place p;
		int shown = (int)(len < 60 ? len : 60);
		if (!parse_place(text, len, &p)) {
			snprintf(why, LMPI_PLACES_WHY,
				 "'%.*s' is not an IPv4 address and an IPv6 address, e.g. "
				 "198.51.100.21=2001:db8::21",
				 shown, text);
			return false;
		}
		if (lmpi_places_at(places, p.name, known)) {
			snprintf(why, LMPI_PLACES_WHY, "'%.*s' is there twice", shown, text);
			return false;
		}
		if (places->n == LMPI_PLACES_MAX) {
			snprintf(why, LMPI_PLACES_WHY, "more than %d of them", LMPI_PLACES_MAX);
			return false;
		}
		places->place[places->n++] = p;
		text += len;
		if (*text && !*++text)
			text--; /* nothing behind a comma is no name either */
	}
	return true;
}

bool
lmpi_places_at(const struct lmpi_places *places, uint32_t name, uint8_t at[16])
{
	for (uint32_t i = 0; i < places->n; i++)
		if (places->place[i].name == name) {
			memcpy(at, places->place[i].at, 16);
			return true;
		}
	return false;
}

uint32_t
lmpi_places_name(const struct lmpi_places *places, const struct suci_addr *at)
{
	for (uint32_t i = 0; places && i < places->n && at->family == 6; i++)
		if (memcmp(places->place[i].at, at->ip, 16) == 0)
			return places->place[i].name;
	return 0;
}
