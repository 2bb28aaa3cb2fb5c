/* Children. */
#ifndef LEE_SYS_WAIT_H
#define LEE_SYS_WAIT_H

#include_next <sys/wait.h>

trusted pid_t wait(int *status) __asm__("lee_wait");
trusted pid_t waitpid(pid_t child, int *status, int options) __asm__("lee_waitpid");

#endif
