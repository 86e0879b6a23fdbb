#include "pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>

#include "attrs.h"
#include "content.h"
#include "plan.h"
#include "plan_run.h"
#include "sys.h"

#define WHITEOUT_PREFIX ".wh."
#define CHUNK_BYTES     262144
/* Of st_blocks (stat(2)). */
#define STAT_BLOCK_BYTES 512

struct packer {
	const struct diff *diff;
	struct archive *archive;
	struct trouble *trouble;
	pack_write_fn *write;
	void *arg;
	int write_error;    /* of `write` */
	unsigned int flags; /* enum pack_flags */
};

static void free_archive(struct archive **archive)
{
	archive_write_free(*archive);
}

static void free_entry(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

/* An archive_write_callback. */
static la_ssize_t write_bytes(struct archive *archive, void *arg,
			      const void *data, size_t size)
{
	struct packer *packer = arg;

	packer->write_error = packer->write(packer->arg, data, size);
	if (packer->write_error) {
		archive_set_error(archive, -packer->write_error, "write");
		return -1;
	}
	return (la_ssize_t)size;
}

/* The -errno behind a failed call of libarchive's. */
static int failure(const struct packer *packer)
{
	int error = archive_errno(packer->archive);

	return packer->write_error ? packer->write_error
	       : error > 0         ? -error
				   : -EIO;
}

static int write_header(struct packer *packer, struct archive_entry *entry,
			const char *path)
{
	int result = archive_write_header(packer->archive, entry);

	if (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
		return 0;
	}
	if (result == ARCHIVE_FATAL) {
		return failure(packer);
	}
	trouble_error(packer->trouble, "pack", path, failure(packer));
	return -EILSEQ; /* that entry only */
}

/* ------------------------------------------------------------- what is gone */

/* Whether a directory above goes with one whiteout. */
static bool is_covered(const struct packer *packer, const char *path)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;

	while ((packer->flags & PACK_COMPLETE) && above &&
	       (slash = strrchr(above, '/'))) {
		const struct change *change;

		*slash = '\0';
		change = change_list_find(&packer->diff->list, above);
		if (change && change->old_side.kind == KIND_DIR &&
		    (change->letter == CHANGE_DELETED ||
		     change->letter == CHANGE_TYPE)) {
			return true;
		}
	}
	return false;
}

static int add_whiteout(struct packer *packer, const char *path)
{
	AUTO(free_entry) struct archive_entry *entry = archive_entry_new();
	const char *slash = strrchr(path, '/');
	size_t dir_len = slash ? (size_t)(slash - path) + 1 : 0;
	AUTO_BUF name = BUF_INIT;
	int error;

	if (is_covered(packer, path)) {
		return 0;
	}
	buf_add(&name, path, dir_len);
	buf_adds(&name, WHITEOUT_PREFIX);
	buf_adds(&name, path + dir_len);
	if (!entry || buf_error(&name)) {
		return -ENOMEM;
	}
	archive_entry_copy_pathname(entry, name.data);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0600);
	archive_entry_set_size(entry, 0);
	error = write_header(packer, entry, path);
	return error == -EILSEQ ? 0 : error;
}

/* What a step removes, or replaces by another kind. */
static int add_gone(struct packer *packer, const struct plan_step *step)
{
	if (step->op == PLAN_DELETE) {
		bool is_rest =
			step->is_optional && !(packer->flags & PACK_COMPLETE);

		return is_rest ? 0 : add_whiteout(packer, step->path);
	}
	if (step->op == PLAN_RENAME) {
		return add_whiteout(packer, step->source);
	}
	return step->op == PLAN_MAKE && step->old_kind != KIND_NONE &&
			       step->old_kind != step->new_kind
		       ? add_whiteout(packer, step->path)
		       : 0;
}

/* ------------------------------------------------------------ what is there */

/* An attrs_fn. */
static int add_attr(const char *attr, const void *value, size_t size, void *arg)
{
	archive_entry_xattr_add_entry(arg, attr, value, size);
	return 0;
}

