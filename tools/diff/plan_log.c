#include "plan_log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "fdio.h"
#include "sys.h"

#define MAGIC "legato-apply 1"

/* 2^31: no plan comes near. */
#define MAX_BYTES (1UL << 31)

static void add_field(struct buf *buf, const char *field)
{
	buf_add(buf, field ? field : "", strlen(field ? field : "") + 1);
}

static void add_step(struct buf *buf, const struct plan_step *step)
{
	buf_addf(buf,
		 "%d %d %d %d %d %d %d %" PRIu64 " %" PRIu64 " %" PRIu64
		 " %" PRIu64 " %" PRIu64,
		 (int)step->op, (int)step->old_kind, (int)step->new_kind,
		 (int)step->place, step->is_optional, step->with_times,
		 step->is_merged, step->old_id.dev, step->old_id.ino,
		 step->old_id.size_bytes, step->old_id.mtime_ns,
		 step->old_id.ctime_ns);
	buf_addc(buf, '\0');
	add_field(buf, step->path);
	add_field(buf, step->source);
	add_field(buf, step->link_to);
}

int plan_log_write(const struct plan *plan, int dirfd, const char *name)
{
	AUTO_BUF buf = BUF_INIT;
	int error;

	add_field(&buf, MAGIC);
	for (size_t i = 0; i < plan->n; i++) {
		add_step(&buf, &plan->steps[i]);
	}
	error = buf_error(&buf);
	return error ? error
		     : fdio_replace_file(dirfd, name, buf.data, buf.len);
}

struct reader {
	const char *at;
	const char *end;
};

/* The next field, or NULL. */
static const char *next_field(struct reader *reader)
{
	const char *field = reader->at;
	const char *nul =
		memchr(field, '\0', (size_t)(reader->end - reader->at));

	if (!nul) {
		return NULL;
	}
	reader->at = nul + 1;
	return field;
}

/* *ret_text stays NULL for an empty field. */
static int next_string(struct reader *reader, char **ret_text)
{
	const char *field = next_field(reader);

	if (!field) {
		return -EBADMSG;
	}
	if (*field) {
		*ret_text = strdup(field);
		return *ret_text ? 0 : -ENOMEM;
	}
	return 0;
}

static int parse_numbers(struct plan_step *step, const char *field)
{
	struct origin *id = &step->old_id;
	int op;
	int old_kind;
	int new_kind;
	int place;
	int is_optional;
	int with_times;
	int is_merged;

	if (sscanf(field,
		   "%d %d %d %d %d %d %d %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &op, &old_kind, &new_kind, &place, &is_optional, &with_times,
		   &is_merged, &id->dev, &id->ino, &id->size_bytes,
		   &id->mtime_ns, &id->ctime_ns) != 12) {
		return -EBADMSG;
	}
	step->op = (enum plan_op)op;
	step->old_kind = (enum change_kind)old_kind;
	step->new_kind = (enum change_kind)new_kind;
	step->place = (enum change_place)place;
	step->is_optional = is_optional;
	step->with_times = with_times;
	step->is_merged = is_merged;
	return 0;
}

static int read_step(struct plan *plan, struct reader *reader)
{
	const char *numbers = next_field(reader);
	const char *path = next_field(reader);
	struct plan_step *step;
	int error;

	if (!numbers || !path || !*path) {
		return -EBADMSG;
	}
	step = plan_add(plan, strdup(path));
	if (!step) {
		return -ENOMEM;
	}
	error = parse_numbers(step, numbers);
	error = error ? error : next_string(reader, &step->source);
	error = error ? error : next_string(reader, &step->link_to);
	if (!error && step->op != PLAN_DELETE && !step->source) {
		error = -EBADMSG;
	}
	return error;
}

int plan_log_read(struct plan *plan, int dirfd, const char *name)
{
	AUTO_BUF buf = BUF_INIT;
	AUTO_FD fd = sys_openat(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);
	int error = fd < 0 ? fd : fdio_read_all(fd, &buf, MAX_BYTES);
	struct reader reader = {buf.data, buf.data + buf.len};
	const char *magic = next_field(&reader);

	if (error) {
		return error;
	}
	if (!magic || strcmp(magic, MAGIC) != 0) {
		return -EBADMSG;
	}
	while (reader.at < reader.end && !error) {
		error = read_step(plan, &reader);
	}
	return error;
}
