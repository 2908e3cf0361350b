/* SPDX-License-Identifier: BSD-2-Clause */
/* End of the engine: of a job, or of an epoch of it. */
#include "internal.h"
#include "light.h"

#include "boot.h"
#include "end.h"
#include "epoch.h"
#include "join.h"
#include "ports.h"
#include "streams.h"
#include "transport.h"

#include "base/clock.h"

#include <stdio.h>

#define eng lmpi_eng

void
lmpi_close_engine(void)
{
	lmpi_epoch_inside(false);
	lmpi_loop.up = false;
	lmpi_survive_stop();
	lmpi_streams_close();
	lmpi_net_close();
	lmpi_light_fini();
	lmpi_tcp_close();
	lmpi_shm_close();
	lmpi_hall_close();
	lmpi_bell_close();
	lmpi_engine_drop(&eng);
	free(eng.peer);
	eng.peer = NULL;
	free(lmpi_route);
	lmpi_route = NULL;
	free((void *)(uintptr_t)lmpi_world.proc);
	lmpi_world.proc = NULL;
	free((void *)(uintptr_t)lmpi_world.clients);
	lmpi_world.clients = NULL;
}

static bool
engine_drained(void *arg)
{
	(void)arg;
	return eng.sends == 0 && eng.outs == 0 && eng.cancels == 0 && lmpi_tp_drained();
}

static void
turn_engine(void)
{
	lmpi_progress();
}

static void
print_stats(void)
{
	static const char *const name[LMPI_REACHES] = {"self", "shm", "direct", "relay", "tcp"};

	for (int i = 0; i < LMPI_REACHES; i++) {
		if (eng.n.sends[i] || eng.n.recvs[i])
			fprintf(stderr, "libmpi: [%u] %s sent %llu (%llu bytes) received %llu\n",
				lmpi_world.rank, name[i], (unsigned long long)eng.n.sends[i],
				(unsigned long long)eng.n.bytes_sent[i],
				(unsigned long long)eng.n.recvs[i]);
	}
	fprintf(stderr,
		"libmpi: [%u] unexpected %llu, at most %llu bytes at once; turns %llu sleeps "
		"%llu\n",
		lmpi_world.rank, (unsigned long long)eng.n.unexpected,
		(unsigned long long)eng.n.unexpected_bytes_max,
		(unsigned long long)lmpi_stats.progress_turns,
		(unsigned long long)lmpi_stats.sleeps);
	lmpi_port_print_stats();
	lmpi_light_print_stats();
	lmpi_net_print_stats();
	lmpi_streams_print_stats();
	lmpi_tcp_print_stats();
}

void
lmpi_engine_quiesce(void)
{
	lmpi_wait_for(engine_drained, NULL);
	eng.ending = true;
}

int
lmpi_engine_fini(void)
{
	lmpi_wait_for(engine_drained, NULL);
	/* Relays take the job from all of a client when the process with its server channel ends.
	 */
	if (lmpi_survives() && lmpi_world.nclients > 1) {
		lmpi_meet_client();
		lmpi_wait_for(engine_drained, NULL);
	}
	lmpi_tcp_finish();
	if (lmpi_knob_number(LMPI_KNOB_STATS))
		lmpi_net_print_paths();
	/* From here on others may be gone before us. */
	eng.closing = true;
	int err = lmpi_survives() ? LMPI_OK : lmpi_boot_fence(false, turn_engine);
	lmpi_switch_join();
	lmpi_net_tell_leave(BASE_S_NS);
	lmpi_control_stop();
	lmpi_join_fini();
	if (lmpi_knob_number(LMPI_KNOB_STATS))
		print_stats();
	lmpi_close_engine();
	lmpi_boot_fini();
	return err;
}

/* Nobody is met: who is left does the same. */
int
lmpi_sp_rejoin(void)
{
	lmpi_end_epoch();
	lmpi_run_done(&eng);
	lmpi_close_engine();
	eng.closing = eng.ending = eng.troubled = false;
	return lmpi_engine_init();
}
