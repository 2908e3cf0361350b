# SPDX-License-Identifier: BSD-2-Clause
$(call prog,impi-server,$(wildcard app/impi-server/*.c),impi sucaead seal process base,libbsd-overlay)
$(call unit,test_server_door,test/unit/test_server_door.c app/impi-server/door.c,sucaead seal process base)
