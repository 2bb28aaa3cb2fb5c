/* The words of Leeward, for C compilers: a header that includes this and uses them is read by both. To Leeward this
 * header is empty. Include it after the headers of others: to a C compiler these words are macros from then on.
 *
 * Where `lee` itself reads a `.c` file, the words are attributes: structs have their right layout
 * there, and a use of a `fat` pointer, which is three words in Leeward, is an error. To any other C
 * compiler they are nothing, so headers that such a compiler reads have no `fat`. `generic` declares
 * no C at all. A struct that both read stands in `extern "C"` if it has a `void *`. */
#ifndef LEE_COMPAT_H
#define LEE_COMPAT_H

#ifndef __LEEWARD__

#ifdef __LEEWARD_READS_C__
#define nonnull __attribute__((lee_nonnull))
#define null_terminated __attribute__((lee_null_terminated))
#define counted_by(e) __attribute__((lee_counted_by(e)))
#define tagged_by(e) __attribute__((lee_tagged_by(e)))
#define fat __attribute__((lee_fat))
#define unique __attribute__((lee_unique))
#define rc __attribute__((lee_rc))
#define view __attribute__((lee_view))
#define any __attribute__((lee_any))
#define consume __attribute__((lee_consume))
#define trusted __attribute__((lee_trusted))
#else
#define nonnull
#define null_terminated
#define counted_by(e)
#define tagged_by(e)
#define fat
#define unique
#define rc
#define view
#define any
#define consume
#define trusted
#endif
#define unsafe

#ifndef lengthof
#define lengthof(a) (sizeof(a) / sizeof((a)[0]))
#endif

#endif

#endif
