/* The words of Leeward, for C compilers: a header that includes this and uses them is read by both. To Leeward this
 * header is empty. Include it after the headers of others: to a C compiler these words are macros from then on.
 *
 * A `fat` pointer is three words in Leeward and `generic` declares no C at all: neither belongs in a signature that
 * both read. A struct that both read stands in `extern "C"`, has thin pointers, and its bounds from counted_by. */
#ifndef LEE_COMPAT_H
#define LEE_COMPAT_H

#ifndef __LEEWARD__

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
#define unsafe

#ifndef lengthof
#define lengthof(a) (sizeof(a) / sizeof((a)[0]))
#endif

#endif

#endif
