/* SPDX-License-Identifier: BSD-2-Clause */
#include "info.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "engine.h"

struct lmpi_pool lmpi_info_pool = {.what = "info",
				   .magic = 0x494e464f,
				   .size = sizeof(struct lmpi_info),
				   .offset = offsetof(struct lmpi_info, obj)};
static struct lmpi_info *env;

int
lmpi_info_arg(MPI_Info handle, struct lmpi_info **info)
{
	*info = lmpi_info_find(handle);
	if (*info == NULL && handle != MPI_INFO_NULL)
		return lmpi_error(MPI_ERR_INFO, "info is not a valid info object");
	return MPI_SUCCESS;
}

struct lmpi_info *
lmpi_info_new(void)
{
	return lmpi_object_new(&lmpi_info_pool);
}

void
lmpi_info_delete(struct lmpi_info *info)
{
	for (int i = 0; i < info->n; i++) {
		free(info->pairs[i].key);
		free(info->pairs[i].value);
	}
	free(info->pairs);
	lmpi_object_delete(&lmpi_info_pool, info);
}

struct lmpi_info_pair *
lmpi_info_pair_of(const struct lmpi_info *info, const char *key)
{
	for (int i = 0; i < info->n; i++)
		if (strcmp(info->pairs[i].key, key) == 0)
			return &info->pairs[i];
	return NULL;
}

const char *
lmpi_info_value(const struct lmpi_info *info, const char *key)
{
	const struct lmpi_info_pair *p = info ? lmpi_info_pair_of(info, key) : NULL;

	return p ? p->value : NULL;
}

bool
lmpi_info_put(struct lmpi_info *info, const char *key, const char *value)
{
	struct lmpi_info_pair *p = lmpi_info_pair_of(info, key), *more;
	char *v = strdup(value), *k;

	if (v == NULL)
		return false;
	if (p != NULL) {
		free(p->value);
		p->value = v;
		return true;
	}
	more = realloc(info->pairs, (size_t)(info->n + 1) * sizeof(*more));
	k = strdup(key);
	if (more != NULL)
		info->pairs = more;
	if (more == NULL || k == NULL) {
		free(k);
		free(v);
		return false;
	}
	info->pairs[info->n].key = k;
	info->pairs[info->n++].value = v;
	return true;
}

struct lmpi_info *
lmpi_info_copy(const struct lmpi_info *from)
{
	struct lmpi_info *info = lmpi_info_new();

	for (int i = 0; info != NULL && from != NULL && i < from->n; i++)
		if (!lmpi_info_put(info, from->pairs[i].key, from->pairs[i].value)) {
			lmpi_info_delete(info);
			return NULL;
		}
	return info;
}

/* How this process was called: its command, and what follows with blanks between. */
static void
put_command(struct lmpi_info *info)
{
	char words[MPI_MAX_INFO_VAL];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	words[n] = '\0';
	size_t first = strlen(words) + 1;
	lmpi_info_put(info, "command", words);
	for (size_t i = first; i + 1 < (size_t)n; i++)
		if (words[i] == '\0')
			words[i] = ' ';
	if (first < (size_t)n)
		lmpi_info_put(info, "argv", words + first);
}

/* What is known of how the job was started. */
static struct lmpi_info *
env_info(void)
{
	static const char *const words[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
					    "mpi_errors_return"};
	char text[64];

	if (env != NULL)
		return env;
	env = lmpi_info_new();
	if (env == NULL)
		return NULL;
	snprintf(text, sizeof(text), "%u", lmpi_world.size);
	if (lmpi_world.size != 0)
		lmpi_info_put(env, "maxprocs", text);
	if (gethostname(text, sizeof(text)) == 0) {
		text[sizeof(text) - 1] = '\0';
		lmpi_info_put(env, "host", text);
	}
	lmpi_info_put(env, "thread_level", "MPI_THREAD_MULTIPLE");
	put_command(env);
	lmpi_info_put(env, "mpi_initial_errhandler", words[lmpi_knob_word(LMPI_KNOB_ERRHANDLER)]);
	return env;
}

struct lmpi_info *
lmpi_info_find(MPI_Info handle)
{
	if (handle == MPI_INFO_ENV)
		return env_info();
	return lmpi_object_valid(&lmpi_info_pool, handle) ? (void *)handle : NULL;
}
