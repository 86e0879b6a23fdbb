#include "caps.h"

#include "log.h"

/* Requests that the kernel may have under way without anybody waiting (reads
 * ahead, releases); its default of 12 makes RELEASE queue. */
#define MAX_BACKGROUND 64

static const struct cap {
	uint64_t flag;
	const char *name;
	bool wanted;
} caps[] = {
	/* The listing brings the attributes: one trip instead of many. */
	{FUSE_CAP_READDIRPLUS, "readdirplus", true},
	{FUSE_CAP_READDIRPLUS_AUTO, "readdirplus_auto", false},
	/* Truncates with a request of its own: there may be no OPEN. */
	{FUSE_CAP_ATOMIC_O_TRUNC, "atomic_o_trunc", false},
	/* The disk clears set-id bits on write; without this the kernel asks
	 * for security.capability before each write. file.c writes as the
	 * caller, so the disk knows whose write it is. */
	{FUSE_CAP_HANDLE_KILLPRIV_V2, "handle_killpriv_v2", true},
	/* Our own writes change mtime; that must not drop cached pages. When
	 * the base changed, open says so (file.c). */
	{FUSE_CAP_EXPLICIT_INVAL_DATA, "explicit_inval_data", true},
	{FUSE_CAP_AUTO_INVAL_DATA, "auto_inval_data", false},
	{FUSE_CAP_PARALLEL_DIROPS, "parallel_dirops", true},
	{FUSE_CAP_ASYNC_READ, "async_read", true},
	{FUSE_CAP_ASYNC_DIO, "async_dio", true},
	/* ACLs are the disk's own: the kernel asks for them and checks them,
	 * and leaves the umask, which a default ACL overrides, to the disk. */
	{FUSE_CAP_POSIX_ACL, "posix_acl", true},
	{FUSE_CAP_DONT_MASK, "dont_mask", true},
	/* Handles (name_to_handle_at) are good while the kernel knows the node:
	 * the daemon does not keep those that it has forgotten. */
	{FUSE_CAP_NO_EXPORT_SUPPORT, "no_export_support", false},
	{FUSE_CAP_EXPORT_SUPPORT, "export_support", false},
	/* Locks are the kernel's, right by themselves on one mount. */
	{FUSE_CAP_POSIX_LOCKS, "posix_locks", false},
	{FUSE_CAP_FLOCK_LOCKS, "flock_locks", false},
	/* Data is copied once more than needed, and can't be half sent. */
	{FUSE_CAP_SPLICE_READ, "splice_read", false},
	{FUSE_CAP_SPLICE_WRITE, "splice_write", false},
	{FUSE_CAP_SPLICE_MOVE, "splice_move", false},
	{FUSE_CAP_IOCTL_DIR, "ioctl_dir", false},
};

void caps_negotiate(struct fuse_conn_info *conn)
{
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		if (!caps[i].wanted) {
			fuse_unset_feature_flag(conn, caps[i].flag);
		} else if (!fuse_set_feature_flag(conn, caps[i].flag)) {
			log_info("kernel does not offer '%s'", caps[i].name);
		}
	}
	/* No request of ours is worth interrupting, and programs that send
	 * themselves signals (Go) would see EINTR. */
	conn->no_interrupt = 1;
	conn->max_background = MAX_BACKGROUND;
	conn->time_gran = 1;
	log_info("connected: FUSE %u.%u, max_write %u", conn->proto_major,
		 conn->proto_minor, conn->max_write);
}
