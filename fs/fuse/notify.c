#include "notify.h"

#include <string.h>
#include <sys/inotify.h>

#include "err.h"
#include "log.h"
#include "sys.h"
#include "watch.h"

#define EVENTS_BYTES 65536

struct notifier {
	struct fuse_session *session;
	struct server *server;
};

/* -ENOENT: the kernel does not know it (any more), so nothing is stale. */
static void log_failure(const char *what, int error)
{
	if (error && error != -ENOENT) {
		log_debug("%s not notified: %s", what, err_name(error));
	}
}

static void forget_entry(const struct notifier *notifier, uint64_t dir_id,
			 const char *name)
{
	log_failure("entry",
		    fuse_lowlevel_notify_inval_entry(notifier->session, dir_id,
						     name, strlen(name)));
}

/* Attributes, and all data (of a directory: the cached listing). */
static void forget_inode(const struct notifier *notifier, uint64_t id)
{
	log_failure("inode", fuse_lowlevel_notify_inval_inode(notifier->session,
							      id, 0, 0));
}

/* All that the kernel has of a node, its name included. */
static void forget_node(const struct notifier *notifier, uint64_t id)
{
	struct nodes *nodes = &notifier->server->fs.nodes;
	struct node *node = nodes_get(nodes, id);
	AUTO_BUF name = BUF_INIT;
	uint64_t parent_id = 0;

	if (!node) {
		return;
	}
	if (node->view) {
		parent_id = node_name(node, &name);
	}
	if (node->view && node_is_dir(node)) {
		watch_base_replaced(node, 0);
	}
	node_put(nodes, node);
	forget_inode(notifier, id);
	if (parent_id && !buf_error(&name)) {
		forget_entry(notifier, parent_id, name.data);
	}
}

/* The id of the node that the kernel may have for `name`; 0: none. */
static uint64_t known_id(struct node *dir, const char *name)
{
	struct found found;
	struct node *node = NULL;
	uint64_t id = 0;

	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	if (!lookup_layers(dir, name, &found)) {
		node = lookup_known(dir, name, &found);
		found_release(&found);
	}
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	if (node) {
		id = node_in_upper(node) ? 0 : node->id;
		node_put(&dir->view->fs->nodes, node);
	}
	return id;
}

/* Everything that the kernel has at or below a directory of the base that is
 * elsewhere by now. */
static void forget_below(const struct notifier *notifier, struct node *top)
{
	struct nodes *nodes = &notifier->server->fs.nodes;
	AUTO_FREE uint64_t *ids = NULL;
	size_t count = 0;

	if (nodes_below(nodes, top, &ids, &count)) {
		return; /* no memory: the answers grow old by themselves */
	}
	for (size_t i = 0; i < count; i++) {
		forget_node(notifier, ids[i]);
	}
}

/* The node of the directory `name`, whether it is there or not; a reference,
 * or NULL. */
static struct node *known_dir(struct node *parent, const char *name)
{
	struct node_seed seed = {
		.view = parent->view,
		.parent = parent,
		.name = name,
		.type = S_IFDIR,
	};

	return nodes_find(&parent->view->fs->nodes, &seed);
}

static void dir_entry_changed(const struct notifier *notifier,
			      struct node *parent, const char *name,
			      uint32_t mask)
{
	struct nodes *nodes = &notifier->server->fs.nodes;
	struct node *dir = known_dir(parent, name);

	if (!dir) {
		return;
	}
	if (mask & (IN_MOVED_FROM | IN_MOVED_TO)) {
		forget_below(notifier, dir);
	} else {
		/* Made or removed it is empty: what was below has told. */
		watch_base_replaced(dir, 0);
		forget_inode(notifier, dir->id);
	}
	node_put(nodes, dir);
}

static void entry_changed(const struct notifier *notifier, struct node *dir,
			  const char *name, uint32_t mask)
{
	uint64_t id;

	if (mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) {
		/* The tree lock: others hold only that, exclusively. */
		rwlock_take_shared(&dir->view->tree);
		lock_take(&dir->lock);
		dirlist_changed(dir);
		lock_drop(&dir->lock);
		rwlock_drop(&dir->view->tree);
		if (mask & IN_ISDIR) {
			dir_entry_changed(notifier, dir, name, mask);
		}
		forget_entry(notifier, dir->id, name);
		forget_inode(notifier, dir->id);
		return;
	}
	id = known_id(dir, name);
	if (id) {
		forget_inode(notifier, id);
	}
}

static void handle_event(const struct notifier *notifier,
			 const struct inotify_event *event)
{
	struct fs *fs = &notifier->server->fs;
	uint64_t id = watch_find(&fs->watches, event->wd);
	struct node *dir = id ? nodes_get(&fs->nodes, id) : NULL;

	if (event->mask & IN_IGNORED) {
		watch_ended(&fs->watches, event->wd);
	}
	if (!dir) {
		return;
	}
	if (event->mask & IN_IGNORED) {
		watch_base_replaced(dir, 0);
		forget_inode(notifier, dir->id);
	} else if (event->len) {
		entry_changed(notifier, dir, event->name, event->mask);
	} else {
		forget_inode(notifier, dir->id);
	}
	node_put(&fs->nodes, dir);
}

/* Events were lost: any answer about the base may be wrong by now. */
static void forget_all(const struct notifier *notifier)
{
	uint64_t last = nodes_last_id(&notifier->server->fs.nodes);

	log_warn("the base changes faster than it can be followed");
	for (uint64_t id = 1; id <= last; id++) {
		forget_node(notifier, id);
	}
}

void notify_old_pages(struct fuse_session *session, struct server *server)
{
	struct notifier notifier = {session, server};
	size_t count;
	AUTO_FREE uint64_t *ids = changes_take(&server->fs.changes, &count);

	for (size_t i = 0; i < count; i++) {
		forget_inode(&notifier, ids[i]);
	}
}

void notify_base_changes(struct fuse_session *session, struct server *server)
{
	static char events[EVENTS_BYTES]
		__attribute__((aligned(_Alignof(struct inotify_event))));
	struct notifier notifier = {session, server};

	for (;;) {
		ssize_t n =
			sys_read(server->fs.watches.fd, events, sizeof(events));
		const char *at = events;

		if (n <= 0) {
			return;
		}
		while (at < events + n) {
			const struct inotify_event *event =
				(const struct inotify_event *)at;

			if (event->mask & IN_Q_OVERFLOW) {
				forget_all(&notifier);
			} else {
				handle_event(&notifier, event);
			}
			at += sizeof(*event) + event->len;
		}
	}
}
