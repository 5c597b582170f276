/* A disk in user space for tests: a folder, seen through a mount, whose calls hang, are slow or fail.

   disk FOLDER MODE MOUNT...: MODE is a file with one word, read at each call: "ok", "hang", "slow", "full", "read-only" or "broken". The
   further arguments are libfuse's. Calls that need no disk, such as the lookup of names, never hang. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *folder, *mode_file;

static void place(char *to, const char *path) { snprintf(to, PATH_MAX, "%s%s", folder, path); }

static void mode_is(char word[16]) {
    word[0] = 0;
    int file = open(mode_file, O_RDONLY);
    if (file < 0) return;
    ssize_t length = read(file, word, 15);
    close(file);
    word[length < 0 ? 0 : length] = 0;
}

static void wait_for_disk(void) {
    char word[16];
    for (mode_is(word); !strcmp(word, "hang"); mode_is(word)) usleep(20000);
}

/* At most 10 MB/s in each direction of each file. */
static void take_time(size_t size) {
    char word[16];
    mode_is(word);
    if (!strcmp(word, "slow")) usleep(size / 10);
}

static int is_broken(void) {
    char word[16];
    mode_is(word);
    return !strcmp(word, "broken");
}

/* Returns 0 if a change may be made, after any hang. */
static int change(void) {
    char word[16];
    wait_for_disk();
    mode_is(word);
    return !strcmp(word, "full") ? -ENOSPC : !strcmp(word, "read-only") ? -EROFS : 0;
}

#define AT(name) char name##_at[PATH_MAX]; place(name##_at, name)
#define DONE(call) ((call) < 0 ? -errno : 0)
#define CHANGE(call) do { int refused = change(); return refused ? refused : DONE(call); } while (0)

static int disk_getattr(const char *path, struct stat *to, struct fuse_file_info *info) {
    (void)info;
    AT(path);
    return DONE(lstat(path_at, to));
}
static int disk_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t at, struct fuse_file_info *info,
                        enum fuse_readdir_flags flags) {
    (void)at, (void)info, (void)flags;
    AT(path);
    DIR *opened = opendir(path_at);
    if (!opened) return -errno;
    for (struct dirent *each; (each = readdir(opened));) fill(to, each->d_name, NULL, 0, 0);
    closedir(opened);
    return 0;
}
static int opened(int file, const char *path, struct fuse_file_info *info) {
    if (file < 0) return -errno;
    info->fh = file;
    /* Shared memory of SQLite is mapped, which needs the cache of the kernel. */
    info->direct_io = !strstr(path, "-shm");
    return 0;
}
static int disk_open(const char *path, struct fuse_file_info *info) {
    AT(path);
    return opened(open(path_at, info->flags & ~O_EXCL), path, info);
}
static int disk_create(const char *path, mode_t bits, struct fuse_file_info *info) {
    AT(path);
    int refused = change();
    return refused ? refused : opened(open(path_at, info->flags | O_CREAT, bits), path, info);
}
static int disk_read(const char *path, char *to, size_t size, off_t at, struct fuse_file_info *info) {
    (void)path;
    wait_for_disk();
    if (is_broken()) return -EIO;
    take_time(size);
    ssize_t count = pread(info->fh, to, size, at);
    return count < 0 ? -errno : (int)count;
}
static int disk_write(const char *path, const char *from, size_t size, off_t at, struct fuse_file_info *info) {
    (void)path;
    int refused = change();
    if (refused) return refused;
    take_time(size);
    ssize_t count = pwrite(info->fh, from, size, at);
    return count < 0 ? -errno : (int)count;
}
static int disk_fsync(const char *path, int data, struct fuse_file_info *info) {
    (void)path, (void)data;
    CHANGE(fsync(info->fh));
}
static int disk_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    return DONE(close(info->fh));
}
static int disk_truncate(const char *path, off_t size, struct fuse_file_info *info) {
    (void)info;
    AT(path);
    CHANGE(truncate(path_at, size));
}
static int disk_unlink(const char *path) { AT(path); CHANGE(unlink(path_at)); }
static int disk_mkdir(const char *path, mode_t bits) { AT(path); CHANGE(mkdir(path_at, bits)); }
static int disk_rmdir(const char *path) { AT(path); CHANGE(rmdir(path_at)); }
static int disk_rename(const char *path, const char *to, unsigned flags) {
    (void)flags;
    AT(path);
    AT(to);
    CHANGE(rename(path_at, to_at));
}
static int disk_chmod(const char *path, mode_t bits, struct fuse_file_info *info) {
    (void)info;
    AT(path);
    CHANGE(chmod(path_at, bits));
}
static int disk_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info) {
    (void)info;
    AT(path);
    CHANGE(utimensat(0, path_at, times, AT_SYMLINK_NOFOLLOW));
}
static int disk_statfs(const char *path, struct statvfs *to) { AT(path); return DONE(statvfs(path_at, to)); }

static const struct fuse_operations operations = {
    .getattr = disk_getattr, .readdir = disk_readdir, .open = disk_open, .create = disk_create, .read = disk_read,
    .write = disk_write, .fsync = disk_fsync, .release = disk_release, .truncate = disk_truncate,
    .unlink = disk_unlink, .mkdir = disk_mkdir, .rmdir = disk_rmdir, .rename = disk_rename, .chmod = disk_chmod,
    .utimens = disk_utimens, .statfs = disk_statfs,
};

int main(int count, char **arguments) {
    if (count < 4) return 2;
    folder = realpath(arguments[1], NULL);
    mode_file = realpath(arguments[2], NULL);
    arguments[2] = arguments[0];
    return fuse_main(count - 2, arguments + 2, &operations, NULL);
}
