# SPDX-License-Identifier: BSD-2-Clause
# One optical circuit switch: its matrix, its leases, the contract of its driver.
$(call lib,ocs,lib/ocs,base)
$(call unit,test_ocs_matrix,test/unit/test_ocs_matrix.c,ocs base)
$(call unit,test_ocs_control,test/unit/test_ocs_control.c,ocs base)
$(call unit,test_ocs_lease,test/unit/test_ocs_lease.c,ocs base)
