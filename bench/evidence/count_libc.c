/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of libc by what is counted: the linker is told to bring them here
 * (--wrap, see CMakeLists.txt), and the compiler to make no code of its own for
 * them. Memory and string functions count the bytes that they must look at, locks
 * what they do when they are free, and the allocator as calls.
 */
#include "count.h"

#include <pthread.h>
#include <sys/types.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	if (n) {
		count_load(from, n);
		count_store(to, n);
	}
	return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
	if (n) {
		count_load(from, n);
		count_store(to, n);
	}
	return __real_memmove(to, from, n);
}

void *__real_memset(void *to, int byte, size_t n);
void *__wrap_memset(void *to, int byte, size_t n);
void *__wrap_memset(void *to, int byte, size_t n)
{
	if (n)
		count_store(to, n);
	return __real_memset(to, byte, n);
}

/* Bytes up to the first that differs, with it. */
static size_t compared(const unsigned char *a, const unsigned char *b, size_t n)
{
	size_t i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i < n ? i + 1 : n;
}

int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n)
{
	size_t looked_at = compared(a, b, n);

	if (n) {
		count_load(a, looked_at);
		count_load(b, looked_at);
	}
	return __real_memcmp(a, b, n);
}

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	count_load(a, n + 1);
	count_load(b, n + 1);
	return __real_strcmp(a, b);
}

size_t __real_strlen(const char *text);
size_t __wrap_strlen(const char *text);
size_t __wrap_strlen(const char *text)
{
	size_t n = __real_strlen(text);

	count_load(text, n + 1);
	return n;
}

size_t __real_strnlen(const char *text, size_t max);
size_t __wrap_strnlen(const char *text, size_t max);
size_t __wrap_strnlen(const char *text, size_t max)
{
	size_t n = __real_strnlen(text, max);

	if (max)
		count_load(text, n < max ? n + 1 : n);
	return n;
}

void *__real_memchr(const void *text, int byte, size_t n);
void *__wrap_memchr(const void *text, int byte, size_t n);
void *__wrap_memchr(const void *text, int byte, size_t n)
{
	const char *found = __real_memchr(text, byte, n);

	if (n)
		count_load(text, found ? (size_t)(found - (const char *)text) + 1 : n);
	return __real_memchr(text, byte, n);
}

/* ---- what is not looked into ---- */

#define CALL(type, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		count_unseen(); \
		return __real_##name arguments; \
	}

CALL(void *, malloc, (size_t size), (size))
CALL(void *, calloc, (size_t n, size_t size), (n, size))
CALL(void *, realloc, (void *old, size_t size), (old, size))

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	count_unseen();
	__real_free(memory);
}

/*
 * ---- locks, counted by hand ----
 *
 * As glibc has them where they are free and the process has other threads: the
 * kind of a mutex is read, its owner and users are plain words beside the lock.
 */

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	count_load(&lock->__data.__kind, sizeof(lock->__data.__kind));
	count_rmw(&lock->__data.__lock);
	count_load(&lock->__data.__nusers, sizeof(lock->__data.__nusers));
	count_store(&lock->__data.__nusers, sizeof(lock->__data.__nusers));
	count_store(&lock->__data.__owner, sizeof(lock->__data.__owner));
	return __real_pthread_mutex_lock(lock);
}

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	count_load(&lock->__data.__kind, sizeof(lock->__data.__kind));
	count_store(&lock->__data.__owner, sizeof(lock->__data.__owner));
	count_load(&lock->__data.__nusers, sizeof(lock->__data.__nusers));
	count_store(&lock->__data.__nusers, sizeof(lock->__data.__nusers));
	count_rmw(&lock->__data.__lock);
	return __real_pthread_mutex_unlock(lock);
}

int __real_pthread_spin_lock(pthread_spinlock_t *lock);
int __wrap_pthread_spin_lock(pthread_spinlock_t *lock);
int __wrap_pthread_spin_lock(pthread_spinlock_t *lock)
{
	count_rmw(lock);
	return __real_pthread_spin_lock(lock);
}

int __real_pthread_spin_unlock(pthread_spinlock_t *lock);
int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock);
int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock)
{
	count_store(lock, sizeof(*lock));
	return __real_pthread_spin_unlock(lock);
}

/* ---- chance -------------------------------------------------------------- */

/* The same on each run, so that counts are: keys of hashes come from here. */
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned int flags);
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned int flags)
{
	static uint64_t state = 1;
	unsigned char *bytes = buf;

	(void)flags;
	for (size_t i = 0; i < size; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		bytes[i] = (unsigned char)(state >> 56);
	}
	return (ssize_t)size;
}
