#include "mounts.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "path.h"

struct mount *mounts_add(struct mounts *mounts, enum mount_kind kind,
			 const char *source, const char *target)
{
	struct mount *list =
		reallocarray(mounts->list, mounts->count + 1, sizeof(*list));

	die_if_no_memory(!list);
	mounts->list = list;
	list[mounts->count] = (struct mount){
		.kind = kind,
		.source = source ? text_copy(source) : NULL,
		.target = text_copy(target),
	};
	return &list[mounts->count++];
}

static void mount_release(struct mount *mount)
{
	free(mount->source);
	free(mount->target);
}

void mounts_release(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		mount_release(&mounts->list[i]);
	}
	free(mounts->list);
	*mounts = (struct mounts){0};
}

/* Of two at one place (a home that is /opt) the view stands. The sort is a
 * stable one: of equals the later one comes later. */
static bool stands_over(const struct mount *later, const struct mount *earlier)
{
	return later->view || !earlier->view;
}

static void insert(struct mount *list, size_t *count, struct mount mount)
{
	size_t at = *count;

	while (at > 0 && strcmp(list[at - 1].target, mount.target) > 0) {
		at--;
	}
	if (at > 0 && strcmp(list[at - 1].target, mount.target) == 0) {
		struct mount *there = &list[at - 1];

		if (stands_over(&mount, there)) {
			mount_release(there);
			*there = mount;
		} else {
			mount_release(&mount);
		}
		return;
	}
	memmove(&list[at + 1], &list[at], (*count - at) * sizeof(*list));
	list[at] = mount;
	(*count)++;
}

void mounts_sort(struct mounts *mounts)
{
	size_t kept = 0;

	/* A parent, which is a prefix, comes first. */
	for (size_t i = 0; i < mounts->count; i++) {
		insert(mounts->list, &kept, mounts->list[i]);
	}
	mounts->count = kept;
}

const struct mount *mounts_around(const struct mounts *mounts, size_t count,
				  const char *path)
{
	const struct mount *around = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct mount *at = &mounts->list[i];

		if (at->kind != MOUNT_FOLDER && at->kind != MOUNT_LINK &&
		    path_is_within(path, at->target)) {
			around = at;
		}
	}
	return around;
}
