/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/ctl/label.h - labels of metrics, as Prometheus reads them. */
#ifndef CTL_LABEL_H
#define CTL_LABEL_H

#include <stddef.h>

/* name="value" behind what is in labels[room], with a comma between.  A value that does not fit is
 * cut; NULL: it is empty. */
void ctl_add_label(char *labels, size_t room, const char *name, const char *value);

#endif
