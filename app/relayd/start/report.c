/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <stdio.h>

static uint32_t
kept_faults(const struct rd_faults *f)
{
	return f->count < RD_FAULTS_MAX ? f->count : RD_FAULTS_MAX;
}

void
rd_report_lines(const char *of, const char *level, const struct rd_faults *faults)
{
	uint32_t n = kept_faults(faults);
	for (uint32_t i = 0; i < n; i++) {
		const struct rd_fault *f = &faults->fault[i];
		fputs(of, stderr);
		if (f->line)
			fprintf(stderr, ":%u", f->line);
		fprintf(stderr, ": %s%s%s%s\n", level, f->pointer, *f->pointer ? ": " : "",
			f->text);
	}
	if (faults->count > n)
		fprintf(stderr, "%s: and %u more\n", of, faults->count - n);
}

static void
put_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void
put_json_faults(const struct rd_faults *f, const char *level, bool *first)
{
	for (uint32_t i = 0; i < kept_faults(f); i++) {
		printf("%s\n\t\t{ \"level\": \"%s\", \"pointer\": ", *first ? "" : ",", level);
		put_json_string(f->fault[i].pointer);
		if (f->fault[i].line)
			printf(", \"line\": %u", f->fault[i].line);
		fputs(", \"text\": ", stdout);
		put_json_string(f->fault[i].text);
		fputs(" }", stdout);
		*first = false;
	}
}

void
rd_report_begin(struct rd_report *r, bool json)
{
	*r = (struct rd_report){.json = json, .good = true};
	if (json)
		fputs("{ \"files\": [", stdout);
}

void
rd_report_file(struct rd_report *r, const char *file, const struct rd_faults *faults,
	       const struct rd_faults *lacks, const struct rd_faults *warnings)
{
	bool good = !faults->count && !lacks->count, first = true;
	r->good = r->good && good;
	if (r->json) {
		printf("%s\n\t{ \"file\": ", r->files ? "," : "");
		put_json_string(file);
		printf(", \"good\": %s, \"faults\": [", good ? "true" : "false");
		put_json_faults(faults, "fault", &first);
		put_json_faults(lacks, "fault", &first);
		put_json_faults(warnings, "warning", &first);
		fputs(" ] }", stdout);
	} else {
		rd_report_lines(file, "", faults);
		rd_report_lines("machine", "", lacks);
		rd_report_lines("machine", "warning: ", warnings);
	}
	r->files++;
}

void
rd_report_end(struct rd_report *r)
{
	if (r->json)
		printf(" ],\n\t\"good\": %s }\n", r->good ? "true" : "false");
}
