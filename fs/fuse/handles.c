#include "handles.h"

#define HANDLES_MIN 16

void handles_init(struct handles *handles)
{
	*handles = (struct handles){0};
	lock_init(&handles->lock, LOCK_RANK_TABLE, 0);
}

void handles_release(struct handles *handles)
{
	for (size_t i = 0; i < handles->size; i++) {
		handle_put(handles->table[i]);
	}
	free(handles->table);
	lock_release(&handles->lock);
}

static struct dir_handle *handle_new(void)
{
	struct dir_handle *handle = calloc(1, sizeof(*handle));

	if (handle) {
		lock_init(&handle->lock, LOCK_RANK_HANDLE, 0);
		atomic_init(&handle->refs, 1);
	}
	return handle;
}

void handle_put(struct dir_handle *handle)
{
	/* acq_rel: all uses happen before the free, whoever does it */
	if (handle && atomic_fetch_sub_explicit(&handle->refs, 1,
						memory_order_acq_rel) == 1) {
		dirlist_put(handle->list);
		lock_release(&handle->lock);
		free(handle);
	}
}

void handle_auto_put(struct dir_handle **handle)
{
	handle_put(*handle);
}

static int grow_locked(struct handles *handles)
{
	size_t size = handles->size ? handles->size * 2 : HANDLES_MIN;
	struct dir_handle **table =
		reallocarray(handles->table, size, sizeof(struct dir_handle *));

	if (!table) {
		return -ENOMEM;
	}
	for (size_t i = handles->size; i < size; i++) {
		table[i] = NULL;
	}
	handles->table = table;
	handles->size = size;
	return 0;
}

static int insert_locked(struct handles *handles, struct dir_handle *handle,
			 uint64_t *ret_number)
{
	size_t i = handles->first_free;

	while (i < handles->size && handles->table[i]) {
		i++;
	}
	if (i == handles->size && grow_locked(handles)) {
		return -ENOMEM;
	}
	handles->table[i] = handle;
	handles->first_free = i + 1;
	*ret_number = i;
	return 0;
}

int handles_open(struct handles *handles, uint64_t *ret_number)
{
	struct dir_handle *handle = handle_new();
	int error;

	if (!handle) {
		return -ENOMEM;
	}
	lock_take(&handles->lock);
	error = insert_locked(handles, handle, ret_number);
	lock_drop(&handles->lock);
	if (error) {
		handle_put(handle);
	}
	return error;
}

struct dir_handle *handles_get(struct handles *handles, uint64_t number)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&handles->lock);
	struct dir_handle *handle =
		number < handles->size ? handles->table[number] : NULL;

	(void)held;
	if (handle) {
		/* relaxed: the table's reference keeps it alive */
		atomic_fetch_add_explicit(&handle->refs, 1,
					  memory_order_relaxed);
	}
	return handle;
}

void handles_close(struct handles *handles, uint64_t number)
{
	struct dir_handle *handle = NULL;

	lock_take(&handles->lock);
	if (number < handles->size) {
		handle = TAKE_PTR(handles->table[number]);
		if (number < handles->first_free) {
			handles->first_free = number;
		}
	}
	lock_drop(&handles->lock);
	handle_put(handle);
}
