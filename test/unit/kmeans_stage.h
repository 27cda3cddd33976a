/*
 * kmeans_stage.h
 *		What the tests of clusters and of halves share.
 */
#ifndef HY_KMEANS_STAGE_H
#define HY_KMEANS_STAGE_H

#include "unit.h"

#include "core/kmeans.h"
#include "rows.h"

#define DIMS 20

#endif
