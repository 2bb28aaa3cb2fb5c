/* Kinds of wide characters. */
#ifndef LEE_WCTYPE_H
#define LEE_WCTYPE_H

#include_next <wctype.h>

[[lee::leaf]] trusted int iswalnum(wint_t c);
[[lee::leaf]] trusted int iswalpha(wint_t c);
[[lee::leaf]] trusted int iswblank(wint_t c);
[[lee::leaf]] trusted int iswcntrl(wint_t c);
[[lee::leaf]] trusted int iswdigit(wint_t c);
[[lee::leaf]] trusted int iswgraph(wint_t c);
[[lee::leaf]] trusted int iswlower(wint_t c);
[[lee::leaf]] trusted int iswprint(wint_t c);
[[lee::leaf]] trusted int iswpunct(wint_t c);
[[lee::leaf]] trusted int iswspace(wint_t c);
[[lee::leaf]] trusted int iswupper(wint_t c);
[[lee::leaf]] trusted int iswxdigit(wint_t c);
[[lee::leaf]] trusted wint_t towlower(wint_t c);
[[lee::leaf]] trusted wint_t towupper(wint_t c);

#endif
