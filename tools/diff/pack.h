/*
 * pack.h - changes as a tar archive, in the form of an OCI layer.
 *
 * pax format: names as bytes, times in ns, extended attributes, hard links.
 * A deletion is an empty file ".wh.NAME" (OCI image-spec, "Whiteouts"), and
 * they all come before the entries. To unpack over a copy of the base: remove
 * what the whiteouts name, then extract the rest.
 *
 * Not to be had: sockets (told as a warning) and names that begin with ".wh."
 * (an error). Files are streamed, whatever their size; one that changes
 * meanwhile is an error.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_PACK_H
#define TOOLS_DIFF_PACK_H

#include <stddef.h>

#include "compiler.h"
#include "diff.h"
#include "trouble.h"

/* Takes the bytes of the archive in order. 0 or -errno. */
typedef int pack_write_fn(void *arg, const void *data, size_t size);

enum pack_flags {
	/* Nothing was folded away, so that a deleted directory needs one
	 * whiteout only. */
	PACK_COMPLETE = 1 << 0,
	/* Holes take no space (pax GNU.sparse 1.0). Not for layers: the OCI
	 * image-spec advises against it, since not every reader can. */
	PACK_SPARSE = 1 << 1,
};

/* Packs diff.list (of a view taken with DIFF_WHOLE). `flags`: enum pack_flags.
 * 0, or -ENOMEM, or what `write` returned. */
int pack_changes(const struct diff *diff, unsigned int flags,
		 pack_write_fn *write, void *arg,
		 struct trouble *trouble) MUST_CHECK;

#endif
