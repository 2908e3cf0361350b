/* SPDX-License-Identifier: BSD-2-Clause */
! mpispf.h - special ranks of pipelines for Fortran: include 'mpispf.h', in fixed and free form.
      integer MPISP_CLUSTER_IN, MPISP_CLUSTER_OUT
      parameter (MPISP_CLUSTER_IN = -101)
      parameter (MPISP_CLUSTER_OUT = -102)
