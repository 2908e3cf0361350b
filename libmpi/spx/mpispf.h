! SPDX-License-Identifier: BSD-2-Clause
! mpispf.h - the numbers of mpisp.h for Fortran: include 'mpispf.h', in
! fixed and free form.  Modules mpisp and mpisp_f08 have the calls, too.
! MPISP_FRAMES_END is C's MPISP_FRAME_END, which is a call here.
      integer MPISP_CLUSTER_IN, MPISP_CLUSTER_OUT
      parameter (MPISP_CLUSTER_IN = -101)
      parameter (MPISP_CLUSTER_OUT = -102)
      integer(selected_int_kind(18)) MPISP_FRAMES_END
      parameter (MPISP_FRAMES_END = -1)
      integer MPISP_ERR_AGAIN
      parameter (MPISP_ERR_AGAIN = 16132)
      integer MPISP_ALONE, MPISP_COMPUTE, MPISP_IO
      parameter (MPISP_ALONE = 0)
      parameter (MPISP_COMPUTE = 1)
      parameter (MPISP_IO = 2)
      integer MPISP_WORLD_AUTO, MPISP_WORLD_PREV, MPISP_WORLD_NEXT
      parameter (MPISP_WORLD_AUTO = 0)
      parameter (MPISP_WORLD_PREV = 1)
      parameter (MPISP_WORLD_NEXT = 2)
      integer MPISP_EVENT_MISSING, MPISP_EVENT_RUNNING
      parameter (MPISP_EVENT_MISSING = 0)
      parameter (MPISP_EVENT_RUNNING = 1)
      integer MPISP_EVENT_LOST, MPISP_EVENT_BACK
      parameter (MPISP_EVENT_LOST = 2)
      parameter (MPISP_EVENT_BACK = 3)
      integer MPISP_EVENT_IGNORED, MPISP_EVENT_HOARDED
      parameter (MPISP_EVENT_IGNORED = 4)
      parameter (MPISP_EVENT_HOARDED = 5)
      integer MPISP_EVENT_AWAITED, MPISP_EVENT_ASIDE
      parameter (MPISP_EVENT_AWAITED = 6)
      parameter (MPISP_EVENT_ASIDE = 7)
