#include "index_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "sys.h"

#define VFS_NAME "legato"

/* More regions of 32 KiB than that a log of 256 MiB needs are not looked at
 * again once they were mapped. */
#define REGIONS_MAX 64

/* What is kept of a file, behind what SQLite's own VFS keeps. */
struct behind {
	sqlite3_io_methods methods; /* SQLite's own, but for two */
	const sqlite3_io_methods *own;
	struct {
		void *at;
		size_t size;
	} regions[REGIONS_MAX];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sqlite3_vfs *own_vfs; /* constant once it is set */
static sqlite3_vfs our_vfs;

static size_t behind_offset(void)
{
	const size_t align = _Alignof(struct behind);

	return ((size_t)own_vfs->szOsFile + align - 1) / align * align;
}

static struct behind *behind_of(sqlite3_file *file)
{
	return (struct behind *)((char *)file + behind_offset());
}

static int map_shm(sqlite3_file *file, int region, int size, int extend,
		   void volatile **ret_map)
{
	struct behind *behind = behind_of(file);
	int code = behind->own->xShmMap(file, region, size, extend, ret_map);

	if (code != SQLITE_OK || !*ret_map) {
		return code;
	}
	if (sys_populate((void *)(uintptr_t)*ret_map, (size_t)size)) {
		*ret_map = NULL;
		return SQLITE_FULL;
	}
	if (region < REGIONS_MAX) {
		behind->regions[region].at = (void *)(uintptr_t)*ret_map;
		behind->regions[region].size = (size_t)size;
	}
	return code;
}

/* Who has a lock for itself is about to store. A page that was written to the
 * disk meanwhile may need space again. */
static int lock_shm(sqlite3_file *file, int first, int n, int flags)
{
	const struct behind *behind = behind_of(file);
	const int takes = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;

	for (size_t i = 0; (flags & takes) == takes && i < REGIONS_MAX; i++) {
		if (behind->regions[i].at &&
		    sys_populate(behind->regions[i].at,
				 behind->regions[i].size)) {
			return SQLITE_FULL;
		}
	}
	return behind->own->xShmLock(file, first, n, flags);
}

static int unmap_shm(sqlite3_file *file, int remove)
{
	struct behind *behind = behind_of(file);

	for (size_t i = 0; i < REGIONS_MAX; i++) {
		behind->regions[i].at = NULL;
	}
	return behind->own->xShmUnmap(file, remove);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
		     int flags, int *ret_flags)
{
	struct behind *behind = behind_of(file);
	int code = own_vfs->xOpen(vfs, name, file, flags, ret_flags);

	*behind = (struct behind){.own = NULL};
	if (code == SQLITE_OK && file->pMethods &&
	    file->pMethods->iVersion >= 2 && file->pMethods->xShmMap) {
		behind->own = file->pMethods;
		behind->methods = *file->pMethods;
		behind->methods.xShmMap = map_shm;
		behind->methods.xShmLock = lock_shm;
		behind->methods.xShmUnmap = unmap_shm;
		file->pMethods = &behind->methods;
	}
	return code;
}

/* SQLite's own VFS is copied with its data, so its functions go on working. */
static void make_vfs(void)
{
	own_vfs = sqlite3_vfs_find("unix");
	if (!own_vfs) {
		return;
	}
	our_vfs = *own_vfs;
	our_vfs.pNext = NULL;
	our_vfs.zName = VFS_NAME;
	our_vfs.szOsFile = (int)(behind_offset() + sizeof(struct behind));
	our_vfs.xOpen = open_file;
	if (sqlite3_vfs_register(&our_vfs, 0) != SQLITE_OK) {
		own_vfs = NULL;
	}
}

const char *index_vfs_name(void)
{
	pthread_once(&once, make_vfs);
	return own_vfs ? VFS_NAME : NULL;
}
