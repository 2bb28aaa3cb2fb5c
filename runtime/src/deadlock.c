/* deadlock.c: the report when every task waits and nothing from outside can wake one.
 *
 * Those who wait lead into a circle, if each waits for another: within a process by joining tasks,
 * between processes by receiving from ends whose peers are another's and by waiting for its end. A
 * task that waits for several ends stands for one of them, the first that is named. */
#include "deadlock.h"

#ifndef LEE_NO_GC

#include <lee/lee.h>

#include <string.h>

#include "custodian.h"
#include "process.h"
#include "report.h"
#include "task.h"

enum { NAMED = 4 }; /* of a circle */

static bool is_first(const struct lee_task *task) {
    return task == &task->process->tasks.first;
}

static void name_site(struct lee_text *text, const char *before, const struct lee_site *site) {
    lee_text_string(text, before);
    lee_text_string(text, site->file);
    lee_text_string(text, ":");
    lee_text_unsigned(text, site->line);
}

void lee_task_name(struct lee_text *text, const struct lee_task *task) {
    if (is_first(task)) {
        lee_text_string(text, "main");
        return;
    }
    lee_text_string(text, "task ");
    lee_text_unsigned(text, task->number);
    if (task->site != NULL) {
        name_site(text, " (started at ", task->site);
        lee_text_string(text, ")");
    }
}

static void name_process(struct lee_text *text, const struct lee_process *process, bool numbered) {
    const struct lee_site *site = process->tasks.first.site;
    if (process->high == 0) {
        lee_text_string(text, "main");
        return;
    }
    if (site != NULL)
        name_site(text, "the process spawned at ", site);
    else
        lee_text_string(text, "a process");
    if (numbered) {
        lee_text_string(text, " (p");
        lee_text_unsigned(text, process->number);
        lee_text_string(text, ")");
    }
}

/* One on the circle that those who join tasks lead into; null if one there waits for something
 * else. */
static const struct lee_task *find_circle(const struct lee_task *task) {
    const struct lee_task *slow = task, *quick = task;
    do {
        slow = slow->waits_for;
        for (int i = 0; i < 2 && quick != NULL; i++)
            quick = quick->waits_for;
    } while (quick != NULL && slow != quick);
    return quick;
}

static bool awaits(const struct lee_task *task, struct lee_awaited *what) {
    *what = (struct lee_awaited){.process = NULL};
    return task->leave != NULL && ((lee_channel_awaits != NULL && lee_channel_awaits(task, what)) ||
                                   (lee_process_awaits != NULL && lee_process_awaits(task, what))) &&
           what->process != NULL;
}

/* The process that a task of this one waits for; what is null if there is none. */
static struct lee_awaited awaited_by(struct lee_process *process) {
    struct lee_awaited what;
    if (awaits(&process->tasks.first, &what))
        return what;
    for (struct lee_custodian *at = lee_custodian_deepest(&process->accounts.first); at != NULL; at = lee_custodian_after(at)) {
        for (const struct lee_task *task = at->tasks; task != NULL; task = task->next) {
            if (task->state == LEE_TASK_WAITING && awaits(task, &what))
                return what;
        }
    }
    return (struct lee_awaited){.process = NULL};
}

bool lee_process_waits_for(struct lee_process *process, struct lee_awaited *what) {
    *what = awaited_by(process);
    return what->process != NULL;
}

/* The same for processes. */
static struct lee_process *find_process(struct lee_process *process) {
    struct lee_process *slow = process, *quick = process;
    do {
        slow = awaited_by(slow).process;
        for (int i = 0; i < 2 && quick != NULL; i++)
            quick = awaited_by(quick).process;
    } while (quick != NULL && slow != quick);
    return quick;
}

static void name_tasks(struct lee_text *text, const struct lee_task *on) {
    const struct lee_task *at = on;
    unsigned length = 0;
    lee_task_name(text, at);
    do {
        at = at->waits_for;
        if (length++ < NAMED) {
            lee_text_string(text, length == 1 ? " waits for " : ", which waits for ");
            lee_task_name(text, at);
        }
    } while (at != on);
    if (length > NAMED)
        lee_text_string(text, ", and so on");
}

/* Each spawn of a line has a site of its own. */
static bool is_one_place(const struct lee_site *a, const struct lee_site *b) {
    return a == b || (a != NULL && b != NULL && a->line == b->line && strcmp(a->file, b->file) == 0);
}

/* Whether two of those on the circle that are named were spawned at one place, so that only their
 * numbers, which `lee top` shows, tell them apart. */
static bool are_alike(struct lee_process *on) {
    struct lee_process *at = on;
    for (unsigned i = 0; i < NAMED; i++, at = awaited_by(at).process) {
        struct lee_process *other = awaited_by(at).process;
        for (unsigned j = i + 1; j <= NAMED && other != at; j++, other = awaited_by(other).process) {
            if (at->high != 0 && other->high != 0 && is_one_place(at->tasks.first.site, other->tasks.first.site))
                return true;
        }
    }
    return false;
}

static void name_processes(struct lee_text *text, struct lee_process *on) {
    struct lee_process *at = on;
    unsigned length = 0;
    bool numbered = are_alike(on);
    name_process(text, at, numbered);
    do {
        struct lee_awaited what = awaited_by(at);
        if (length++ < NAMED) {
            lee_text_string(text, length == 1 ? " waits for " : ", which waits for ");
            if (what.contract != NULL) {
                lee_text_string(text, "a message of ");
                lee_text_string(text, what.contract);
                lee_text_string(text, " from ");
            } else {
                lee_text_string(text, "the end of ");
            }
            if (what.process == at)
                lee_text_string(text, "itself");
            else
                name_process(text, what.process, numbered);
        }
        at = what.process;
    } while (at != on);
    if (length > NAMED)
        lee_text_string(text, ", and so on");
}

_Noreturn void lee_deadlock(const struct lee_task *task) {
    struct lee_text text = {.length = 0};
    lee_text_string(&text, lee_processes_used ? "deadlock: every task of every process waits" : "deadlock: every task waits");
    const struct lee_task *tasks = find_circle(task);
    struct lee_process *process = tasks == NULL ? find_process(task->process) : NULL;
    if (tasks != NULL || process != NULL)
        lee_text_string(&text, "; ");
    if (tasks != NULL)
        name_tasks(&text, tasks);
    else if (process != NULL)
        name_processes(&text, process);
    lee_report(NULL, &text, LEE_CALLER);
}

#endif
