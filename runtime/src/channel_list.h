/* channel_list.h: the ends of channels that a process has. */
#ifndef LEE_SRC_CHANNEL_LIST_H
#define LEE_SRC_CHANNEL_LIST_H

struct lee_pid;
struct lee_process;

/* process_spawn.c: the process, or null once it has ended. */
struct lee_process *lee_process_of(struct lee_pid *pid);

#endif
