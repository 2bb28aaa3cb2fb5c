#ifndef POWER_H
#define POWER_H
#define POWER_LIMIT 62
#endif
