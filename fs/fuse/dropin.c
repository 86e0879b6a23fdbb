#include "dropin.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "background.h"
#include "err.h"
#include "log.h"
#include "serve.h"
#include "sys.h"

#define EXIT_USAGE 2
#define LOWERS_MAX 500 /* as the kernel's overlayfs */

struct dropin {
	char *lowers[LOWERS_MAX]; /* absolute, owned; topmost first */
	unsigned int lower_count;
	char *upper;       /* absolute, owned; NULL: read-only */
	char *work;        /* the same */
	char *mount_point; /* absolute, owned */
	char *fs_name;     /* owned; NULL: the usual one */
	struct serve_options serving;
	bool no_acl;
	bool plain_inos;
	bool static_links;
	bool foreground;
	bool debug;
	int ready_fd;
};

static int complain(const char *what, const char *subject, int error)
{
	fprintf(stderr, "legato-fs: %s '%s': %s\n", what, subject,
		err_text(error));
	return error;
}

static int resolve(const char *path, char **ret_path)
{
	*ret_path = realpath(path, NULL);
	return *ret_path ? 0 : complain("cannot open", path, -errno);
}

/* Cuts the next piece of *text at an unescaped `separator`. NULL at the end. */
static char *next_piece(char **text, char separator)
{
	char *start = *text;
	char *end = start;

	if (!start) {
		return NULL;
	}
	while (*end && *end != separator) {
		end += *end == '\\' && end[1] ? 2 : 1;
	}
	*text = *end ? end + 1 : NULL;
	*end = '\0';
	return start;
}

/* Takes the backslashes out, in place: what follows one stands for itself. */
static const char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		from += *from == '\\' && from[1] ? 1 : 0;
		*to++ = *from;
	}
	*to = '\0';
	return text;
}

static void release_lowers(struct dropin *dropin)
{
	while (dropin->lower_count) {
		free(dropin->lowers[--dropin->lower_count]);
	}
}

static int set_lowers(struct dropin *dropin, char *value)
{
	char *piece;

	release_lowers(dropin);
	while ((piece = next_piece(&value, ':'))) {
		int error;

		unescape(piece);
		error = dropin->lower_count == LOWERS_MAX
				? -E2BIG
				: resolve(piece,
					  &dropin->lowers[dropin->lower_count]);
		if (error) {
			return error;
		}
		dropin->lower_count++;
	}
	return 0;
}

static int set_folder(char **folder, char *value)
{
	free(*folder);
	return resolve(unescape(value), folder);
}

static int set_upper(struct dropin *dropin, char *value)
{
	return set_folder(&dropin->upper, value);
}

static int set_work(struct dropin *dropin, char *value)
{
	return set_folder(&dropin->work, value);
}

static int set_users(struct dropin *dropin, char *value)
{
	return ids_parse(&dropin->serving.ids.users, value);
}

static int set_groups(struct dropin *dropin, char *value)
{
	return ids_parse(&dropin->serving.ids.groups, value);
}

static int squash(struct id_map *map, const char *value)
{
	char *end;
	unsigned long id = strtoul(value, &end, 10);

	/* The last number, -1, is no user's. */
	if (*value < '0' || *value > '9' || *end || id >= UINT32_MAX) {
		return -EINVAL;
	}
	map->squash = (int64_t)id;
	return 0;
}

static int set_squash_uid(struct dropin *dropin, char *value)
{
	return squash(&dropin->serving.ids.users, value);
}

static int set_squash_gid(struct dropin *dropin, char *value)
{
	return squash(&dropin->serving.ids.groups, value);
}

static int set_squash_root(struct dropin *dropin, char *value)
{
	(void)value;
	dropin->serving.ids.users.squash = 0;
	dropin->serving.ids.groups.squash = 0;
	return 0;
}

static int set_fs_name(struct dropin *dropin, char *value)
{
	free(dropin->fs_name);
	dropin->fs_name = strdup(unescape(value));
	dropin->serving.attach.fs_name = dropin->fs_name;
	return dropin->fs_name ? 0 : -ENOMEM;
}

#define FLAG(name, field, value_)                                              \
	static int set_##name(struct dropin *dropin, char *value)              \
	{                                                                      \
		(void)value;                                                   \
		dropin->serving.attach.field = value_;                         \
		return 0;                                                      \
	}

FLAG(allow_other, allow_other, true)
FLAG(ro, read_only, true)
FLAG(rw, read_only, false)
FLAG(dev, allow_dev, true)
FLAG(nodev, allow_dev, false)
FLAG(suid, allow_suid, true)
FLAG(nosuid, allow_suid, false)
FLAG(noexec, no_exec, true)
FLAG(exec, no_exec, false)
FLAG(noatime, no_atime, true)

static int set_no_acl(struct dropin *dropin, char *value)
{
	(void)value;
	dropin->no_acl = true;
	return 0;
}

