/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of ports. */

#include "call.h"
#include "dyn.h"
#include "impl.h"
#include "others.h"

int
impl_Publish_name(const char *service_name, MPI_Info info, const char *port_name)
{
	char why[LMPI_WHY];
	int rc = lmpi_name_publish(service_name, port_name, why);

	(void)info;
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}

int
impl_Unpublish_name(const char *service_name, MPI_Info info, const char *port_name)
{
	char why[LMPI_WHY];
	int rc = lmpi_name_unpublish(service_name, why);

	(void)info;
	(void)port_name;
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}

int
impl_Lookup_name(const char *service_name, MPI_Info info, char *port_name)
{
	char why[LMPI_WHY];
	int rc = lmpi_name_lookup(service_name, port_name, MPI_MAX_PORT_NAME, why);

	(void)info;
	return rc ? lmpi_error(rc, "%s", why) : MPI_SUCCESS;
}
