/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "subjects.h"

size_t subjects_all(struct subject *out)
{
	size_t n = subjects_ref(out);

	return n + subjects_lookup(out + n);
}
