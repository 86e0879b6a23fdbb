#include "mountinfo.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "fdio.h"
#include "sys.h"

#define TEXT_MAX_BYTES ((size_t)64 * 1024 * 1024)

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blank, tab, newline and backslash are written as \ooo. In place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
		    is_octal(text[3])) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* "98:0". */
static dev_t parse_device(const char *text)
{
	char *end;
	unsigned long major_id = strtoul(text, &end, 10);
	unsigned long minor_id = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;

	return makedev((unsigned int)major_id, (unsigned int)minor_id);
}

/*
 * proc(5): "36 35 98:0 /root /mount/point options [tags...] - type source
 * options". False for a line that is not so.
 */
static bool parse_line(char *line, struct mountinfo_entry *entry)
{
	enum {
		DEVICE = 2,
		ROOT = 3,
		MOUNT_POINT = 4,
		SEPARATOR_FROM = 6
	};
	char *save = NULL;
	char *field = strtok_r(line, " ", &save);
	char *mount_at = NULL;
	char *root = NULL;

	for (int i = 0; field; i++, field = strtok_r(NULL, " ", &save)) {
		if (i == DEVICE) {
			entry->dev = parse_device(field);
		} else if (i == ROOT) {
			root = field;
		} else if (i == MOUNT_POINT) {
			mount_at = field;
		} else if (i >= SEPARATOR_FROM && strcmp(field, "-") == 0) {
			break;
		}
	}
	entry->type = field ? strtok_r(NULL, " ", &save) : NULL;
	if (!entry->type) {
		return false;
	}
	unescape(mount_at);
	unescape(root);
	entry->mount_at = mount_at;
	entry->root = root;
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++) {
		count += *text == '\n';
	}
	return count;
}

int mountinfo_read(struct mountinfo *ret_mountinfo)
{
	AUTO_FD fd = sys_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0);
	struct mountinfo info = {.text = BUF_INIT};
	char *save = NULL;
	int error = fd < 0 ? fd : fdio_read_all(fd, &info.text, TEXT_MAX_BYTES);

	if (!error) {
		info.entries = calloc(count_lines(info.text.data) + 1,
				      sizeof(*info.entries));
		error = info.entries ? 0 : -ENOMEM;
	}
	if (error) {
		buf_release(&info.text);
		return error;
	}
	for (char *line = strtok_r(info.text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		info.count += parse_line(line, &info.entries[info.count]);
	}
	*ret_mountinfo = info;
	return 0;
}

void mountinfo_release(struct mountinfo *mountinfo)
{
	free(mountinfo->entries);
	buf_release(&mountinfo->text);
	mountinfo->entries = NULL;
	mountinfo->count = 0;
}
