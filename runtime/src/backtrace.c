/* backtrace.c: see backtrace.h.
 *
 * Emitted code and the runtime keep frame pointers, so the walk is the chain of them. libc does
 * not: where its code stands between (a callback of a library function, a trap inside one) the
 * words of the stack are searched for the next address that follows a call instruction of the
 * program. What a call left behind earlier may be found so in its stead; a backtrace is a hint
 * there, while the place of an explicit check always comes from the check itself. */
#define _GNU_SOURCE
#include "backtrace.h"

#include <string.h>

#include "foreign_stack.h"
#include "line_table.h"
#include "maps.h"
#include "objects.h"
#include "task.h"

enum {
    WORD = sizeof(uintptr_t),
    SEARCHED_BYTES = 64 << 10 /* of stack, for one frame of a library */
};

/* The part of the stack that may hold frames; it shrinks from below as the walk goes outwards. */
struct stack {
    uintptr_t low, high;
};

static bool on_stack(const struct stack *stack, uintptr_t address, size_t words) {
    return address % WORD == 0 && address >= stack->low && address < stack->high &&
           stack->high - address >= words * WORD;
}

/* Under AddressSanitizer stacks hold bytes that are poisoned, and reading frames goes over all of it. */
__attribute__((no_sanitize("address"))) static uintptr_t word_at(uintptr_t address) {
    return *(const volatile uintptr_t *)address;
}

#if defined(__x86_64__)
__attribute__((no_sanitize("address"))) static bool follows_call(uintptr_t pc) {
    const uint8_t *code = (const uint8_t *)pc;
    if (!lee_objects_has_code(pc - 1, 7))
        return false;
    if (code[-5] == 0xe8) /* call relative */
        return true;
    static const int lengths[] = {2, 3, 4, 6, 7}; /* call through a register or memory: ff /2 */
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const uint8_t *call = code - lengths[i];
        if (call[0] == 0xff && (call[1] >> 3 & 7) == 2)
            return true;
    }
    return false;
}
#elif defined(__aarch64__)
__attribute__((no_sanitize("address"))) static bool follows_call(uintptr_t pc) {
    if (pc % 4 != 0 || !lee_objects_has_code(pc - 1, 3))
        return false;
    uint32_t instruction = ((const uint32_t *)pc)[-1];
    return (instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfffffc1f) == 0xd63f0000; /* bl, blr */
}
#else
#error "Leeward's runtime knows x86-64 and aarch64 only"
#endif

/* Whether `fp` holds a frame: the caller's frame pointer, then the return address. */
static bool is_frame(const struct stack *stack, uintptr_t fp) {
    return on_stack(stack, fp, 2) && follows_call(word_at(fp + WORD));
}

/* Whether `pc` may be in the program's own code: it is in the program, or in a library that has lines. */
static bool in_program(uintptr_t pc) {
    uint64_t address;
    const struct lee_object *object = lee_objects_find(pc - 1, &address);
    return object != NULL && (object->program || lee_object_has_lines(object));
}

/* The frame pointer of a caller whose callees did not keep it: they saved it somewhere below its frame. */
static uintptr_t saved_frame_pointer(const struct stack *stack, uintptr_t from, uintptr_t to) {
    uintptr_t best = 0;
    for (uintptr_t at = from; at < to; at += WORD) {
        uintptr_t word = word_at(at);
        if (word >= to && (best == 0 || word < best) && is_frame(stack, word))
            best = word;
    }
    return best;
}

/* The next frame of the program's own code above `frame`. */
static bool search_caller(struct stack *stack, struct lee_frame *frame) {
    if (in_program(frame->link) && follows_call(frame->link)) { /* a function that calls none keeps it there */
        *frame = (struct lee_frame){.pc = frame->link, .fp = frame->fp, .sp = stack->low, .pc_is_a_return = true};
        return true;
    }
    uintptr_t from = (stack->low + WORD - 1) & ~(uintptr_t)(WORD - 1);
    for (uintptr_t at = from; on_stack(stack, at, 1) && at - from < SEARCHED_BYTES; at += WORD) {
        uintptr_t word = word_at(at);
        if (!follows_call(word) || !in_program(word))
            continue;
        uintptr_t fp = frame->fp > at && is_frame(stack, frame->fp) ? frame->fp : saved_frame_pointer(stack, from, at);
        *frame = (struct lee_frame){.pc = word, .fp = fp, .sp = at + WORD, .pc_is_a_return = true};
        stack->low = frame->sp;
        return true;
    }
    return false;
}

