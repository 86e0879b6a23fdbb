/*
 * oci.h - changes as an OCI image of one layer, in an image layout as a tar.
 *
 * oci-layout, index.json, and in blobs/sha256 the layer (pack.h), a
 * configuration and a manifest (OCI image-spec 1.0). The layer is written to a
 * temporary file first, since its hash is its name.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_OCI_H
#define TOOLS_DIFF_OCI_H

#include "compiler.h"
#include "pack.h"

/* As pack_changes. */
int oci_write(const struct diff *diff, bool is_complete, pack_write_fn *write,
	      void *arg, struct trouble *trouble) MUST_CHECK;

#endif