static int add_target(struct archive_entry *entry, int fd)
{
	AUTO_BUF target = BUF_INIT;
	int error = content_load(fd, "", KIND_LINK, &target);

	if (!error) {
		archive_entry_copy_symlink(entry, target.data);
	}
	return error;
}

static int fill_entry(struct archive_entry *entry, int fd,
		      const struct change *change, struct stat *ret_st)
{
	enum change_kind kind = change->new_side.kind;
	int error = sys_fstat(fd, ret_st);

	if (error) {
		return error;
	}
	archive_entry_copy_pathname(entry, change->path);
	archive_entry_copy_stat(entry, ret_st);
	archive_entry_unset_atime(entry);
	archive_entry_unset_ctime(entry);
	archive_entry_set_nlink(entry, 1);
	if (kind == KIND_LINK) {
		archive_entry_set_size(entry, 0);
		return add_target(entry, fd);
	}
	if (kind != KIND_FILE) {
		archive_entry_set_size(entry, 0);
	}
	return kind == KIND_FILE || kind == KIND_DIR
		       ? attrs_each(fd, "", plan_is_layer(change->place),
				    add_attr, entry)
		       : 0;
}

/* Tells where a file that takes less space than it is long has its data. Where
 * the disk does not say, it is packed whole. */
static void add_extents(struct archive_entry *entry, int fd,
			const struct stat *st)
{
	off_t data = 0;
	off_t hole = 0;

	if ((off_t)st->st_blocks * STAT_BLOCK_BYTES >= st->st_size) {
		return;
	}
	while ((data = sys_lseek(fd, hole, SEEK_DATA)) >= 0 &&
	       data < st->st_size) {
		hole = sys_lseek(fd, data, SEEK_HOLE);
		if (hole <= data) {
			archive_entry_sparse_clear(entry);
			return;
		}
		hole = hole < st->st_size ? hole : st->st_size;
		archive_entry_sparse_add_entry(entry, data, hole - data);
	}
	if (data < 0 && data != -ENXIO) {
		archive_entry_sparse_clear(entry);
		return;
	}
	if (hole == 0 && data == -ENXIO) {
		/* All of it is a hole: an extent of nothing says so. */
		archive_entry_sparse_add_entry(entry, st->st_size, 0);
	}
}

/* Writes the zeros of a hole, which libarchive only counts if the entry is
 * sparse. 0 or -errno. */
static int add_zeros(struct packer *packer, char *chunk, off_t size)
{
	memset(chunk, 0, CHUNK_BYTES);
	while (size > 0) {
		size_t n = size < CHUNK_BYTES ? (size_t)size : CHUNK_BYTES;

		if (archive_write_data(packer->archive, chunk, n) < 0) {
			return failure(packer);
		}
		size -= (off_t)n;
	}
	return 0;
}

/* Where the data goes on, with zeros written up to there. */
static off_t skip_hole(struct packer *packer, int fd, char *chunk, off_t off,
		       off_t size)
{
	off_t data = sys_lseek(fd, off, SEEK_DATA);
	int error;

	data = data == -ENXIO || data > size ? size : data < off ? off : data;
	error = data > off ? add_zeros(packer, chunk, data - off) : 0;
	return error ? error : data;
}

/* Streams exactly `size` bytes, since the header has promised them. */
static int add_bytes(struct packer *packer, int fd, off_t size)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	off_t off = chunk ? skip_hole(packer, fd, chunk, 0, size) : 0;

	if (!chunk) {
		return -ENOMEM;
	}
	while (off >= 0 && off < size) {
		size_t want = size - off < CHUNK_BYTES ? (size_t)(size - off)
						       : CHUNK_BYTES;
		ssize_t n = sys_pread(fd, chunk, want, off);

		if (n <= 0) {
			/* libarchive pads with zeros. */
			return n ? (int)n : -EAGAIN;
		}
		if (archive_write_data(packer->archive, chunk, (size_t)n) < 0) {
			return failure(packer);
		}
		off = skip_hole(packer, fd, chunk, off + n, size);
	}
	return off < 0 ? (int)off : 0;
}

