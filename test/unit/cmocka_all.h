/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka 1.1.5 wants these four first, in this order. */
#ifndef TEST_CMOCKA_ALL_H
#define TEST_CMOCKA_ALL_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#endif