static int set_static_links(struct dropin *dropin, char *value)
{
	(void)value;
	dropin->static_links = true;
	return 0;
}

static bool is_one_of(const char *value, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(value, *words) == 0) {
			return true;
		}
	}
	return false;
}

static int set_xino(struct dropin *dropin, char *value)
{
	static const char *const words[] = {"on", "auto", "off", NULL};

	dropin->plain_inos = strcmp(value, "off") == 0;
	return is_one_of(value, words) ? 0 : -EINVAL;
}

/* Directories of a base are renamed by redirects, and those of others are
 * followed. */
static int check_redirect_dir(struct dropin *dropin, char *value)
{
	static const char *const words[] = {"on", "follow", NULL};

	(void)dropin;
	return is_one_of(value, words) ? 0 : -EINVAL;
}

/* For what is right either way: files that have their attributes only are read
 * and never made, hard links stay together without an index, and what a
 * program syncs is synced. */
static int check_switch(struct dropin *dropin, char *value)
{
	static const char *const words[] = {"on", "off", "0", "1", NULL};

	(void)dropin;
	return is_one_of(value, words) ? 0 : -EINVAL;
}

/* What is so anyway, or asks for nothing that could go wrong. */
static int set_nothing(struct dropin *dropin, char *value)
{
	(void)dropin;
	(void)value;
	return 0;
}

static const struct dropin_option {
	const char *name;
	bool has_value;
	int (*set)(struct dropin *dropin, char *value);
} known_options[] = {
	{"lowerdir", true, set_lowers},
	{"upperdir", true, set_upper},
	{"workdir", true, set_work},
	{"uidmapping", true, set_users},
	{"gidmapping", true, set_groups},
	{"squash_to_root", false, set_squash_root},
	{"squash_to_uid", true, set_squash_uid},
	{"squash_to_gid", true, set_squash_gid},
	{"fsname", true, set_fs_name},
	{"allow_other", false, set_allow_other},
	{"ro", false, set_ro},
	{"rw", false, set_rw},
	{"dev", false, set_dev},
	{"nodev", false, set_nodev},
	{"suid", false, set_suid},
	{"nosuid", false, set_nosuid},
	{"exec", false, set_exec},
	{"noexec", false, set_noexec},
	{"noatime", false, set_noatime},
	{"atime", false, set_nothing},
	{"relatime", false, set_nothing},
	{"nodiratime", false, set_nothing},
	{"lazytime", false, set_nothing},
	{"async", false, set_nothing},
	{"defaults", false, set_nothing},
	{"default_permissions", false, set_nothing},
	/* Nothing is synced that nobody asked to have synced. */
	{"volatile", false, set_nothing},
	{"fsync", true, check_switch},
	{"noacl", false, set_no_acl},
	{"xino", true, set_xino},
	{"static_nlink", false, set_static_links},
	{"redirect_dir", true, check_redirect_dir},
	/* Nothing else is written; trusted.* is read where it can be. */
	{"userxattr", false, set_nothing},
	{"index", true, check_switch},
	{"metacopy", true, check_switch},
	/* Of a user's mount table (mount(8) passes them on). */
	{"user", false, set_nothing},
	{"nofail", false, set_nothing},
	{"noauto", false, set_nothing},
	{"_netdev", false, set_nothing},
};

static int set_option(struct dropin *dropin, char *text)
{
	char *value = strchr(text, '=');

	if (value) {
		*value++ = '\0';
	}
	for (size_t i = 0; i < ARRAY_SIZE(known_options); i++) {
		const struct dropin_option *option = &known_options[i];
		int error;

		if (strcmp(option->name, text) != 0) {
			continue;
		}
		if (option->has_value != !!value) {
			return complain(value ? "no value goes with"
					      : "a value is missing for",
					text, -EINVAL);
		}
		error = option->set(dropin, value);
		return error == -EINVAL || error == -E2BIG
			       ? complain("bad value for", text, error)
			       : error;
	}
	return complain("unknown option", text, -EINVAL);
}

static int set_options(struct dropin *dropin, const char *text)
{
	AUTO_FREE char *copy = strdup(text);
	char *rest = copy;
	char *piece;

	if (!copy) {
		return -ENOMEM;
	}
	while ((piece = next_piece(&rest, ','))) {
		int error = *piece ? set_option(dropin, piece) : 0;

		if (error) {
			return error;
		}
	}
	return 0;
}

/* fusermount3 would mount over a file as well. */
static int set_mount_point(struct dropin *dropin, const char *path)
{
	struct stat st;
	int error = resolve(path, &dropin->mount_point);

	if (!error && !stat(dropin->mount_point, &st) && !S_ISDIR(st.st_mode)) {
		error = complain("cannot mount at", path, -ENOTDIR);
	}
	return error;
}

