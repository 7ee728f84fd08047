# SPDX-License-Identifier: LGPL-2.1-or-later

# pathcache_test(<layer>.<subject> LABELS label... SOURCES file... [LIBS target...] [TIMEOUT s])
#
# One test program with the project's conventions: exit code 77 skips it, TIMEOUT (seconds,
# default 120) ends it. The program is named <layer>.<subject> too.
function(pathcache_test name)
	cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;SOURCES;LIBS" ${ARGN})
	if(NOT arg_LABELS OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "pathcache_test(${name}): LABELS and SOURCES are required; "
			"not understood: '${arg_UNPARSED_ARGUMENTS}'")
	endif()
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 120)
	endif()
	add_executable(${name} ${arg_SOURCES})
	target_link_libraries(${name} PRIVATE ${arg_LIBS} Threads::Threads)
	add_test(NAME ${name} COMMAND ${name})
	set_tests_properties(${name} PROPERTIES
		LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT})
endfunction()
