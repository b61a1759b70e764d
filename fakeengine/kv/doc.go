// Package kv keeps the account of an engine's paged KV cache: fixed-size blocks
// with reference counts, a free list in order of last use, and a prefix index
// of chained hashes. It follows the block pool and cache manager of vLLM v1
// (rules R2, R10, R13 and R16 to R20 in the engine's tests).
//
// A block that others can find by its name is a node of the free list. All others
// are not written to at all: they go from table to table as numbers, through a
// ring, in the order in which they were freed.
//
// A pool may have a second tier in host memory, see Host.
//
// It holds no keys or values, decides nothing about scheduling, and knows no
// time. A Pool is used from one goroutine.
package kv