static bool follow_chain(struct stack *stack, struct lee_frame *frame) {
    if (!is_frame(stack, frame->fp))
        return false;
    uintptr_t fp = frame->fp;
    *frame = (struct lee_frame){
        .pc = word_at(fp + WORD), .fp = word_at(fp), .sp = fp + 2 * WORD, .pc_is_a_return = true};
    stack->low = frame->sp;
    return true;
}

/* The mapping that holds the frame, from the frame on. Overflow leaves sp just below it. */
static struct stack stack_of(const struct lee_frame *frame) {
    static struct lee_mapping mapping;
    struct stack stack = {.low = frame->sp};
    uintptr_t low, high;
    const struct lee_foreign_stack *foreign = lee_foreign_stack_find(frame->sp);
    if (foreign != NULL)
        return (struct stack){stack.low < foreign->low ? foreign->low : stack.low, foreign->high};
    if (lee_stack_find(frame->sp, &low, &high)) /* a task's: its neighbours are in the same mapping */
        return (struct stack){stack.low < low ? low : stack.low, high};
    bool found = lee_maps_find(frame->sp, &mapping);
    if (found && !mapping.readable)
        found = lee_maps_find(mapping.end, &mapping);
    if (!found || !mapping.readable)
        return (struct stack){0, 0};
    if (stack.low < mapping.start)
        stack.low = mapping.start;
    stack.high = mapping.end;
    return stack;
}

/* Of a return address the call is wanted, which is before it: what follows a call that never returns may be
 * another line or function. */
static const struct lee_object *locate(const struct lee_frame *frame, struct lee_location *location) {
    *location = (struct lee_location){.address = 0};
    return lee_objects_find(frame->pc - frame->pc_is_a_return, &location->address);
}

/* Where the function that `pc` trapped in was called, if it has no frame: 0 if nothing says so. */
static uintptr_t frameless_caller(const struct stack *stack, const struct lee_frame *frame, uintptr_t *at) {
#if defined(__x86_64__)
    for (*at = frame->sp; *at <= frame->sp + WORD; *at += WORD) { /* before or after `push %rbp` */
        if (on_stack(stack, *at, 1) && follows_call(word_at(*at)))
            return word_at(*at);
    }
    return 0;
#else
    (void)stack;
    *at = frame->sp - WORD; /* nothing was pushed */
    return follows_call(frame->link) ? frame->link : 0;
#endif
}

/* Whether the code from `start` up to `pc` sets the frame pointer: `mov %rsp, %rbp` or `add x29, sp, #n`. */
__attribute__((no_sanitize("address"))) static bool makes_frame(uintptr_t start, uintptr_t pc) {
#if defined(__x86_64__)
    for (uintptr_t at = start; at + 3 <= pc; at++) {
        const volatile uint8_t *code = (const volatile uint8_t *)at;
        if (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xe5)
            return true;
    }
#else
    for (uintptr_t at = start; at + 4 <= pc; at += 4) {
        if ((*(const volatile uint32_t *)at & 0xffc003ff) == 0x910003fd)
            return true;
    }
#endif
    return false;
}

/* Whether the frame seems to be given up already at `pc`: an instruction between `pop %rbp` and `ret`, where
 * compilers move the last load of a function. */
__attribute__((no_sanitize("address"))) static bool gave_up_frame(uintptr_t start, uintptr_t pc) {
    enum { NEAR = 12 }; /* bytes: two or three instructions */
#if defined(__x86_64__)
    bool popped = false, returns = false;
    for (uintptr_t at = pc - start > NEAR ? pc - NEAR : start; at < pc; at++)
        popped |= *(const volatile uint8_t *)at == 0x5d || *(const volatile uint8_t *)at == 0xc9;
    for (uintptr_t at = pc; at < pc + NEAR && lee_objects_has_code(at, 0); at++)
        returns |= *(const volatile uint8_t *)at == 0xc3;
    return popped && returns;
#else
    for (uintptr_t at = pc - start > NEAR ? pc - NEAR : start; at < pc; at += 4) {
        if ((*(const volatile uint32_t *)at & 0xffc07fff) == 0xa8c07bfd) /* ldp x29, x30, [sp], #n */
            return true;
    }
    return false;
#endif
}

/* Whether the C compiler split this off a function (`f.cold`, `f.part.0`): it relies on the frame
 * that the rest has made. What else follows a dot is of the symbol's own: types of a generic, a
 * digest. */
static bool is_part(const char *function) {
    return strstr(function, ".cold") != NULL || strstr(function, ".part.") != NULL;
}

