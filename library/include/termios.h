/* Terminals. */
#ifndef LEE_TERMIOS_H
#define LEE_TERMIOS_H

#include_next <termios.h>

trusted int tcgetattr(int fd, struct termios *settings) __asm__("lee_tcgetattr");
trusted int tcsetattr(int fd, int when, const struct termios *settings) __asm__("lee_tcsetattr");
trusted int tcflush(int fd, int queue) __asm__("lee_tcflush");
trusted int tcdrain(int fd) __asm__("lee_tcdrain");
trusted int tcflow(int fd, int action) __asm__("lee_tcflow");
trusted int tcsendbreak(int fd, int duration) __asm__("lee_tcsendbreak");
trusted void cfmakeraw(struct termios *settings);
trusted speed_t cfgetospeed(const struct termios *settings);
trusted speed_t cfgetispeed(const struct termios *settings);
trusted int cfsetispeed(struct termios *settings, speed_t speed);
trusted int cfsetospeed(struct termios *settings, speed_t speed);
trusted int cfsetspeed(struct termios *settings, speed_t speed);

#endif
