/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi_info - which MPI library this is, and what its variables are.  No job is started: all comes
 * from the calls that MPI allows before MPI_Init. */
#include "base/version.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: mpi_info [--all] [NAME...]\n"
	"Says which MPI library programs of mpicc run with, its versions and how it was built.\n"
	"  --all       and all its variables, with their values here\n"
	"  NAME        only that variable: LIBMPI_TRANSPORT, or all that begin with LIBMPI_COLL\n"
	"  --help, --version\n"
	"Exit: 0 done; 1 there is no such variable; 2 wrong arguments.\n";

static void
print_library(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int len, version, subversion, abi_major, abi_minor;
	MPI_Get_library_version(text, &len);
	MPI_Get_version(&version, &subversion);
	MPI_Abi_get_version(&abi_major, &abi_minor);
	text[strcspn(text, "\n")] = '\0';
	printf("library    %s\nstandard   MPI %d.%d\nABI        %d.%d\npointers   %zu bits\n", text,
	       version, subversion, abi_major, abi_minor, 8 * sizeof(void *));
}

/* The value as text. */
static void
read_variable(int index, MPI_Datatype type, char *out, size_t max)
{
	MPI_T_cvar_handle handle;
	int count;
	*out = '\0';
	if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
		return;
	union {
		char text[4096];
		int i;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
	} v;
	memset(&v, 0, sizeof v);
	bool known = (type != MPI_CHAR || (size_t)count <= sizeof v.text) &&
		     MPI_T_cvar_read(handle, &v) == MPI_SUCCESS;
	if (!known)
		snprintf(out, max, "?");
	else if (type == MPI_CHAR)
		snprintf(out, max, "%s", v.text);
	else if (type == MPI_INT)
		snprintf(out, max, "%d", v.i);
	else if (type == MPI_UNSIGNED)
		snprintf(out, max, "%u", v.u);
	else if (type == MPI_UNSIGNED_LONG)
		snprintf(out, max, "%lu", v.ul);
	else
		snprintf(out, max, "%llu", v.ull);
	MPI_T_cvar_handle_free(&handle);
}

/* How many variables begin with name. */
static int
print_variables(const char *name)
{
	int n = 0, found = 0;
	MPI_T_cvar_get_num(&n);
	for (int i = 0; i < n; i++) {
		char known[256], text[1024], value[4096];
		int known_len = sizeof known, text_len = sizeof text, verbosity, bind, scope;
		MPI_Datatype type;
		MPI_T_enum words;
		if (MPI_T_cvar_get_info(i, known, &known_len, &verbosity, &type, &words, text,
					&text_len, &bind, &scope) != MPI_SUCCESS ||
		    strncmp(known, name, strlen(name)) != 0)
			continue;
		read_variable(i, type, value, sizeof value);
		printf("%s = %s%s\n    %s\n", known, *value ? value : "(not set)",
		       scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY
			       ? ""
			       : "  (tools can set it)",
		       text);
		found++;
	}
	return found;
}

int
main(int argc, char **argv)
{
	int provided, status = 0;
	bool all = false;
	int first = argc;
	for (int i = 1; i < argc && first == argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0) {
			puts("mpi_info " BASE_VERSION);
			return 0;
		}
		if (strcmp(argv[i], "--all") == 0 || strcmp(argv[i], "-a") == 0) {
			all = true;
		} else if (argv[i][0] == '-') {
			fprintf(stderr, "mpi_info: unknown option %s; see --help\n", argv[i]);
			return 2;
		} else {
			first = i;
		}
	}
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	if (first == argc)
		print_library();
	if (all) {
		putchar('\n');
		(void)print_variables("");
	}
	for (int i = first; i < argc; i++)
		if (!print_variables(argv[i])) {
			fprintf(stderr,
				"mpi_info: no variable begins with %s; mpi_info --all lists "
				"them\n",
				argv[i]);
			status = 1;
		}
	MPI_T_finalize();
	return status;
}