/* The start of the function that `frame` is in, 0 if not known; a part that was split off has none. */
static uintptr_t function_start(const struct lee_frame *frame) {
    struct lee_location location;
    const struct lee_object *object = locate(frame, &location);
    if (object == NULL)
        return 0;
    lee_image_find_functions(&object->image, &location, 1);
    uintptr_t length = location.address - location.function_start, pc = frame->pc - frame->pc_is_a_return;
    if (location.function == NULL || is_part(location.function) || !lee_objects_has_code(pc, length))
        return 0;
    return pc - length;
}

/* Whether `frame` is in a part of a function of the runtime that the compiler put elsewhere. */
static bool is_runtime_part(const struct lee_frame *frame) {
    struct lee_location location;
    const struct lee_object *object = locate(frame, &location);
    if (object == NULL)
        return false;
    lee_image_find_functions(&object->image, &location, 1);
    return location.function != NULL && strncmp(location.function, "lee_", 4) == 0 && is_part(location.function);
}

/* A function that was compiled without a frame pointer: the runtime's own may be, depending on
 * flags. What was split off of it does not say; it is compiled as this function is. */
static bool keeps_no_frame(const struct lee_frame *frame) {
    enum { PROLOGUE = 32 }; /* bytes */
    if (is_runtime_part(frame))
        return !makes_frame((uintptr_t)lee_backtrace, (uintptr_t)lee_backtrace + PROLOGUE);
    uintptr_t start = function_start(frame);
    return start != 0 && !makes_frame(start, frame->pc);
}

/* Finds the caller of a function that trapped before it made its frame, or after it gave it up; the
 * chain of frame pointers lacks that caller. A call of a null pointer is the case in which there is
 * no function at all: there the frame of the call takes the place of the trap's. */
static bool find_trap_caller(struct stack *stack, struct lee_frame *frame, struct lee_frame *caller) {
    bool nowhere = !lee_objects_has_code(frame->pc, 0);
    uintptr_t at = 0, start = nowhere ? 0 : function_start(frame);
    if (!nowhere && (start == 0 || (makes_frame(start, frame->pc) && !gave_up_frame(start, frame->pc))))
        return false;
    uintptr_t pc = frameless_caller(stack, frame, &at);
    if (pc == 0)
        return false;
    *caller = (struct lee_frame){.pc = pc, .fp = frame->fp, .sp = at + WORD, .pc_is_a_return = true};
    stack->low = caller->sp;
    if (nowhere)
        *frame = *caller;
    return !nowhere;
}

/* Whether `frame` is of the program's own code. A line is not known for code of libc that is linked
 * into the program; of a program without any lines all counts as its own. */
static bool is_own(const struct lee_frame *frame) {
    struct lee_location location;
    const struct lee_object *object = locate(frame, &location);
    if (object == NULL)
        return false;
    if (!lee_object_has_lines(object))
        return object->program;
    lee_lines_find(&object->image, &location, 1);
    return location.file != NULL;
}

bool lee_backtrace_is_ours(struct lee_frame frame) {
    struct lee_frame caller;
    lee_objects_refresh();
    struct stack stack = stack_of(&frame);
    find_trap_caller(&stack, &frame, &caller);
    return is_own(&frame);
}

/* From the outermost frame on a stack for foreign functions to the task's own stack. */
static bool leave_foreign(struct stack *stack, struct lee_frame *frame) {
    const struct lee_foreign_stack *foreign = stack->high == 0 ? NULL : lee_foreign_stack_find(stack->high - WORD);
    if (foreign == NULL || foreign->left <= 1)
        return false;
    uintptr_t left = foreign->left;
    *frame = (struct lee_frame){
        .pc = word_at(left + WORD), .fp = word_at(left), .sp = left + 2 * WORD, .pc_is_a_return = true};
    *stack = stack_of(frame);
    return true;
}

/* From `frame` to the one that called it. */
static bool step_outwards(struct stack *stack, struct lee_frame *frame, bool library) {
    bool chained = !library && !keeps_no_frame(frame) && follow_chain(stack, frame);
    return chained || search_caller(stack, frame) || leave_foreign(stack, frame);
}

static size_t walk(struct lee_frame frame, struct lee_frame frames[LEE_BACKTRACE_FRAMES]) {
    struct stack stack = stack_of(&frame);
    struct lee_frame caller;
    size_t count = 0;
    bool library = false;
    if (!frame.pc_is_a_return) {
        if (find_trap_caller(&stack, &frame, &caller)) {
            frames[count++] = frame;
            frame = caller;
            library = !in_program(frame.pc);
        } else {
            library = !is_own(&frame);
        }
    }
    frames[count++] = frame;
    while (count < LEE_BACKTRACE_FRAMES && step_outwards(&stack, &frame, library)) {
        library = !in_program(frame.pc);
        frames[count++] = frame;
    }
    return count;
}

