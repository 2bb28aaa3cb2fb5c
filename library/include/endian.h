/* Byte orders, as expressions: glibc's are inline functions, which would be foreign. */
#ifndef LEE_ENDIAN_H
#define LEE_ENDIAN_H

#define LITTLE_ENDIAN 1234
#define BIG_ENDIAN 4321
#define PDP_ENDIAN 3412
#define BYTE_ORDER __BYTE_ORDER__
#ifndef __LITTLE_ENDIAN
#define __LITTLE_ENDIAN 1234
#define __BIG_ENDIAN 4321
#define __PDP_ENDIAN 3412
#define __BYTE_ORDER __BYTE_ORDER__
#define __FLOAT_WORD_ORDER __BYTE_ORDER
#endif

#if __BYTE_ORDER__ == 1234
#define htobe16(x) __builtin_bswap16(x)
#define htobe32(x) __builtin_bswap32(x)
#define htobe64(x) __builtin_bswap64(x)
#define htole16(x) ((unsigned short)(x))
#define htole32(x) ((unsigned)(x))
#define htole64(x) ((unsigned long)(x))
#else
#define htobe16(x) ((unsigned short)(x))
#define htobe32(x) ((unsigned)(x))
#define htobe64(x) ((unsigned long)(x))
#define htole16(x) __builtin_bswap16(x)
#define htole32(x) __builtin_bswap32(x)
#define htole64(x) __builtin_bswap64(x)
#endif
#define be16toh(x) htobe16(x)
#define be32toh(x) htobe32(x)
#define be64toh(x) htobe64(x)
#define le16toh(x) htole16(x)
#define le32toh(x) htole32(x)
#define le64toh(x) htole64(x)

#endif
