/* SPDX-License-Identifier: BSD-2-Clause */
/* relayctl reload: another configuration, or what it would change. */
#include "commands.h"
#include "print.h"

#include <stdio.h>
#include <string.h>

static const char *
reload_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

static void
show_reload_faults(json_t *v)
{
	json_t *rows = json_object_get(v, "faults"), *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		fprintf(stderr, "%s", reload_text(v, "file"));
		if (int_of(row, "line"))
			fprintf(stderr, ":%lld", (long long)int_of(row, "line"));
		fprintf(stderr, ": %s%s%s\n", reload_text(row, "pointer"),
			*reload_text(row, "pointer") ? ": " : "", reload_text(row, "text"));
	}
	fprintf(stderr, "relayctl: the relay goes on as it was\n");
}

/* The difference first; then what becomes of it. */
static void
show_reload(json_t *v)
{
	json_t *rows = json_object_get(v, "changes"), *row;
	size_t i, restart = 0;
	bool applied = json_is_true(json_object_get(v, "applied"));
	json_array_foreach(rows, i, row)
	{
		bool now = strcmp(reload_text(row, "by"), "reload") == 0;
		restart += !now;
		printf("%s: %s -> %s%s%s%s\n", reload_text(row, "key"), reload_text(row, "from"),
		       reload_text(row, "to"), now ? "" : "   (needs a restart)",
		       *reload_text(row, "why") ? ": " : "", reload_text(row, "why"));
	}
	if (json_is_true(json_object_get(v, "other_keys")))
		puts("the files of keys have others than before");
	else if (!json_array_size(rows))
		puts("nothing is different");
	if (json_array_size(rows))
		printf("%zu of %zu changes %s\n", json_array_size(rows) - restart,
		       json_array_size(rows),
		       applied ? "taken over" : "can be taken over; nothing was changed");
}

int
cmd_reload(struct ctl *c, const struct options *o)
{
	json_t *v = ask(c, "reload", o->check ? json_pack("{s:b}", "check", 1) : NULL);
	bool good = json_is_true(json_object_get(v, "good"));
	if (o->json)
		print_json(v);
	else if (good)
		show_reload(v);
	else
		show_reload_faults(v);
	json_decref(v);
	return good ? CTL_OK : CTL_REFUSED;
}
