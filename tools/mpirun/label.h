/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/mpirun/label.h - what ranks print, line by line: of several ranks that write into one
 * file or pipe, no line comes inside another's, with the rank before it if asked. */
#ifndef MPIRUN_LABEL_H
#define MPIRUN_LABEL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define MPIRUN_LABEL_FDS 8192 /* of all ranks, two each */

/* Ends of two pipes for a rank's stdout and stderr, with the rank before every line.
 * False: said why. */
bool mpirun_label_open(uint32_t rank, int out[2]);
/* The end of a pipe for a rank's stdout alone: bytes as they are, whole lines at a time, but
 * for lines longer than what is kept of one.  False: said why. */
bool mpirun_lines_open(uint32_t rank, int *out);
/* Is any of them still open? */
bool mpirun_label_busy(void);
/* What to poll; how many. */
nfds_t mpirun_label_fds(struct pollfd *fds);
/* Whole lines of what has come go out.  False: nobody reads our output any more. */
bool mpirun_label_pass(const struct pollfd *fds, nfds_t n);

#endif
