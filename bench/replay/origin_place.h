/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of a place; shared by the files of origin.h alone. */
#ifndef BENCH_ORIGIN_PLACE_H
#define BENCH_ORIGIN_PLACE_H

#define PLACE_KNOWN 0x01u  /* an operation has told whether it was there */
#define PLACE_EXISTS 0x02u /* ... and it was */
#define PLACE_DIRECTORY 0x04u
#define PLACE_LINK 0x08u
#define PLACE_LED_NOWHERE 0x10u /* a question that follows links found nothing */
#define PLACE_CHANGED 0x20u     /* the recording makes or removes the name */
#define PLACE_LINKED 0x40u      /* ... makes a link of it */
#define PLACE_TARGET 0x80u      /* ... that leads to something, */
#define PLACE_TARGET_DIRECTORY 0x100u

#endif
