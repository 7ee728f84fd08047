# SPDX-License-Identifier: LGPL-2.1-or-later
# What the library needs from elsewhere, all found through pkg-config.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

if(PATHCACHE_URCU_PREFIX AND NOT PATHCACHE_URCU_ANNOTATE)
	if(NOT EXISTS ${PATHCACHE_URCU_PREFIX}/lib/pkgconfig/liburcu-memb.pc)
		message(FATAL_ERROR "No liburcu in ${PATHCACHE_URCU_PREFIX}. "
			"For the tsan preset: ./dev setup tsan")
	endif()
	set(ENV{PKG_CONFIG_PATH}
		"${PATHCACHE_URCU_PREFIX}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")
endif()

foreach(flavour IN ITEMS memb qsbr bp)
	pkg_check_modules(urcu_${flavour} REQUIRED IMPORTED_TARGET liburcu-${flavour}>=0.13)
endforeach()

if(PATHCACHE_URCU_ANNOTATE AND PATHCACHE_SANITIZE MATCHES "thread")
	include_directories(BEFORE SYSTEM ${PROJECT_SOURCE_DIR}/cmake/urcu-annotate)
endif()

pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

if(PATHCACHE_ALLOCATOR STREQUAL "jemalloc")
	pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc>=5)
elseif(NOT PATHCACHE_ALLOCATOR STREQUAL "libc")
	message(FATAL_ERROR "PATHCACHE_ALLOCATOR is '${PATHCACHE_ALLOCATOR}'; "
		"it may be jemalloc or libc")
endif()
