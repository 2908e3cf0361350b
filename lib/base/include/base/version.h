/* SPDX-License-Identifier: BSD-2-Clause */
/* base/version.h - the number of what is released together: programs and libraries. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define BASE_VERSION "0.9.0"

#endif
