/* SPDX-License-Identifier: BSD-2-Clause */
/* Hints: those of the standard and of ROMIO that mean something here.
 *
 *	cb_buffer_size        window of an aggregator
 *	cb_nodes              how many aggregators
 *	cb_config_list        "*:n": at most n of them on a node
 *	collective_buffering  true or false, or separately
 *	romio_cb_read/_write  enable, disable, automatic
 *	romio_ds_read/_write  data sieving: the same
 *	ind_rd/wr_buffer_size what sieving moves at a time
 *	striping_unit         domains of aggregators begin at multiples of it
 *	file_perm             of files that are created, octal */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "impl.h"
#include "info.h"
#include "io.h"

#define BUFFER_MIN 4096
#define BUFFER_MAX (INT64_C(1) << 30)

void
lmpi_io_hints_default(struct lmpi_io_hints *h)
{
	*h = (struct lmpi_io_hints){.cb_buffer = 4 << 20,
				    .ind_rd = 4 << 20,
				    .ind_wr = 512 << 10,
				    .unit = 4096,
				    .perm = 0666};
}

static const char *const choices[] = {"automatic", "enable", "disable"};

static const struct {
	const char *key;
	size_t at;
	int64_t min, max;
} numbers[] = {
	{"cb_buffer_size", offsetof(struct lmpi_io_hints, cb_buffer), BUFFER_MIN, BUFFER_MAX},
	{"cb_nodes", offsetof(struct lmpi_io_hints, cb_nodes), 1, INT32_MAX},
	{"ind_rd_buffer_size", offsetof(struct lmpi_io_hints, ind_rd), BUFFER_MIN, BUFFER_MAX},
	{"ind_wr_buffer_size", offsetof(struct lmpi_io_hints, ind_wr), BUFFER_MIN, BUFFER_MAX},
	{"striping_unit", offsetof(struct lmpi_io_hints, unit), 1, BUFFER_MAX},
};
static const struct {
	const char *key;
	size_t at;
} switches[] = {
	{"romio_cb_read", offsetof(struct lmpi_io_hints, cb_read)},
	{"romio_cb_write", offsetof(struct lmpi_io_hints, cb_write)},
	{"romio_ds_read", offsetof(struct lmpi_io_hints, ds_read)},
	{"romio_ds_write", offsetof(struct lmpi_io_hints, ds_write)},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int64_t *
number_at(struct lmpi_io_hints *h, size_t i)
{
	return (int64_t *)(void *)((char *)h + numbers[i].at);
}

static int32_t *
switch_at(struct lmpi_io_hints *h, size_t i)
{
	return (int32_t *)(void *)((char *)h + switches[i].at);
}

static void
take_switch(int32_t *s, const char *value)
{
	for (int32_t c = LMPI_IO_AUTO; c <= LMPI_IO_DISABLE; c++)
		if (value != NULL && strcmp(value, choices[c]) == 0)
			*s = c;
}

void
lmpi_io_hints_take(struct lmpi_io_hints *h, const struct lmpi_info *info)
{
	const char *v;
	char *end;

	if (info == NULL)
		return;
	v = lmpi_info_value(info, "collective_buffering");
	if (v != NULL && (strcmp(v, "true") == 0 || strcmp(v, "false") == 0))
		h->cb_read = h->cb_write = v[0] == 't' ? LMPI_IO_ENABLE : LMPI_IO_DISABLE;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		v = lmpi_info_value(info, numbers[i].key);
		long long n = v ? strtoll(v, &end, 10) : 0;

		if (v != NULL && end != v && *end == '\0' && n >= numbers[i].min &&
		    n <= numbers[i].max)
			*number_at(h, i) = n;
	}
	for (size_t i = 0; i < COUNT(switches); i++)
		take_switch(switch_at(h, i), lmpi_info_value(info, switches[i].key));
	v = lmpi_info_value(info, "cb_config_list");
	if (v != NULL && strcmp(v, "*:*") == 0)
		h->per_node = INT32_MAX;
	else if (v != NULL && strncmp(v, "*:", 2) == 0 && strtoll(v + 2, &end, 10) > 0 &&
		 *end == '\0')
		h->per_node = strtoll(v + 2, NULL, 10);
	v = lmpi_info_value(info, "file_perm");
	if (v != NULL) {
		long perm = strtol(v, &end, 8);

		if (end != v && *end == '\0' && perm >= 0 && perm <= 07777)
			h->perm = (int32_t)perm;
	}
}

static bool
put_hints_number(struct lmpi_info *info, const char *key, const char *format, int64_t n)
{
	char text[40];

	snprintf(text, sizeof(text), strcmp(format, "o") == 0 ? "%#llo" : "%lld", (long long)n);
	return lmpi_info_put(info, key, text);
}

int
impl_File_get_info(MPI_File fh, MPI_Info *info_used)
{
	struct lmpi_file *f;
	struct lmpi_info *info;
	char list[40] = "*:*";
	bool ok;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	info = lmpi_info_new();
	ok = info != NULL;
	for (size_t i = 0; ok && i < COUNT(numbers); i++) {
		bool nodes = strcmp(numbers[i].key, "cb_nodes") == 0;

		ok = put_hints_number(info, numbers[i].key, "d",
				      nodes ? f->aggs : *number_at(&f->hints, i));
	}
	for (size_t i = 0; ok && i < COUNT(switches); i++)
		ok = lmpi_info_put(info, switches[i].key, choices[*switch_at(&f->hints, i)]);
	if (f->hints.per_node != 0 && f->hints.per_node != INT32_MAX)
		snprintf(list, sizeof(list), "*:%lld", (long long)f->hints.per_node);
	ok = ok && lmpi_info_put(info, "cb_config_list", list);
	ok = ok && lmpi_info_put(info, "collective_buffering",
				 f->hints.cb_write == LMPI_IO_DISABLE ? "false" : "true");
	ok = ok && put_hints_number(info, "file_perm", "o", f->hints.perm);
	if (!ok) {
		if (info != NULL)
			lmpi_info_delete(info);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	*info_used = (MPI_Info)info;
	return MPI_SUCCESS;
}

int
impl_File_set_info(MPI_File fh, MPI_Info info)
{
	struct lmpi_io_hints h;
	struct lmpi_file *f;
	struct lmpi_info *i;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	lmpi_file_drain(f);
	rc = lmpi_file_agree(f, lmpi_info_arg(info, &i), "MPI_File_set_info");
	if (rc)
		return rc;
	h = f->hints;
	lmpi_io_hints_take(&h, i);
	rc = lmpi_coll_bcast_bytes(f->comm, &h, sizeof(h), 0);
	if (rc)
		return rc;
	f->hints = h;
	return lmpi_file_choose_aggregators(f);
}
