#include "oci.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>

#include "buf.h"
#include "fdio.h"
#include "sys.h"

#define CHUNK_BYTES 262144

#define MEDIA_LAYER    "application/vnd.oci.image.layer.v1.tar"
#define MEDIA_CONFIG   "application/vnd.oci.image.config.v1+json"
#define MEDIA_MANIFEST "application/vnd.oci.image.manifest.v1+json"

#if defined(__x86_64__)
#define ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#elif defined(__i386__)
#define ARCHITECTURE "386"
#else
#define ARCHITECTURE "unknown"
#endif

#define DIGEST_TEXT_BYTES (2 * SHA256_DIGEST_SIZE + 1)

struct layer_file {
	int fd;
	struct sha256_ctx hash;
	uint64_t size_bytes;
	char digest[DIGEST_TEXT_BYTES];
};

struct outer {
	struct archive *archive;
	pack_write_fn *write;
	void *arg;
	int write_error;
};

static void finish_hash(struct sha256_ctx *hash, char ret_text[])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(hash, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		snprintf(ret_text + 2 * i, 3, "%02x", digest[i]);
	}
}

/* A pack_write_fn. */
static int write_layer(void *arg, const void *data, size_t size)
{
	struct layer_file *layer = arg;

	sha256_update(&layer->hash, size, data);
	layer->size_bytes += size;
	return fdio_write_all(layer->fd, data, size);
}

static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");

	return sys_openat(AT_FDCWD, folder && *folder ? folder : "/tmp",
			  O_TMPFILE | O_RDWR, 0600);
}

/* An archive_write_callback. */
static la_ssize_t write_bytes(struct archive *archive, void *arg,
			      const void *data, size_t size)
{
	struct outer *outer = arg;

	outer->write_error = outer->write(outer->arg, data, size);
	if (outer->write_error) {
		archive_set_error(archive, -outer->write_error, "write");
		return -1;
	}
	return (la_ssize_t)size;
}

static int failure(const struct outer *outer)
{
	return outer->write_error ? outer->write_error : -EIO;
}

static int add_header(struct outer *outer, const char *path, uint64_t size)
{
	struct archive_entry *entry = archive_entry_new();
	int result;

	if (!entry) {
		return -ENOMEM;
	}
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (int64_t)size);
	result = archive_write_header(outer->archive, entry);
	archive_entry_free(entry);
	return result ? failure(outer) : 0;
}

static int add_text(struct outer *outer, const char *path,
		    const struct buf *text)
{
	int error = add_header(outer, path, text->len);

	if (!error &&
	    archive_write_data(outer->archive, text->data, text->len) < 0) {
		error = failure(outer);
	}
	return error;
}

static int add_layer(struct outer *outer, const struct layer_file *layer)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	char path[128];
	off_t off = 0;
	int error;

	snprintf(path, sizeof(path), "blobs/sha256/%s", layer->digest);
	error = chunk ? add_header(outer, path, layer->size_bytes) : -ENOMEM;
	while (!error && (uint64_t)off < layer->size_bytes) {
		ssize_t n = sys_pread(layer->fd, chunk, CHUNK_BYTES, off);

		if (n <= 0) {
			return n ? (int)n : -EIO;
		}
		if (archive_write_data(outer->archive, chunk, (size_t)n) < 0) {
			error = failure(outer);
		}
		off += n;
	}
	return error;
}

/* Adds a blob of text, and gives its digest. */
static int add_blob(struct outer *outer, const struct buf *text,
		    char ret_digest[])
{
	struct sha256_ctx hash;
	char path[128];

	if (buf_error(text)) {
		return -ENOMEM;
	}
	sha256_init(&hash);
	sha256_update(&hash, text->len, (const uint8_t *)text->data);
	finish_hash(&hash, ret_digest);
	snprintf(path, sizeof(path), "blobs/sha256/%s", ret_digest);
	return add_text(outer, path, text);
}

static int add_documents(struct outer *outer, const struct layer_file *layer)
{
	AUTO_BUF config = BUF_INIT;
	AUTO_BUF manifest = BUF_INIT;
	AUTO_BUF text = BUF_INIT;
	char config_digest[DIGEST_TEXT_BYTES];
	char manifest_digest[DIGEST_TEXT_BYTES];
	int error;

	buf_addf(&config,
		 "{\"architecture\":\"" ARCHITECTURE "\",\"os\":\"linux\","
		 "\"rootfs\":{\"type\":\"layers\","
		 "\"diff_ids\":[\"sha256:%s\"]}}",
		 layer->digest);
	error = add_blob(outer, &config, config_digest);
	buf_addf(&manifest,
		 "{\"schemaVersion\":2,\"mediaType\":\"" MEDIA_MANIFEST "\","
		 "\"config\":{\"mediaType\":\"" MEDIA_CONFIG "\","
		 "\"digest\":\"sha256:%s\",\"size\":%zu},"
		 "\"layers\":[{\"mediaType\":\"" MEDIA_LAYER "\","
		 "\"digest\":\"sha256:%s\",\"size\":%" PRIu64 "}]}",
		 config_digest, config.len, layer->digest, layer->size_bytes);
	error = error ? error : add_blob(outer, &manifest, manifest_digest);
	buf_addf(&text,
		 "{\"schemaVersion\":2,\"manifests\":[{"
		 "\"mediaType\":\"" MEDIA_MANIFEST "\","
		 "\"digest\":\"sha256:%s\",\"size\":%zu}]}",
		 manifest_digest, manifest.len);
	error = error ? error : buf_error(&text);
	error = error ? error : add_text(outer, "index.json", &text);
	buf_clear(&text);
	buf_adds(&text, "{\"imageLayoutVersion\":\"1.0.0\"}");
	return error ? error : add_text(outer, "oci-layout", &text);
}

static int write_layout(struct outer *outer, const struct layer_file *layer)
{
	int error = 0;

	outer->archive = archive_write_new();
	if (!outer->archive) {
		return -ENOMEM;
	}
	if (archive_write_set_format_ustar(outer->archive) ||
	    archive_write_add_filter_none(outer->archive) ||
	    archive_write_open(outer->archive, outer, NULL, write_bytes,
			       NULL)) {
		error = failure(outer);
	}
	error = error ? error : add_layer(outer, layer);
	error = error ? error : add_documents(outer, layer);
	if (!error && archive_write_close(outer->archive)) {
		error = failure(outer);
	}
	archive_write_free(outer->archive);
	return error;
}

int oci_write(const struct diff *diff, bool is_complete, pack_write_fn *write,
	      void *arg, struct trouble *trouble)
{
	AUTO_FD fd = open_temporary();
	struct layer_file layer = {.fd = fd};
	struct outer outer = {.write = write, .arg = arg};
	int error;

	if (fd < 0) {
		return fd;
	}
	sha256_init(&layer.hash);
	error = pack_changes(diff, is_complete ? PACK_COMPLETE : 0, write_layer,
			     &layer, trouble);
	if (error) {
		return error;
	}
	finish_hash(&layer.hash, layer.digest);
	return write_layout(&outer, &layer);
}
