# SPDX-License-Identifier: LGPL-2.1-or-later
# Language level, warnings and sanitizers of everything in this tree.

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
	-Wmissing-prototypes
	-Wnested-externs
	-Wold-style-definition
	-Wpointer-arith
	-Wredundant-decls
	-Wshadow
	-Wstrict-prototypes
	-Wundef
	-Wvla
	-Wwrite-strings)
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
