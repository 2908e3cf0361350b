/* SPDX-License-Identifier: BSD-2-Clause */
/* What the API has and the ABI has not: Fortran handles as integers, and the names that
 * MPI-3 removed.  Inline, so a program needs no symbol beyond the ABI's. */
#ifndef MPI_NO_COMPAT
#if defined(__GNUC__)
#define MPI_COMPAT static __inline__ __attribute__((__unused__))
#else
#define MPI_COMPAT static inline
#endif

typedef int MPI_Fint;

#define MPI_COMPAT_HANDLE(kind, type)                 \
	MPI_COMPAT MPI_Fint MPI_##kind##_c2f(type h)  \
	{                                             \
		return MPI_##kind##_toint(h);         \
	}                                             \
	MPI_COMPAT type MPI_##kind##_f2c(MPI_Fint h)  \
	{                                             \
		return MPI_##kind##_fromint(h);       \
	}                                             \
	MPI_COMPAT MPI_Fint PMPI_##kind##_c2f(type h) \
	{                                             \
		return PMPI_##kind##_toint(h);        \
	}                                             \
	MPI_COMPAT type PMPI_##kind##_f2c(MPI_Fint h) \
	{                                             \
		return PMPI_##kind##_fromint(h);      \
	}
MPI_COMPAT_HANDLE(Comm, MPI_Comm)
MPI_COMPAT_HANDLE(Errhandler, MPI_Errhandler)
MPI_COMPAT_HANDLE(File, MPI_File)
MPI_COMPAT_HANDLE(Group, MPI_Group)
MPI_COMPAT_HANDLE(Info, MPI_Info)
MPI_COMPAT_HANDLE(Message, MPI_Message)
MPI_COMPAT_HANDLE(Op, MPI_Op)
MPI_COMPAT_HANDLE(Request, MPI_Request)
MPI_COMPAT_HANDLE(Session, MPI_Session)
MPI_COMPAT_HANDLE(Type, MPI_Datatype)
MPI_COMPAT_HANDLE(Win, MPI_Win)
#undef MPI_COMPAT_HANDLE

/* A status is eight integers in every language; this one is TYPE(MPI_Status) of module mpi_f08. */
typedef struct {
	MPI_Fint MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5];
} MPI_F08_status;

#define MPI_COMPAT_STATUS(name, from_type, to_type)                       \
	MPI_COMPAT int MPI_Status_##name(const from_type *f, to_type *t)  \
	{                                                                 \
		const MPI_Fint *from = (const MPI_Fint *)(const void *)f; \
		MPI_Fint *to = (MPI_Fint *)(void *)t;                     \
		int i;                                                    \
		for (i = 0; i < MPI_F_STATUS_SIZE; i++)                   \
			to[i] = from[i];                                  \
		return MPI_SUCCESS;                                       \
	}                                                                 \
	MPI_COMPAT int PMPI_Status_##name(const from_type *f, to_type *t) \
	{                                                                 \
		return MPI_Status_##name(f, t);                           \
	}
MPI_COMPAT_STATUS(c2f, MPI_Status, MPI_Fint)
MPI_COMPAT_STATUS(f2c, MPI_Fint, MPI_Status)
MPI_COMPAT_STATUS(c2f08, MPI_Status, MPI_F08_status)
MPI_COMPAT_STATUS(f082c, MPI_F08_status, MPI_Status)
MPI_COMPAT_STATUS(f2f08, MPI_Fint, MPI_F08_status)
MPI_COMPAT_STATUS(f082f, MPI_F08_status, MPI_Fint)
#undef MPI_COMPAT_STATUS

/* The ends of a type, for MPI_Type_struct: handles of libmpi alone, of those that the ABI has
 * left free. */
#define MPI_LB ((MPI_Datatype)0x000002be)
#define MPI_UB ((MPI_Datatype)0x000002bf)

typedef MPI_Comm_errhandler_function MPI_Handler_function;
MPI_COMPAT int
MPI_Address(void *location, MPI_Aint *address)
{
	return MPI_Get_address(location, address);
}
MPI_COMPAT int
MPI_Errhandler_create(MPI_Handler_function *handler_fn, MPI_Errhandler *errhandler)
{
	return MPI_Comm_create_errhandler(handler_fn, errhandler);
}
MPI_COMPAT int
MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return MPI_Comm_get_errhandler(comm, errhandler);
}
MPI_COMPAT int
MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
	return MPI_Comm_set_errhandler(comm, errhandler);
}
MPI_COMPAT int
MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
	MPI_Aint lb;
	return MPI_Type_get_extent(datatype, &lb, extent);
}
MPI_COMPAT int
MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
	MPI_Aint extent;
	return MPI_Type_get_extent(datatype, displacement, &extent);
}
MPI_COMPAT int
MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
	MPI_Aint lb, extent;
	int rc = MPI_Type_get_extent(datatype, &lb, &extent);
	*displacement = lb + extent;
	return rc;
}
MPI_COMPAT int
MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
		 MPI_Datatype *newtype)
{
	return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}
MPI_COMPAT int
MPI_Type_hindexed(int count, int *array_of_blocklengths, MPI_Aint *array_of_displacements,
		  MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	return MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements,
					oldtype, newtype);
}
MPI_COMPAT int
MPI_Type_struct(int count, int *array_of_blocklengths, MPI_Aint *array_of_displacements,
		MPI_Datatype *array_of_types, MPI_Datatype *newtype)
{
	return MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements,
				      array_of_types, newtype);
}
#undef MPI_COMPAT
#endif
