/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of the severity table. */
#include "sp/severity.h"

#include "sp/view.h"

#include <stdio.h>
#include <string.h>

#define IN_PROCESS (1u << SP_FAULT_PROCESS)
#define IN_NODE	   (1u << SP_FAULT_NODE)
#define IN_PATH	   (1u << SP_FAULT_PATH)
#define IN_CLUSTER (1u << SP_FAULT_CLUSTER)
#define IN_MASTER  (1u << SP_FAULT_MASTER)
#define IN_ALL	   (IN_PROCESS | IN_NODE | IN_PATH | IN_CLUSTER | IN_MASTER)

static const struct word {
	const char *name;
	uint32_t bit, in; /* in: of which faults it can be a measure */
} words[] = {
	{"takeover", SP_TAKEOVER, IN_PROCESS | IN_NODE | IN_PATH},
	{"restart-as-spare", SP_RESTART, IN_PROCESS},
	{"continue", SP_CONTINUE, IN_ALL},
	{"stop", SP_STOP, IN_ALL},
	{"bypass", SP_BYPASS, IN_CLUSTER},
	{"wait", SP_WAIT, IN_CLUSTER},
};

#define STOP_AFTER "stop-after "

static const char *const names[] = {
#define X(id, name) name,
	SP_FAULTS(X)
#undef X
};

const char *
sp_fault_name(unsigned fault)
{
	return fault < SP_FAULT_COUNT ? names[fault] : "?";
}

struct sp_severity
sp_severity_default(void)
{
	return (struct sp_severity){{
		[SP_FAULT_PROCESS] = {SP_TAKEOVER | SP_RESTART, 0, 0},
		[SP_FAULT_NODE] = {SP_TAKEOVER, 0, 0},
		[SP_FAULT_PATH] = {SP_CONTINUE, 0, 0},
		[SP_FAULT_CLUSTER] = {SP_STOP, 0, 0},
		[SP_FAULT_MASTER] = {SP_CONTINUE, 0, 0},
	}};
}

/* A decimal number of 1 .. max at *p, which moves behind it; 0: there is none. */
static uint32_t
take_number(const char **p, uint32_t max)
{
	uint32_t n = 0;

	for (; **p >= '0' && **p <= '9'; ++*p) {
		n = 10 * n + (uint32_t)(**p - '0');
		if (n > max)
			return 0;
	}
	return n;
}

/* "3/60s" */
static bool
take_rate(const char *p, struct sp_measures *m)
{
	uint32_t n = take_number(&p, SP_FAULTS_MAX), t = 0;

	if (n && *p == '/') {
		p++;
		t = take_number(&p, 1000000);
	}
	uint32_t unit = *p == 's' ? 1 : *p == 'm' ? 60 : *p == 'h' ? 3600 : 0;
	if (!t || !unit || p[1])
		return false;
	m->stop_n = n;
	m->within_s = t * unit;
	return true;
}

bool
sp_severity_add(struct sp_severity *s, enum sp_fault fault, const char *word, char *why,
		size_t room)
{
	struct sp_measures *m = &s->of[fault];

	if (!strncmp(word, STOP_AFTER, sizeof STOP_AFTER - 1)) {
		if (fault != SP_FAULT_PROCESS) {
			snprintf(why, room,
				 "\"stop-after\" counts deaths of processes; here \"%s\"",
				 names[fault]);
			return false;
		}
		if (take_rate(word + sizeof STOP_AFTER - 1, m))
			return true;
		snprintf(why, room,
			 "\"%.40s\": write \"stop-after N/T\", N from 1 to %u, T as 60s, 5m or 1h",
			 word, SP_FAULTS_MAX);
		return false;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(word, words[i].name))
			continue;
		if (words[i].in >> fault & 1) {
			m->set |= words[i].bit;
			return true;
		}
		snprintf(why, room, "\"%s\" cannot be done about a fault of a %s", word,
			 names[fault]);
		return false;
	}
	snprintf(why, room,
		 "\"%.40s\" is no measure; there are takeover, restart-as-spare, \"stop-after "
		 "N/T\", "
		 "continue, stop, bypass, wait",
		 word);
	return false;
}

bool
sp_severity_fits(const struct sp_severity *s, enum sp_fault fault, char *why, size_t room)
{
	uint32_t set = s->of[fault].set, ends = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		ends += (set & words[i].bit) && words[i].bit != SP_RESTART;
	if (ends <= 1)
		return true;
	snprintf(why, room,
		 "%s: of takeover, continue, stop, bypass and wait one can hold, not several",
		 names[fault]);
	return false;
}
