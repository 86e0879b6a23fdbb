/* FIFOs, sockets, nameless files, locks. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

static void special_fifo(void)
{
	char data[16] = {0};
	int both;
	int reader;
	int writer;

	TRY(mkfifo("new", 0600));
	record_stat("new", "new");
	TRY(mkfifo("new", 0600));
	TRY(mkfifo("f", 0600));
	TRY(mkfifo("gone", 0600));
	TRY_OPEN(open("new", O_WRONLY | O_NONBLOCK));
	both = TRY_FD(open("p", O_RDWR | O_NONBLOCK));
	TRY(write(both, "through", 7));
	reader = TRY_FD(open("p", O_RDONLY | O_NONBLOCK));
	TRY(read(reader, data, sizeof(data)));
	writer = TRY_FD(open("p", O_WRONLY | O_NONBLOCK));
	TRY(chmod("p", 0600));
	TRY(rename("p", "d/p"));
	TRY(write(writer, "moved", 5));
	TRY(read(reader, data, sizeof(data)));
	TRY(unlink("d/p"));
	TRY(write(writer, "gone", 4));
	TRY(read(both, data, sizeof(data)));
	TRY(lseek(both, 0, SEEK_SET));
	close(both);
	close(reader);
	close(writer);
}

static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int bind_to(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

static int connect_to(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static void special_socket(void)
{
	int server = unix_socket();
	int client = unix_socket();
	int other = unix_socket();
	char data[8];
	int peer;

	TRY(bind_to(server, "d/socket"));
	record_stat("d/socket", "d/socket");
	TRY(bind_to(other, "d/socket"));
	TRY(bind_to(other, "f"));
	TRY(connect_to(client, "d/socket"));
	TRY(listen(server, 1));
	TRY(connect_to(client, "d/socket"));
	peer = TRY_FD(accept(server, NULL, NULL));
	TRY(write(client, "hello", 5));
	TRY(read(peer, data, sizeof(data)));
	TRY(chmod("d/socket", 0600));
	TRY(rename("d/socket", "moved"));
	TRY(connect_to(other, "moved"));
	close(other);
	other = unix_socket();
	TRY(connect_to(other, "s"));
	TRY(connect_to(other, "f"));
	TRY(connect_to(other, "gone"));
	TRY_OPEN(open("moved", O_RDWR));
	TRY(unlink("moved"));
	TRY(bind_to(other, "moved"));
	close(server);
	close(client);
	close(other);
	close(peer);
}

static void special_tmpfile(void)
{
	char path[64];
	int fd = TRY_FD(open("d", O_TMPFILE | O_RDWR, 0640));
	int fixed;

	if (fd < 0) {
		return;
	}
	record_fstat("nameless", fd);
	TRY(write(fd, "no name yet\n", 12));
	record_listing("d", "d");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	record_result("link", linkat(AT_FDCWD, path, AT_FDCWD, "d/named",
				     AT_SYMLINK_FOLLOW));
	record_result("link over",
		      linkat(AT_FDCWD, path, AT_FDCWD, "f", AT_SYMLINK_FOLLOW));
	record_result("link again", linkat(AT_FDCWD, path, AT_FDCWD, "gone",
					   AT_SYMLINK_FOLLOW));
	record_fstat("named", fd);
	TRY(write(fd, "named\n", 6));
	record_content("d/named", "d/named");
	TRY(close(fd));
	record_content("gone", "gone");
	fixed = TRY_FD(open("e", O_TMPFILE | O_RDWR | O_EXCL, 0600));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fixed);
	record_result("link O_EXCL", linkat(AT_FDCWD, path, AT_FDCWD, "never",
					    AT_SYMLINK_FOLLOW));
	close(fixed);
	TRY_OPEN(open("e", O_TMPFILE | O_RDONLY, 0600));
	TRY_OPEN(open("f", O_TMPFILE | O_RDWR, 0600));
	TRY_OPEN(open("gone/x", O_TMPFILE | O_RDWR, 0600));
	umask(077);
	fd = TRY_FD(open("e", O_TMPFILE | O_WRONLY, 0666));
	record_fstat("umask", fd);
	close(fd);
}

/* What a second process gets when it asks for the lock. */
static void second_process(const char *label, int (*ask)(int))
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		int fd = open("f", O_RDWR);

		_exit(ask(fd) ? errno : 0);
	}
	waitpid(child, &status, 0);
	record(label, "%s",
	       WEXITSTATUS(status) ? err_name(WEXITSTATUS(status)) : "granted");
}

static int ask_flock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB);
}

static int ask_flock_shared(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB);
}

static int ask_posix(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 10};

	return fcntl(fd, F_SETLK, &lock);
}

static int ask_posix_beside(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 10, .l_len = 10};

	return fcntl(fd, F_SETLK, &lock);
}

static int ask_ofd(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 10};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

static void special_locks(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
	int fd = TRY_FD(open("f", O_RDWR));
	int reader = TRY_FD(open("f", O_RDONLY));

	TRY(flock(fd, LOCK_EX));
	second_process("flock against flock", ask_flock);
	second_process("shared flock", ask_flock_shared);
	second_process("posix beside flock", ask_posix);
	TRY(flock(reader, LOCK_SH | LOCK_NB));
	TRY(flock(fd, LOCK_SH));
	second_process("flock against shared", ask_flock);
	second_process("shared against shared", ask_flock_shared);
	TRY(flock(fd, LOCK_UN));
	second_process("flock again", ask_flock);
	TRY(fcntl(fd, F_SETLK, &lock));
	second_process("posix against posix", ask_posix);
	second_process("posix beside", ask_posix_beside);
	second_process("ofd against posix", ask_ofd);
	TRY(fcntl(fd, F_GETLK, &lock));
	TRY(fcntl(reader, F_SETLK, &lock));
	close(reader);
	second_process("after any close", ask_posix);
	TRY(fcntl(fd, F_OFD_SETLK, &lock));
	close(fd);
}

/* Locks made before a copy-up hold after it, and go with the descriptor. */
static void special_locks_across_copy_up(void)
{
	int reader = TRY_FD(open("f", O_RDONLY));
	int writer;

	TRY(flock(reader, LOCK_EX));
	writer = TRY_FD(open("f", O_RDWR));
	TRY(pwrite(writer, "x", 1, 0));
	second_process("against the reader's", ask_flock);
	TRY(flock(writer, LOCK_EX | LOCK_NB));
	close(reader);
	second_process("gone", ask_flock);
	close(writer);
}

const struct parity_case cases_special[] = {
	{"special-fifo", special_fifo, STATE_ALL, PARITY_ANYONE, NULL},
	{"special-socket", special_socket, STATE_ALL, PARITY_ANYONE, NULL},
	{"special-tmpfile", special_tmpfile, STATE_ALL, PARITY_ANYONE, NULL},
	{"special-locks", special_locks, STATE_ALL, PARITY_ANYONE, NULL},
	{"special-locks-across-copy-up", special_locks_across_copy_up,
	 STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
