/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/tune_file.h - the file of the store (tune/store.h), and the key of this machine.
 *
 * The file is $XDG_CACHE_HOME/mpitune/store, or ~/.cache/mpitune/store; a program that runs with
 * more rights than its user's looks at neither.  It is taken only if it and its folder are the
 * user's own, nobody else may write them, and neither is a symbolic link: what it says is used by
 * every MPI program of the user.  It is written whole, to a name of its own, then renamed.
 *
 * A row that is found is held against two figures measured on the spot, how long copying 64 KiB and
 * a system call take (some 100 us, only if there is a row): if one of them is not within a
 * factor of TUNE_FILE_DRIFT of what the row says it was, the row is stale and not used.  So is one
 * with a value that no machine with these caches has as its best (tune/caches.h).
 *
 * Threads  all of it from any thread.
 * Errors   a text in why, which names the file. */
#ifndef DRIVER_TUNE_FILE_H
#define DRIVER_TUNE_FILE_H

#include "tune/caches.h"
#include "tune/store.h"

#define TUNE_FILE_PATH	512
#define TUNE_FILE_WHY	(TUNE_FILE_PATH + TUNE_WHY)
#define TUNE_FILE_DRIFT 2

enum tune_file {
	TUNE_FILE_FOUND,
	TUNE_FILE_NONE,	  /* no file, or no such row in it */
	TUNE_FILE_STALE,  /* a row, but not of this machine as it is now; why */
	TUNE_FILE_REFUSED /* the file cannot be used; why */
};

/* Where it is; false: neither variable is set to an absolute path that fits. */
bool tune_file_path(char path[TUNE_FILE_PATH]);
/* All rows.  FOUND also if there are none in it. */
enum tune_file tune_file_read(const char *path, struct tune_store *s, char why[TUNE_FILE_WHY]);
/* The row of that key. */
enum tune_file tune_file_find(const struct tune_key *k, struct tune_values *v,
			      char why[TUNE_FILE_WHY]);
/* Puts a row into the file, with the two figures of now, and makes file and folder if there are
 * none.  A file that cannot be used is left as it is.  0, or -1 and why. */
int tune_file_keep(const struct tune_key *k, const struct tune_values *v, char why[TUNE_FILE_WHY]);

/* The machine's part of a key, for what moves bytes within it (driver "shm"); rtt is 0. */
void tune_file_key(struct tune_key *k, const char *driver, const char *mode);
/* The interface with that address, 4 bytes of IPv4 or 16 of IPv6, beside that: MTU, speed,
 * offloads.  rtt is TUNE_RTT_ANY.  False: no interface has it. */
bool tune_file_key_ip(struct tune_key *k, const char *driver, const char *mode, const uint8_t *ip,
		      size_t bytes);
/* ns: the shortest of several. */
void tune_file_figures(uint64_t *copy_ns, uint64_t *call_ns);
/* As the kernel says, of the first CPU this process may use; what it does not say is 0. */
void tune_file_caches(struct tune_caches *c);

#endif
