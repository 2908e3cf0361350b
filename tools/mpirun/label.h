/* tools/mpirun/label.h - output with the rank before every line. */
#ifndef MPIRUN_LABEL_H
#define MPIRUN_LABEL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define MPIRUN_LABEL_FDS 8192 /* of all ranks, two each */

/* Ends of two pipes for a rank's stdout and stderr.  False: said why. */
bool mpirun_label_open(uint32_t rank, int out[2]);
/* Is any of them still open? */
bool mpirun_label_busy(void);
/* What to poll; how many. */
nfds_t mpirun_label_fds(struct pollfd *fds);
/* Whole lines of what has come go out. */
void mpirun_label_pass(const struct pollfd *fds, nfds_t n);

#endif
