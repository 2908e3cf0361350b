/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/launch/place.h - where programs and libraries are: impirun, mpirun, mpispd. */
#ifndef LAUNCH_PLACE_H
#define LAUNCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Folder of this very program, "" if the kernel does not tell. */
void launch_own_folder(char *out, size_t cap);
/* Is it this very program, under whatever name? */
bool launch_is_self(const char *path);
bool launch_is_program(const char *path);
/* A program by name in PATH, or by its path; this very program is passed over. */
bool launch_find(const char *name, char *out, size_t cap);
/* The folder of our libraries, beside that of this program, goes first in
 * LD_LIBRARY_PATH; what the user had stays behind.  False: no memory. */
bool launch_add_libraries(void);
/* A folder of this program's own, in TMPDIR or /tmp: NAME.XXXXXX; out: of cap bytes, 64 do.  false
 * and errno: out has the name. */
bool launch_make_folder(const char *name, char *out, size_t cap);
/* With all that is in it. */
void launch_remove_folder(const char *folder);

#endif
