// Allocators in the manner of Lua: one hook that allocates, resizes and releases, kept in a struct
// behind a pointer, and functions that take a context before the object.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct global_State {
    void *(*frealloc)(void *ud, void *p, size_t old, size_t size);
    void *ud;
} global_State;

typedef struct lua_State {
    global_State *g;
} lua_State;

static void *l_alloc(void *ud, void *p, size_t old, size_t size) {
    (void)ud, (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

void *luaM_malloc_(lua_State *L, size_t size, int tag) {
    (void)tag;
    if (size == 0) return NULL;
    void *p = L->g->frealloc(L->g->ud, NULL, 0, size); // advise: declined it is returned
    if (!p) abort();
    return p;
}

void luaM_free_(lua_State *L, void *p, size_t old) { (*L->g->frealloc)(L->g->ud, p, old, 0); }

static int by_the_hook(lua_State *L, int n) {
    global_State *g = L->g;
    char *p = (*g->frealloc)(g->ud, NULL, 0, 8); // advise: stack has:[8];
    if (p == NULL) return -1;
    memset(p, n, 8);
    n = p[7];
    (*g->frealloc)(g->ud, p, 8, 0);
    return n;
}

static int by_functions(lua_State *L, int n) {
    char *p = luaM_malloc_(L, 12, 4); // advise: stack proven
    memset(p, n, 12);
    n = p[3] + p[11];
    luaM_free_(L, p, 12);
    return n;
}

static int of_any_size(lua_State *L, size_t n) {
    if (n == 0) return 0;
    char *p = luaM_malloc_(L, n, 4); // advise: hybrid proven has:(n) <= sizeof p_buffer
    memset(p, 3, n);
    int r = p[n - 1];
    luaM_free_(L, p, n);
    return r;
}

// Null is what these give for nothing; a buffer is not.
static int of_nothing_by_a_function(lua_State *L, size_t n) {
    char *p = luaM_malloc_(L, n, 4); // advise: hybrid nopatch
    int r = p != NULL;
    luaM_free_(L, p, n);
    return r;
}

static int of_nothing(lua_State *L, size_t n) { // rule: zero-is-null
    char *p = L->g->frealloc(L->g->ud, NULL, 0, n); // advise: hybrid nopatch
    int r = p != NULL;
    L->g->frealloc(L->g->ud, p, n, 0);
    return r;
}

// glib's copy of null is null.
char *g_strdup(const char *text) { return text ? strdup(text) : NULL; } // advise: declined it is returned
void g_free(void *p) { free(p); }

static int of_null(const char *text) {
    char *p = g_strdup(text); // advise: hybrid nopatch
    int r = p ? (int)strlen(p) : -1;
    g_free(p);
    return r;
}

static int resized(lua_State *L, int n) {
    char *p = L->g->frealloc(L->g->ud, NULL, 0, 8); // advise: declined it is resized
    if (!p) return -1;
    p[0] = n;
    char *q = L->g->frealloc(L->g->ud, p, 8, 16);
    if (!q) abort();
    n = q[0];
    L->g->frealloc(L->g->ud, q, 16, 0);
    return n;
}

// Whether the hook releases is not known.
static int perhaps_released(lua_State *L, size_t size) {
    char *p = L->g->frealloc(L->g->ud, NULL, 0, 8); // advise: declined it is resized
    if (!p) return -1;
    p[0] = 1;
    p = L->g->frealloc(L->g->ud, p, 8, size);
    int r = p != NULL;
    L->g->frealloc(L->g->ud, p, size, 0);
    return r;
}

static int releases;
static int counted(size_t n) { return (int)(releases += n); }

// What the release computes beside the object is still computed.
static int with_an_effect(lua_State *L, int n) {
    char *p = luaM_malloc_(L, 5, 4); // advise: stack nopatch
    p[0] = n;
    n = p[0];
    luaM_free_(L, p, counted(5));
    return n;
}

// Both sites change the one release, so one of them has a patch.
static int two_sites(int n) {
    char *p;
    if (n & 1)
        p = malloc(8); // advise: stack has:[8];
    else
        p = malloc(16); // advise: stack nopatch
    if (!p) return -1;
    p[0] = n;
    n = p[0];
    free(p);
    return n;
}

int main(void) {
    global_State g = { l_alloc, NULL };
    lua_State state = { &g };
    printf("%d %d\n", by_the_hook(&state, 5), by_functions(&state, 6));
    printf("%d %d %d\n", of_any_size(&state, 9), of_any_size(&state, 900), of_nothing(&state, 0) + of_nothing(&state, 99));
    printf("%d %d\n", resized(&state, 7), perhaps_released(&state, 0));
    printf("%d\n", of_nothing_by_a_function(&state, 0) + of_nothing_by_a_function(&state, 99));
    printf("%d %d\n", of_null("four"), of_null(NULL));
    int r = with_an_effect(&state, 8);
    printf("%d %d\n", r, releases);
    printf("%d %d\n", two_sites(3), two_sites(4));
    return 0;
}
