/*
 * compat.h
 *		Differences between PostgreSQL versions, and nothing else.
 *
 * Built and tested on 15.
 */
#ifndef HYBRID_COMPAT_H
#define HYBRID_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "hybrid needs PostgreSQL 15 or later"
#endif

#endif
