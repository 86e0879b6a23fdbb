#include "masks.h"

#include "record.h"
#include "sys.h"

int masks_init(struct view *view, char *const *paths)
{
	struct mask_set *masks;
	int error;

	if (!paths || !*paths) {
		return 0;
	}
	masks = calloc(1, sizeof(*masks));
	if (!masks) {
		return -ENOMEM;
	}
	error = mask_set_init(masks, paths);
	if (error) {
		free(masks);
		return error;
	}
	view->masks = masks;
	return 0;
}

void masks_release(struct view *view)
{
	if (view->masks) {
		mask_set_release(view->masks);
		free(view->masks);
		view->masks = NULL;
	}
}

bool masks_hide(const struct node *parent, const char *name)
{
	const struct mask_set *masks = parent->view->masks;
	const struct lowers *lowers = parent->lowers;

	for (unsigned int i = 0; masks && lowers && i < lowers->count; i++) {
		if (mask_set_has(masks, lowers->at[i].path, name)) {
			return true;
		}
	}
	return false;
}

int masks_find_links(const struct view *view, struct mask_links *ret_links)
{
	struct mask_links links = MASK_LINKS_INIT;

	for (unsigned int i = 0; view->masks && i < view->lower_count; i++) {
		int error =
			mask_links_add(&links, view->masks, &view->lowers[i]);

		if (error) {
			mask_links_release(&links);
			return error;
		}
	}
	*ret_links = links;
	return 0;
}

/* A call for each mask, but only for files with several names, and what the
 * answer is for the kernel keeps. */
int masks_hide_file(const struct view *view, const struct stat *st)
{
	struct mask_links links;
	int hidden;

	if (!view->masks || !S_ISREG(st->st_mode) || st->st_nlink < 2) {
		return 0;
	}
	hidden = masks_find_links(view, &links);
	if (!hidden) {
		hidden = mask_links_have(&links, st->st_dev, st->st_ino);
		mask_links_release(&links);
	}
	return hidden;
}

void masks_record(struct node *parent, const char *name,
		  const struct caller *caller)
{
	rwlock_take_shared(&parent->view->tree);
	record_refused(parent, name, caller);
	rwlock_drop(&parent->view->tree);
}

int masks_check_new(struct node *parent, const char *name)
{
	const struct lowers *lowers = parent->lowers;

	if (masks_hide(parent, name)) {
		return -EACCES;
	}
	for (unsigned int i = 0;
	     parent->view->masks && lowers && i < lowers->count; i++) {
		AUTO_FDREF *dir = NULL;
		struct stat st;
		int error = view_dir_fd(parent, VIEW_SLOT_LOWER(i), &dir);

		error = error ? error : sys_fstatat(dir->fd, name, &st);
		error = error ? error : masks_hide_file(parent->view, &st);
		if (error && error != -ENOENT) {
			return error > 0 ? -EACCES : error;
		}
	}
	return 0;
}
