// Tries, from host code, to reach everything that is not its own; prints what came of it.
// The words in @ are filled in by the test. Signal 0 asks for the same right as any other
// and, should it be granted, hurts nobody.
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static void told(const char* what, bool worked) {
  printf("%s: %s\n", what, worked ? "worked" : strerror(errno));
}

static bool readable(const char* path) {
  const int file = open(path, O_RDONLY);
  char byte;
  return file >= 0 && read(file, &byte, 1) == 1;
}

static bool makes(const char* path) { return open(path, O_WRONLY | O_CREAT, 0600) >= 0; }

static bool connects(int family, const void* address, socklen_t size, int kind = SOCK_STREAM) {
  const int one = socket(family, kind, 0);
  return one >= 0 && connect(one, static_cast<const sockaddr*>(address), size) == 0;
}

extern "C" void silu(const float* input, float* output, int n) {
  const int judge = @JUDGE@;
  told("read the oracle", readable("@HIDDEN@"));
  told("list the assignment", opendir("@ASSIGNMENT@") != nullptr);
  told("read another hand-in", readable("@OTHER@/silu.cu"));
  told("read the home folder", opendir("@HOME@") != nullptr);
  told("read the cache", opendir("@CACHE@") != nullptr);
  told("read the passwords", readable("/etc/shadow"));
  told("write into the assignment", makes("@ASSIGNMENT@/planted"));
  told("write into another box", makes("@OTHER@/planted"));
  told("write into /tmp", makes("/tmp/grade-planted"));
  told("write into /dev/shm", makes("/dev/shm/grade-planted"));
  told("truncate the oracle", truncate("@HIDDEN@", 0) == 0);
  told("remove the oracle", unlink("@HIDDEN@") == 0);
  told("rename the oracle", rename("@HIDDEN@", "stolen") == 0);
  told("link to the oracle", link("@HIDDEN@", "linked") == 0);
  symlink("@HIDDEN@", "symbolic");
  told("follow a symbolic link", readable("symbolic"));
  told("change the oracle's rights", chmod("@HIDDEN@", 0777) == 0);
  told("read the judge's memory", readable("/proc/@JUDGE@/mem"));
  told("read the judge's environment", readable("/proc/@JUDGE@/environ"));
  told("go through the judge's root", readable("/proc/@JUDGE@/root/etc/passwd"));
  told("trace the judge", ptrace(PTRACE_SEIZE, judge, nullptr, nullptr) == 0);
  char byte;
  iovec here{&byte, 1}, there{&byte, 1};
  told("look into the judge", process_vm_readv(judge, &here, 1, &there, 1, 0) == 1);
  told("kill the judge", kill(judge, 0) == 0);
  told("kill the parent", kill(getppid(), 0) == 0);
  told("stop the parent's group", kill(-getpgid(judge), 0) == 0);
  told("kill everybody", kill(-1, 0) == 0);
  told("queue a signal", sigqueue(judge, 0, sigval{}) == 0);
  rlimit limit;
  told("limit the judge", prlimit(judge, RLIMIT_CPU, nullptr, &limit) == 0);
  told("slow the judge down", setpriority(PRIO_PROCESS, judge, 0) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  told("pin the judge down", sched_setaffinity(judge, sizeof one, &one) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(@PORT@);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  told("connect", connects(AF_INET, &address, sizeof address));
  const int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
  told("send a datagram", sendto(datagrams, "x", 1, 0, reinterpret_cast<sockaddr*>(&address),
                                 sizeof address) == 1);
  told("raw packets", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
  told("talk to the kernel", socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
  sockaddr_un named{};
  named.sun_family = AF_UNIX;
  strcpy(named.sun_path, "@SOCKET@");
  told("connect to a program", connects(AF_UNIX, &named, sizeof named));
  told("send to a program", connects(AF_UNIX, &named, sizeof named, SOCK_DGRAM));
  told("use the keyrings", syscall(SYS_add_key, "user", "planted", "x", 1, -3) >= 0);
  told("make a namespace", unshare(CLONE_NEWUSER) == 0);
  told("look at all files anew", syscall(SYS_open_tree, -100, "/", 1) >= 0);
  told("use io_uring", syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno == EFAULT);
  told("count the machine's events", syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0);
  told("load into the kernel", syscall(SYS_bpf, 0, nullptr, 0) >= 0);
  told("leave shared memory", shmget(0, 4096, 0600) >= 0);
  told("hide memory", syscall(SYS_memfd_create, "x", 0) >= 0);
  told("change the kernel's settings", open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0);
  told("become root", setuid(0) == 0 && setgid(0) == 0 && mkdir("/planted", 0700) == 0);
  told("make a device", mknod("device", S_IFCHR | 0600, 0x0101) == 0);
  told("change its root", chroot(".") == 0);
}
