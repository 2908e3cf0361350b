# SPDX-License-Identifier: BSD-2-Clause
$(call room,mail,host,rdconf relay suci base,)
