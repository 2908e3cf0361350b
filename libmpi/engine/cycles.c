/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate of the time stamp counter: see cycles.h. */
#include "cycles.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#define GUESS	 2000u
#define LEAST	 100u /* no such CPU has fewer a microsecond, or more */
#define MOST	 20000u
#define SHORT_NS (100 * BASE_US_NS) /* two readings of each clock in it are below a thousandth */

static struct {
	uint64_t cycles, ns;
} begun;

uint32_t
lmpi_cycles_rate(uint64_t cycles, uint64_t ns)
{
	if (ns < SHORT_NS || cycles > UINT64_MAX / BASE_US_NS)
		return GUESS;
	uint64_t rate = cycles * BASE_US_NS / ns;

	return rate < LEAST || rate > MOST ? GUESS : (uint32_t)rate;
}

void
lmpi_cycles_start(void)
{
	begun.ns = suci_udp_now_ns();
	begun.cycles = lmpi_cycles();
}

uint32_t
lmpi_cycles_per_us(void)
{
	uint64_t ns = suci_udp_now_ns();

	return lmpi_cycles_rate(lmpi_cycles() - begun.cycles, ns - begun.ns);
}
