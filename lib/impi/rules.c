/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include "impi/wire.h"

int
impi_rule_auth_choose(uint32_t server_mask, uint32_t client_mask)
{
	uint32_t common = server_mask & client_mask;
	if (common & IMPI_AUTH_MASK_KEY)
		return IMPI_AUTH_KEY;
	if (common & IMPI_AUTH_MASK_NONE)
		return IMPI_AUTH_NONE;
	return -1;
}

int
impi_rule_label_complete(uint32_t submitted, uint32_t done, uint32_t all)
{
	return submitted != 0 && ((submitted | done) & all) == all;
}

uint32_t
impi_rule_reply_to(uint32_t submitted, uint32_t all)
{
	return submitted & all;
}

int
impi_rule_loss_ends_job(int started)
{
	return !started;
}
