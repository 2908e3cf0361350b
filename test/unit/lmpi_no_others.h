/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a job that connects to no other: for tests of the surface without an engine. */
#ifndef LMPI_NO_OTHERS_H
#define LMPI_NO_OTHERS_H

#include "epoch.h"
#include "others.h"

int
lmpi_meet_ready(char why[LMPI_WHY])
{
	why[0] = '\0';
	return 16; /* MPI_ERR_OTHER */
}

void
lmpi_card_mine(uint8_t card[LMPI_CARD_BYTES])
{
	(void)card;
}

int
lmpi_others_adopt(const uint8_t *cards, uint32_t n, uint32_t *world, char why[LMPI_WHY])
{
	(void)cards, (void)n, (void)world;
	return lmpi_meet_ready(why);
}

void
lmpi_others_met(const uint32_t *world, uint32_t n)
{
	(void)world, (void)n;
}

void
lmpi_job_called(uint64_t name)
{
	(void)name;
}

bool
lmpi_proc_before(uint32_t a, uint32_t b)
{
	return a < b;
}

int
lmpi_proc_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void
lmpi_others_watch(bool (*wanted)(uint32_t world))
{
	(void)wanted;
}

void
lmpi_drain(void)
{
}

int
lmpi_port_open(char name[], size_t room, char why[LMPI_WHY])
{
	(void)name, (void)room;
	return lmpi_meet_ready(why);
}

int
lmpi_port_close(const char *name, char why[LMPI_WHY])
{
	(void)name;
	return lmpi_meet_ready(why);
}

void
lmpi_port_await_socket(const char *name, int fd)
{
	(void)name, (void)fd;
}

void
lmpi_look_again(void)
{
}

int
lmpi_port_accept(const char *name, double seconds, struct lmpi_talk *t,
		 const struct lmpi_greeting *mine, struct lmpi_greeting *theirs, char why[LMPI_WHY])
{
	(void)name, (void)seconds, (void)t, (void)mine, (void)theirs;
	return lmpi_meet_ready(why);
}

int
lmpi_port_connect(const char *name, double seconds, struct lmpi_talk *t,
		  const struct lmpi_greeting *mine, const void *first, size_t first_len,
		  struct lmpi_greeting *theirs, char why[LMPI_WHY])
{
	(void)name, (void)seconds, (void)t, (void)mine, (void)first, (void)first_len, (void)theirs;
	return lmpi_meet_ready(why);
}

int
lmpi_talk_swap(struct lmpi_talk *t, const char *phase, const void *mine, size_t len, void *theirs,
	       size_t their_len, char why[LMPI_WHY])
{
	(void)t, (void)phase, (void)mine, (void)len, (void)theirs, (void)their_len;
	return lmpi_meet_ready(why);
}

int
lmpi_talk_decide(struct lmpi_talk *t, const char *phase, uint64_t mine, uint64_t *theirs,
		 char why[LMPI_WHY])
{
	(void)t, (void)phase, (void)mine, (void)theirs;
	return lmpi_meet_ready(why);
}

void
lmpi_talk_end(struct lmpi_talk *t)
{
	(void)t;
}

int
lmpi_spawn(const struct lmpi_program *program, uint32_t n, const char *port, const char *errhandler,
	   bool *full, char why[LMPI_WHY])
{
	(void)program, (void)n, (void)port, (void)errhandler, (void)full;
	return lmpi_meet_ready(why);
}

void
lmpi_spawn_met(void)
{
}

bool
lmpi_spawn_unmet(const char *port, char why[LMPI_WHY])
{
	(void)port;
	return lmpi_meet_ready(why) != 0;
}

void
lmpi_spawn_give_up(const char *port)
{
	(void)port;
}

int
lmpi_name_publish(const char *service, const char *port, char why[LMPI_WHY])
{
	(void)service, (void)port;
	return lmpi_meet_ready(why);
}

int
lmpi_name_unpublish(const char *service, char why[LMPI_WHY])
{
	(void)service;
	return lmpi_meet_ready(why);
}

int
lmpi_name_lookup(const char *service, char *port, size_t room, char why[LMPI_WHY])
{
	(void)service, (void)port, (void)room;
	return lmpi_meet_ready(why);
}

/* ---- no mpispd (epoch.h) ---- */

bool
lmpi_sp(void)
{
	return false;
}

bool
lmpi_sp_over(void)
{
	return false;
}

int
lmpi_sp_code(int code)
{
	return code;
}

const struct lmpi_sp_self *
lmpi_sp_self(void)
{
	return NULL;
}

int
lmpi_sp_rejoin(void)
{
	return LMPI_ERR_OTHER;
}

#endif
