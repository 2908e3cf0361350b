# SPDX-License-Identifier: BSD-2-Clause
# Circuits for jobs: what processes, relays and the controller of a switch say to each other, and
# what each makes of it.  Sans-I/O.
$(call lib,light,lib/light,circ ocs coll base)

$(call unit,test_light_note,test/unit/test_light_note.c,light circ ocs coll base)
$(call unit,test_light_client,test/unit/test_light_client.c,light circ ocs coll base)
$(call fuzz,fuzz_light_note,test/fuzz/fuzz_light_note.c,light circ ocs coll base)
$(call fuzz,fuzz_light_controller,test/fuzz/fuzz_light_controller.c,light circ ocs coll base)
$(call unit,test_light_frame,test/unit/test_light_frame.c,light circ ocs coll base)
$(call unit,test_light_controller,test/unit/test_light_controller.c,light circ ocs coll base)
$(call unit,test_light_ports,test/unit/test_light_ports.c,light circ ocs coll base)
$(call unit,test_light_links,test/unit/test_light_links.c,light circ ocs coll base)
$(call unit,test_light_waves,test/unit/test_light_waves.c,light circ ocs coll base)
