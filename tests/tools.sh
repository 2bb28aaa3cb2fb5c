# Sourced by ./dev and the runners in bash: which C compilers there are, what else the tests need, and how a test is skipped.
#
# LEE_TEST_GCC, LEE_TEST_CLANG  a C compiler of each family; empty: there is none. LEE_TEST_CC: either
# LEE_SKIPS                     a file that gets a line for each skipped test: what it needs, its name, and `counted` if its runner
#                               counts it as passed nevertheless

# family NAME: gcc or clang, if there is such a compiler.
family() {
    command -v "$1" >/dev/null || return
    if "$1" --version 2>/dev/null | grep -qi clang; then echo clang; else echo gcc; fi
}

# compiler FAMILY NAME...: the first of them that is of the family.
compiler() {
    local wanted=$1 name
    shift
    for name; do [ "$(family "$name")" = "$wanted" ] && echo "$name" && return; done
}

if [ -z "${LEE_TEST_GCC+set}" ]; then LEE_TEST_GCC=$(compiler gcc gcc cc gcc-{20..10}); fi
if [ -z "${LEE_TEST_CLANG+set}" ]; then LEE_TEST_CLANG=$(compiler clang clang-19 clang cc clang-{25..14}); fi
LEE_TEST_CC=${LEE_TEST_GCC:-$LEE_TEST_CLANG}
export LEE_TEST_GCC LEE_TEST_CLANG LEE_TEST_CC

# The tools, each with the Debian package that brings it; `has` knows when it is there.
tools=(gcc:gcc clang:clang-19 sanitizers:libclang-rt-19-dev lld:lld-19 make:make cmake:cmake gdb:gdb valgrind:valgrind python3:python3
    zlib:zlib1g-dev sqlite:libsqlite3-dev words:wamerican chromium:chromium csmith:csmith csmith.h:libcsmith-dev matplotlib:python3-matplotlib
    aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64.h:libc6-dev-arm64-cross qemu-aarch64:qemu-user)

# sanitizes COMPILER [LIST]: whether it can build and run a program under the sanitizers.
sanitizes() {
    local program status
    [ -n "$1" ] || return 1
    program=$(mktemp) || return 1
    echo 'int main(void) { return 0; }' | "$1" "-fsanitize=${2:-address,undefined}" -x c - -o "$program" 2>/dev/null && "$program" 2>/dev/null
    status=$?
    rm -f "$program"
    return $status
}

# links_with_lld COMPILER: for link-time optimisation clang's own linker is needed.
links_with_lld() { echo 'int main(void) { return 0; }' | "$1" -fuse-ld=lld -x c - -o /dev/null 2>/dev/null; }

# header NAME: whether programs of C can include it.
header() { echo "#include <$1>" | "$LEE_TEST_CC" -E -x c - >/dev/null 2>&1; }

has() {
    case $1 in
        gcc) [ -n "$LEE_TEST_GCC" ] ;;
        clang) [ -n "$LEE_TEST_CLANG" ] ;;
        sanitizers) sanitizes "$LEE_TEST_CLANG" ;;
        lld) [ -z "$LEE_TEST_CLANG" ] || links_with_lld "$LEE_TEST_CLANG" ;;
        zlib) header zlib.h ;;
        sqlite) header sqlite3.h ;;
        words) [ -e /usr/share/dict/words ] ;;
        matplotlib) /usr/bin/python3 -c 'import matplotlib' 2>/dev/null ;;
        aarch64.h) [ -e /usr/aarch64-linux-gnu/include/stdio.h ] ;;
        csmith.h) [ -n "$(csmith_header)" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

csmith_header() {
    local folder
    for folder in /usr/include/csmith* /usr/local/include; do [ -e "$folder/csmith.h" ] && echo "$folder" && return; done
}

# skip TOOL TEST [counted]: notes that a test was not run for want of a tool.
skip() {
    if [ -n "${LEE_SKIPS-}" ]; then printf '%s\t%s\t%s\n' "$1" "$2" "${3-}" >>"$LEE_SKIPS"; else echo "skipped: $2 needs $1"; fi
}

# beside COMMAND...: runs it beside others, as many as there are processors. `wait` waits for all.
processors=$(nproc 2>/dev/null || echo 1)
beside() {
    while [ "$(jobs -rp | wc -l)" -ge "$processors" ]; do wait -n; done
    "$@" &
}
