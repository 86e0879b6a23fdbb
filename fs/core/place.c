#include "place.h"

#include <fcntl.h>

#include "sys.h"

static int place_of_dir(struct node *dir, struct place *place)
{
	place->name = "";
	return view_dir_fd(
		dir, node_in_upper(dir) ? VIEW_SLOT_UPPER : VIEW_SLOT_LOWER(0),
		&place->dir);
}

int place_of(struct node *node, struct place *ret_place)
{
	unsigned int slot = VIEW_SLOT_UPPER;

	*ret_place = (struct place){.name = ""};
	if (node->pinned) {
		ret_place->dir = fdref_get(node->pinned);
		return 0;
	}
	if (node->removed) {
		return -ENOENT;
	}
	if (node_is_dir(node)) {
		return place_of_dir(node, ret_place);
	}
	if (node_in_upper(node) && node->link_key) {
		ret_place->name = node->link_key;
		ret_place->dir = fdref_get(node->view->links);
		return 0;
	}
	if (!node_in_upper(node)) {
		slot = VIEW_SLOT_LOWER(node->lower_index);
	}
	ret_place->name = node->name;
	return view_dir_fd(node->parent, slot, &ret_place->dir);
}

void place_release(struct place *place)
{
	fdref_auto_put(&place->dir);
	place->dir = NULL;
}

int place_open(const struct place *place, int flags)
{
	return *place->name ? sys_openat(place->dir->fd, place->name,
					 flags | O_NOFOLLOW, 0)
			    : sys_reopen(place->dir->fd, flags);
}
