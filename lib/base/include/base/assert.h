/* SPDX-License-Identifier: BSD-2-Clause */
/* base/assert.h - checks that stay on in release builds.
 *
 * For "we are wrong", never for what a peer or an operator sent: parsers of
 * outside bytes return errors and count them.  Prints file, line and the
 * condition to stderr and aborts. */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

_Noreturn void base_assert_fail(const char *file, int line, const char *what);

#define BASE_ASSERT(cond)                                            \
	do {                                                         \
		if (__builtin_expect(!(cond), 0))                    \
			base_assert_fail(__FILE__, __LINE__, #cond); \
	} while (0)

#endif
