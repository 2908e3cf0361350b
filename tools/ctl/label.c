/* SPDX-License-Identifier: BSD-2-Clause */
#include "label.h"

#include <stdio.h>
#include <string.h>

void
ctl_add_label(char *labels, size_t room, const char *name, const char *value)
{
	size_t n = strlen(labels);
	int w = snprintf(labels + n, room - n, "%s%s=\"", n ? "," : "", name);

	if (w < 0 || n + (size_t)w + 4 >= room) {
		labels[n] = '\0';
		return;
	}
	for (n += (size_t)w; value && *value && n + 4 < room; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			labels[n++] = '\\';
		labels[n++] = *value == '\n' ? 'n' : *value;
	}
	labels[n++] = '"';
	labels[n] = '\0';
}
