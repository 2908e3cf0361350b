/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading JSON with the path of what is wrong. */
#include "read.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
spd_reading_failed(struct reading *r, const char *path, const char *fmt, ...)
{
	va_list ap;

	if (r->failed)
		return;
	r->failed = true;
	int n = snprintf(r->why, SPD_WHY, "%s%s", path, *path ? ": " : "");
	if (n < 0 || (size_t)n >= SPD_WHY)
		return;
	va_start(ap, fmt);
	vsnprintf(r->why + n, SPD_WHY - (size_t)n, fmt, ap);
	va_end(ap);
}

static bool
is_key_of(const char *key, const char *words)
{
	size_t n = strlen(key);

	for (const char *w = words; *w; w += strspn(w, " ")) {
		size_t len = strcspn(w, " ");
		if (len == n && memcmp(w, key, n) == 0)
			return true;
		w += len;
	}
	return false;
}

void
spd_keys_are(struct reading *r, const json_t *object, const char *path, const char *keys)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object)) {
		spd_reading_failed(r, path, "an object is needed here, { ... }");
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)object, key, value) if (!is_key_of(key, keys))
		spd_reading_failed(r, path, "\"%s\" is no key here; there are %s", key, keys);
}

uint32_t
spd_number_of(struct reading *r, const json_t *object, const char *path, const char *key,
	      uint32_t least, uint32_t most, uint32_t otherwise)
{
	const json_t *v = json_object_get(object, key);
	char where[SPD_WHY / 2];

	snprintf(where, sizeof where, "%s.%s", path, key);
	if (!v && otherwise < least)
		spd_reading_failed(r, where, "it is missing; a number from %u to %u", least, most);
	if (!v)
		return otherwise;
	json_int_t n = json_integer_value(v);
	if (!json_is_integer(v) || n < least || n > most) {
		spd_reading_failed(r, where, "a whole number from %u to %u is needed here", least,
				   most);
		return least;
	}
	return (uint32_t)n;
}

char *
spd_text_of(struct reading *r, const json_t *object, const char *path, const char *key, bool needed)
{
	const json_t *v = json_object_get(object, key);
	char where[SPD_WHY / 2];

	snprintf(where, sizeof where, "%s.%s", path, key);
	if (!v && needed)
		spd_reading_failed(r, where, "it is missing");
	if (!v)
		return NULL;
	if (!json_is_string(v) || !*json_string_value(v)) {
		spd_reading_failed(r, where, "a text is needed here");
		return NULL;
	}
	char *copy = strdup(json_string_value(v));
	if (!copy)
		spd_reading_failed(r, where, "out of memory");
	return copy;
}

bool
spd_truth_of(struct reading *r, const json_t *object, const char *path, const char *key,
	     bool otherwise)
{
	const json_t *v = json_object_get(object, key);
	char where[SPD_WHY / 2];

	snprintf(where, sizeof where, "%s.%s", path, key);
	if (v && !json_is_boolean(v))
		spd_reading_failed(r, where, "true or false is needed here");
	return v ? json_is_true(v) : otherwise;
}

bool
spd_name_is_good(struct reading *r, const char *name, const char *path, size_t room)
{
	size_t n = strlen(name);

	if (n == 0 || n >= room) {
		spd_reading_failed(r, path,
				   "the name \"%.80s\" has %zu bytes; 1 to %zu are possible", name,
				   n, room - 1);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i])) {
			spd_reading_failed(r, path,
					   "\"%.80s\" is no name: letters, digits, '-', '_', '.'",
					   name);
			return false;
		}
	return true;
}

bool
spd_is_relay(const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char ip[INET_ADDRSTRLEN], *end = NULL;
	struct in_addr a;

	snprintf(ip, sizeof ip, "%.*s", (int)(n < sizeof ip ? n : 0), text);
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	return inet_pton(AF_INET, ip, &a) == 1 && port > 0 && port <= 65535 && !*end &&
	       strlen(text) < SP_NAME_MAX;
}

bool
spd_are_relays(const char *text)
{
	const char *comma = strchr(text, ',');
	char first[SP_NAME_MAX];

	if (!comma)
		return spd_is_relay(text);
	snprintf(first, sizeof first, "%.*s", (int)(comma - text < SP_NAME_MAX ? comma - text : 0),
		 text);
	return spd_is_relay(first) && spd_is_relay(comma + 1) && strcmp(first, comma + 1) != 0 &&
	       strlen(text) < SP_NAME_MAX;
}