static int add_content(struct packer *packer, int file,
		       const struct stat *before)
{
	struct origin id;
	struct stat after;
	int error = add_bytes(packer, file, before->st_size);

	error = error ? error : sys_fstat(file, &after);
	origin_from_stat(&id, before);
	return error || origin_matches(&id, &after) ? error : -EAGAIN;
}

static bool has_reserved_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, WHITEOUT_PREFIX,
		       strlen(WHITEOUT_PREFIX)) == 0;
}

static int pack_entry(struct packer *packer, const struct plan_step *step,
		      const struct change *change)
{
	AUTO(free_entry) struct archive_entry *entry = archive_entry_new();
	AUTO_FD fd = content_open_new(&packer->diff->sides, change);
	bool has_bytes = change->new_side.kind == KIND_FILE && !step->link_to;
	AUTO_FD file = -1;
	struct stat st;
	int error;

	if (!entry) {
		return -ENOMEM;
	}
	error = fd < 0 ? fd : fill_entry(entry, fd, change, &st);
	if (!error && has_bytes) {
		file = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
		error = file < 0 ? file : 0;
	}
	if (error) {
		return error;
	}
	if (has_bytes && packer->flags & PACK_SPARSE) {
		add_extents(entry, file, &st);
	}
	if (step->link_to) {
		archive_entry_copy_hardlink(entry, step->link_to);
		archive_entry_set_size(entry, 0);
	}
	error = write_header(packer, entry, change->path);
	if (error || !has_bytes) {
		return error == -EILSEQ ? 0 : error;
	}
	return add_content(packer, file, &st);
}

/* Each entry once: a new directory is made and finished by two steps. */
static int add_there(struct packer *packer, const struct plan_step *step)
{
	const struct change *change =
		change_list_find(&packer->diff->list, step->path);
	int error;

	if (step->op == PLAN_DELETE || !change ||
	    (step->op == PLAN_FINISH && step->with_times)) {
		return 0;
	}
	if (has_reserved_name(step->path)) {
		trouble_error(packer->trouble, "pack", step->path, -EINVAL);
		return 0;
	}
	if (change->new_side.kind == KIND_SOCKET) {
		trouble_warn(packer->trouble, "an archive can't have a socket",
			     step->path);
		return 0;
	}
	error = pack_entry(packer, step, change);
	if (error && error != -ENOMEM && !packer->write_error) {
		trouble_error(packer->trouble, "pack", step->path, error);
		return 0;
	}
	return error;
}

static int open_archive(struct packer *packer)
{
	packer->archive = archive_write_new();
	if (!packer->archive) {
		return -ENOMEM;
	}
	if (archive_write_set_format_pax(packer->archive) ||
	    archive_write_set_options(packer->archive, "hdrcharset=BINARY") ||
	    archive_write_add_filter_none(packer->archive) ||
	    archive_write_open(packer->archive, packer, NULL, write_bytes,
			       NULL)) {
		return failure(packer);
	}
	return 0;
}

int pack_changes(const struct diff *diff, unsigned int flags,
		 pack_write_fn *write, void *arg, struct trouble *trouble)
{
	struct packer packer = {
		.diff = diff,
		.trouble = trouble,
		.write = write,
		.arg = arg,
		.flags = flags,
	};
	AUTO_PLAN plan = {0};
	int error = plan_make(&plan, diff, false);

	error = error ? error : open_archive(&packer);
	for (size_t i = 0; i < plan.n && !error; i++) {
		error = add_gone(&packer, &plan.steps[i]);
	}
	for (size_t i = 0; i < plan.n && !error; i++) {
		error = add_there(&packer, &plan.steps[i]);
	}
	if (!error && archive_write_close(packer.archive)) {
		error = failure(&packer);
	}
	free_archive(&packer.archive);
	return error;
}
