/* Terminals. */
#ifndef LEE_TERMIOS_H
#define LEE_TERMIOS_H

#include_next <termios.h>

trusted int tcgetattr(int fd, struct termios *settings);
trusted int tcsetattr(int fd, int when, const struct termios *settings);
trusted int tcflush(int fd, int queue);
trusted int tcdrain(int fd);
trusted void cfmakeraw(struct termios *settings);
trusted speed_t cfgetospeed(const struct termios *settings);
trusted int cfsetspeed(struct termios *settings, speed_t speed);

#endif