static int parse(struct dropin *dropin, int argc, char **argv)
{
	const char *last = NULL;
	int option;
	int error = 0;

	/* "-": names come before or after options, as mount(8) has them. */
	while ((option = getopt(argc, argv, "-fdo:")) != -1 && !error) {
		switch (option) {
		case 'f':
			dropin->foreground = true;
			break;
		case 'd':
			dropin->debug = true;
			break;
		case 'o':
			error = set_options(dropin, optarg);
			break;
		case 1:
			/* The last one counts: a source may come first. */
			last = optarg;
			break;
		default:
			return -EINVAL;
		}
	}
	return error || !last ? error : set_mount_point(dropin, last);
}

/* What has to be there, and has to go together. */
static int check(const struct dropin *dropin)
{
	if (!dropin->mount_point) {
		fputs("legato-fs: no mount point\n", stderr);
		return -EINVAL;
	}
	if (!dropin->lower_count) {
		fputs("legato-fs: no lowerdir\n", stderr);
		return -EINVAL;
	}
	if (!dropin->upper != !dropin->work) {
		fputs("legato-fs: upperdir and workdir go together\n", stderr);
		return -EINVAL;
	}
	return 0;
}

/* Our own folders in the caller's work folder. */
static int make_work(const struct dropin *dropin, struct buf *work,
		     struct buf *links)
{
	int error;

	buf_addf(work, "%s/work", dropin->work);
	buf_addf(links, "%s/links", dropin->work);
	error = buf_error(work);
	error = error ? error : buf_error(links);
	error = error ? error : sys_mkdirat(AT_FDCWD, work->data, 0700);
	return error == -EEXIST ? 0 : error;
}

/* trusted.* attributes are there for root alone, and not for that of a user
 * namespace. */
static bool can_read_trusted(void)
{
	AUTO_FD fd = sys_openat(AT_FDCWD, "/proc/self/uid_map", O_RDONLY, 0);
	char map[64] = "";
	unsigned long inside;
	unsigned long outside;
	unsigned long count;

	return geteuid() == 0 && fd >= 0 &&
	       sys_read(fd, map, sizeof(map) - 1) > 0 &&
	       sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
	       outside == 0 && count == UINT32_MAX;
}

static int add_view(void *data, struct fs *fs)
{
	struct dropin *dropin = data;
	AUTO_BUF work = BUF_INIT;
	AUTO_BUF links = BUF_INIT;
	struct view_config config = {
		.name = "overlay",
		.dirfd = AT_FDCWD,
		.upper = dropin->upper,
		.lowers = (const char *const *)dropin->lowers,
		.lower_count = dropin->lower_count,
		.has_origins = dropin->upper != NULL,
		.has_foreign_marks = true,
		.has_hidden_marks = !can_read_trusted(),
		.no_acl = dropin->no_acl,
		/* Not by blocks: other tools read that upper. */
	};
	int error = dropin->upper ? make_work(dropin, &work, &links) : 0;

	config.work = work.data;
	config.links = links.data;
	fs->plain_inos = dropin->plain_inos;
	fs->static_links = dropin->static_links;
	error = error ? error : fs_add_view(fs, &config);
	return error ? complain("cannot set up the view at",
				dropin->mount_point, error)
		     : 0;
}

static int on_ready(void *data, int fuse_fd)
{
	const struct dropin *dropin = data;

	(void)fuse_fd;
	return background_ready(dropin->ready_fd);
}

static int serve_child(void *data, int ready_fd)
{
	struct dropin *dropin = data;

	dropin->ready_fd = ready_fd;
	return serve(&dropin->serving);
}

static int run(struct dropin *dropin)
{
	struct serve_options *serving = &dropin->serving;

	log_setup(STDERR_FILENO,
		  dropin->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
	serving->add_views = add_view;
	serving->views_data = dropin;
	serving->mount_point = dropin->mount_point;
	serving->execution_fd = -1;
	serving->attach.read_only |= !dropin->upper;
	serving->ready = on_ready;
	serving->ready_data = dropin;
	return dropin->foreground ? serve_child(dropin, -1)
				  : background_run(serve_child, dropin);
}

static void dropin_release(struct dropin *dropin)
{
	release_lowers(dropin);
	free(dropin->upper);
	free(dropin->work);
	free(dropin->mount_point);
	free(dropin->fs_name);
}

int dropin_command(int argc, char **argv)
{
	struct dropin dropin = {
		.serving = {.single = true,
			    .ids = IDS_INIT,
			    .control_fd = -1,
			    .blocks_from_bytes = -1},
		.ready_fd = -1,
	};
	int error = parse(&dropin, argc, argv);

	error = error ? error : check(&dropin);
	if (error) {
		dropin_release(&dropin);
		return EXIT_USAGE;
	}
	error = run(&dropin);
	dropin_release(&dropin);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
