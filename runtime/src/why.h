/* why.h: what a process's memory consists of, for `lee top --why`.
 *
 * A trace of its own goes from the process's variables through its heap, breadth first, so that
 * each object is found on a shortest path; then from its stacks, then from its other roots. It adds
 * up what lies on the same path: a path is a root (a variable, a function's part of a stack) and
 * the fields that lead on from there. Objects of a type that lies on the path already count there:
 * a list is one place, however long.
 *
 * Promises: it changes nothing in the heap, marks nothing and frees nothing, so a process can be
 * looked at wherever it may be stopped. It goes in steps of a quarter of a millisecond, between
 * which the process goes on: what it changes meanwhile may be counted at its old place, at its new
 * one, or not at all. Each word is looked up in the heap as it is then, so nothing that was freed
 * is followed. It keeps at most `LEE_WHY_OBJECTS` objects and `LEE_WHY_NODES` paths, in memory of
 * its own, and says when there was more. */
#ifndef LEE_SRC_WHY_H
#define LEE_SRC_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lee_layout;
struct lee_process;

enum { LEE_WHY_OBJECTS = 1 << 18, LEE_WHY_NODES = 1 << 12, LEE_WHY_PARENT_NONE = LEE_WHY_NODES };

/* What a root is. */
enum lee_why_root {
    LEE_WHY_HEAP,     /* no root: an object of the heap */
    LEE_WHY_VARIABLE, /* `place`: where it is linked */
    LEE_WHY_STACK,    /* `place`: an instruction of the function whose part of the stack it is; 0: not known */
    LEE_WHY_ARENA,    /* an arena declared in a block */
    LEE_WHY_EXCHANGE, /* an exchange arena */
    LEE_WHY_MESSAGE,  /* messages of local contracts on their way to it */
    LEE_WHY_RUNTIME,  /* the runtime's own: buffers of input and output */
    LEE_WHY_REST,     /* paths that were too many */
    LEE_WHY_ROOTS
};

/* A place on a path. */
struct lee_why_node {
    uint32_t parent; /* LEE_WHY_PARENT_NONE of a root */
    uint32_t offset; /* of the word in an element of the parent that leads here; LEE_WHY_ANYWHERE */
    enum lee_why_root root;
    uintptr_t place;                 /* of a root */
    const struct lee_layout *layout; /* of objects; `lee_layout_plain`: they have no header */
    uint64_t objects, bytes;         /* that were found here */
};
enum { LEE_WHY_ANYWHERE = UINT32_MAX };

/* Bytes that are in no heap, of all processes that were looked at; and those of heaps. */
struct lee_why_parts {
    uint64_t stacks, arenas, exchange, c_memory, globals, heap;
};

struct lee_why {
    struct lee_why_node *nodes;
    uint32_t node_count;
    struct lee_why_parts parts;
    uint64_t objects; /* that were found */
    bool cut;         /* there was more */
};

/* Takes the memory for a trace, of which there is one at a time; false if there is none. */
bool lee_why_open(void);
/* One step for a process that stands where it may be stopped, or waits; `fresh`: the first one. The
 * lock is held. True if the process is done. */
bool lee_why_step(struct lee_process *process, bool fresh);
/* What was found so far. */
const struct lee_why *lee_why_found(void);
void lee_why_close(void);

#endif
