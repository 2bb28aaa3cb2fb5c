/* Messages in the program's own words: the locale is always "C". The functions are macros, so that
 * a format stays a literal and its arguments are checked. */
#ifndef LEE_LIBINTL_H
#define LEE_LIBINTL_H

#define gettext(message) (message)
#define dgettext(domain, message) ((void)(domain), (message))
#define dcgettext(domain, message, category) ((void)(domain), (void)(category), (message))
#define ngettext(one, more, n) ((n) == 1 ? (one) : (more))
#define dngettext(domain, one, more, n) ((void)(domain), (n) == 1 ? (one) : (more))
#define textdomain(domain) ((void)(domain))
#define bindtextdomain(domain, folder) ((void)(domain), (void)(folder))
#define bind_textdomain_codeset(domain, codes) ((void)(domain), (void)(codes))

#endif