/* Fills in the locations of all calls of one object together: the tables are read once. */
static void find_locations(struct lee_call *calls, const struct lee_object **of, size_t count) {
    static struct lee_location locations[LEE_BACKTRACE_FRAMES];
    static size_t places[LEE_BACKTRACE_FRAMES];
    for (size_t first = 0; first < count; first++) {
        const struct lee_object *object = of[first];
        size_t found = 0;
        for (size_t i = first; object != NULL && i < count; i++) {
            if (of[i] != object)
                continue;
            places[found] = i;
            locations[found++] = calls[i].location;
            of[i] = NULL;
        }
        if (found == 0)
            continue;
        lee_image_find_functions(&object->image, locations, found);
        lee_lines_find(&object->image, locations, found);
        for (size_t i = 0; i < found; i++) {
            calls[places[i]].location = locations[i];
            calls[places[i]].object = object->path;
            calls[places[i]].program = object->program;
            calls[places[i]].lined = lee_object_has_lines(object);
        }
    }
}

/* The directory of a file's path: what `directory` names, and what stands before the last slash of `file`. */
static bool same_directory(const struct lee_location *a, const struct lee_location *b) {
    if (a->file == NULL || b->file == NULL)
        return false;
    const char *of_a = a->directory == NULL ? "" : a->directory, *of_b = b->directory == NULL ? "" : b->directory;
    const char *end_a = strrchr(a->file, '/'), *end_b = strrchr(b->file, '/');
    size_t length_a = end_a == NULL ? 0 : (size_t)(end_a - a->file), length_b = end_b == NULL ? 0 : (size_t)(end_b - b->file);
    return strcmp(of_a, of_b) == 0 && length_a == length_b && memcmp(a->file, b->file, length_a) == 0;
}

/* Where a task or a process begins, `lee__start_2_work` or `lee__spawn_2_work`, stands in no source
 * file; what the C compiler put there of `work` does. True if it is that: the call gets the name. */
static bool is_inlined_start(struct lee_location *location) {
    static const char task[] = "lee__start_", process[] = "lee__spawn_"; /* of one length */
    const char *name = location->function;
    bool begins = name != NULL && (strncmp(name, task, sizeof task - 1) == 0 || strncmp(name, process, sizeof process - 1) == 0);
    if (!begins || location->file == NULL || strstr(location->file, "<start>") != NULL)
        return false;
    name += sizeof task - 1;
    name += strspn(name, "0123456789");
    location->function = *name == '_' ? name + 1 : name;
    return true;
}

/* What the runtime calls (libc's code, for the most part) is no more the program's than the runtime
 * is: what stands before a call of the runtime is hidden with it. So is code without a name, which
 * says nothing. */
static void hide_callees(struct lee_call *calls, size_t count) {
    size_t hidden = 0, own = 0;
    while (own < count && (calls[own].runtime || calls[own].location.file == NULL))
        own++;
    if (own == count) /* no lines at all: what there is */
        return;
    for (size_t i = 0; i < own; i++) {
        if (calls[i].runtime || calls[i].location.function == NULL)
            hidden = i + 1;
    }
    for (size_t i = 0; i < hidden; i++)
        calls[i].runtime = true;
}

/* The runtime's functions are known by their names, and those without the prefix by being in a file
 * beside this one. */
static void mark_runtime(struct lee_call *calls, size_t count) {
    struct lee_frame here = {.pc = (uintptr_t)lee_backtrace};
    struct lee_location own;
    const struct lee_object *object = locate(&here, &own);
    if (object != NULL)
        lee_lines_find(&object->image, &own, 1);
    for (size_t i = 0; i < count; i++) {
        struct lee_location *location = &calls[i].location;
        if (is_inlined_start(location))
            continue;
        /* Code of the program without a line is the runtime's, or of a library that is linked in,
         * where the program itself has lines. */
        bool unlined = location->file == NULL && calls[i].program && calls[i].lined;
        calls[i].runtime = unlined || (location->function != NULL && strncmp(location->function, "lee_", 4) == 0) ||
                           (same_directory(location, &own) && strstr(location->file, ".lee") == NULL);
    }
    hide_callees(calls, count);
}

size_t lee_backtrace(struct lee_frame frame, struct lee_call calls[LEE_BACKTRACE_FRAMES]) {
    static struct lee_frame frames[LEE_BACKTRACE_FRAMES];
    static const struct lee_object *of[LEE_BACKTRACE_FRAMES];
    lee_objects_refresh();
    size_t count = walk(frame, frames);
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct lee_call){.object = NULL};
        of[i] = locate(&frames[i], &calls[i].location);
    }
    find_locations(calls, of, count);
    mark_runtime(calls, count);
    return count;
}
