# SPDX-License-Identifier: LGPL-2.1-or-later

# pathcache_flavour_test(<layer>.<subject> LABELS label... SOURCES file... [TIMEOUT s])
#
# The same black-box test for each liburcu flavour: <layer>.<subject>-<flavour>.
function(pathcache_flavour_test name)
	foreach(flavour IN LISTS PATHCACHE_FLAVOURS)
		pathcache_test(${name}-${flavour} ${ARGN} LIBS test_support-${flavour})
	endforeach()
endfunction()
