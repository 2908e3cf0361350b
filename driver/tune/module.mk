# SPDX-License-Identifier: BSD-2-Clause
# The file of the store of measured settings, and what a row says of this machine.
$(call lib,tunefile,driver/tune,tune base)
$(call unit,test_tune_file,test/unit/test_tune_file.c,tunefile tune base)
