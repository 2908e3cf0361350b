/* base/version.h - the number of what is released together: programs and libraries. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define BASE_VERSION "1.0"

#endif
