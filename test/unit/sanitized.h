/* SPDX-License-Identifier: BSD-2-Clause */
/* sanitized.h - whether a sanitizer of memory or threads watches.  It makes a long table of sizes
 * many times slower and needs only some of it: SANITIZED_STRIDE rows apart, all of them without.
 * A prime that no table's inner loops have, so that each of their values comes. */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define SANITIZED_STRIDE (SANITIZED ? 7u : 1u)

#endif
