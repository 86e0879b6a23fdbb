#include "ops.h"

#include "attr.h"
#include "err.h"
#include "log.h"
#include "record.h"

#define STABLE_TIMEOUT_S   86400.0
#define UNSTABLE_TIMEOUT_S 1.0

/* What programs take as the size of their buffers: each write(2) is a trip,
 * and compilers, archivers and sed write st_blksize bytes at a time. */
#define PREFERRED_IO_BYTES (128 * 1024)

double ops_timeout(bool stable)
{
	return stable ? STABLE_TIMEOUT_S : UNSTABLE_TIMEOUT_S;
}

struct server *ops_server(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

struct caller ops_caller(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct ids *ids = &ops_server(req)->ids;

	return (struct caller){
		.uid = ids_on_disk(&ids->users, ctx->uid),
		.gid = ids_on_disk(&ids->groups, ctx->gid),
		.pid = ctx->pid,
		.umask = ctx->umask,
		.process = record_process(&ops_server(req)->fs, ctx->pid),
	};
}

struct node *ops_node(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = nodes_get(&ops_server(req)->fs.nodes, ino);

	if (!node) {
		log_warn("request for unknown node %llu",
			 (unsigned long long)ino);
		fuse_reply_err(req, ESTALE);
	}
	return node;
}

void ops_put(fuse_req_t req, struct node *node)
{
	node_put(&ops_server(req)->fs.nodes, node);
}

void ops_reply(fuse_req_t req, int error)
{
	fuse_reply_err(req, -error);
}

void ops_show_stat(fuse_req_t req, struct stat *st)
{
	ids_show(&ops_server(req)->ids, st);
	if (S_ISREG(st->st_mode)) {
		st->st_blksize = PREFERRED_IO_BYTES;
	}
}

void ops_fill_entry(fuse_req_t req, const struct entry *entry,
		    struct fuse_entry_param *param)
{
	*param = (struct fuse_entry_param){
		.ino = entry->node->id,
		.generation = ops_server(req)->generation,
		.attr = entry->st,
		.attr_timeout = ops_timeout(attr_is_stable(entry->node)),
		.entry_timeout = ops_timeout(entry->stable),
	};
	ops_show_stat(req, &param->attr);
}

void ops_reply_entry(fuse_req_t req, int error, struct entry *entry)
{
	struct nodes *nodes = &ops_server(req)->fs.nodes;
	struct fuse_entry_param param;

	if (error) {
		ops_reply(req, error);
		return;
	}
	ops_fill_entry(req, entry, &param);
	node_add_lookup(nodes, entry->node);
	if (fuse_reply_entry(req, &param)) {
		node_forget(nodes, entry->node, 1);
	}
	node_put(nodes, entry->node);
}
