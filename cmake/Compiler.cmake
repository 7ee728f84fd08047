# SPDX-License-Identifier: LGPL-2.1-or-later
# Language level, warnings and sanitizers of everything in this tree. The library is C; the one
# thing in C++ is a rival that a benchmark compares with.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

add_compile_options(
	-Wall -Wextra -Wpedantic
	-Wcast-qual
	-Wconversion
	-Wdate-time
	-Wformat=2
	-Wimplicit-fallthrough
	-Wpointer-arith
	-Wredundant-decls
	-Wshadow
	-Wundef
	-Wvla
	-Wwrite-strings)
foreach(warning IN ITEMS missing-prototypes nested-externs old-style-definition strict-prototypes)
	add_compile_options($<$<COMPILE_LANGUAGE:C>:-W${warning}>)
endforeach()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
	add_compile_options(-Wduplicated-cond -Wlogical-op)
endif()
if(PATHCACHE_WERROR)
	add_compile_options(-Werror)
endif()

if(PATHCACHE_SANITIZE)
	add_compile_options(-fsanitize=${PATHCACHE_SANITIZE} -fno-sanitize-recover=all)
	add_link_options(-fsanitize=${PATHCACHE_SANITIZE})
	if(PATHCACHE_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
		# gcc says of each fence that the sanitizer does not model it. Known; see docs.
		add_compile_options(-Wno-tsan)
	endif()
endif()
