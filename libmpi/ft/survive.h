/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/ft/survive.h - the surface tells the engine what it knows of communicators. */
#ifndef LMPI_FT_H
#define LMPI_FT_H

/* When communicators are there. */
void lmpi_ft_init(void);

#endif
