/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h - what relayd --check says of files: lines for people, or one JSON object.
 *
 *     { "good": true, "files": [ { "file": "a0.json", "good": true, "faults": [
 *       { "level": "fault" or "warning", "pointer": "/workers", "line": 7, "text": ".." } ] } ] }
 *
 * What is of no line, as what the machine lacks, has no "line".
 */
#ifndef RD_REPORT_H
#define RD_REPORT_H

#include "rd/conf.h"

struct rd_report {
	bool json;
	uint32_t files;
	bool good;
};

void rd_report_begin(struct rd_report *r, bool json);
/* of: the file, or what else the faults are of in the lines for people. */
void rd_report_file(struct rd_report *r, const char *file, const struct rd_faults *faults,
		    const struct rd_faults *lacks, const struct rd_faults *warnings);
void rd_report_end(struct rd_report *r);
/* One a line, to stderr; level: "" or "warning: ". */
void rd_report_lines(const char *of, const char *level, const struct rd_faults *faults);

#endif
