package monitor

import "sync/atomic"

// ring hands values from one goroutine that puts to one that takes. Neither waits:
// what finds no room is lost and counted.
type ring[T any] struct {
	slots []T // a power of two
	put   atomic.Uint64
	taken atomic.Uint64
	lost  atomic.Int64
}

func newRing[T any](bits uint) ring[T] { return ring[T]{slots: make([]T, 1<<bits)} }

// next is the slot for the next value, which counts once done is called; nil: there
// is no room.
func (r *ring[T]) next() *T {
	n := r.put.Load()
	if n-r.taken.Load() == uint64(len(r.slots)) {
		r.lost.Add(1)
		return nil
	}
	return &r.slots[n&uint64(len(r.slots)-1)]
}

func (r *ring[T]) done() { r.put.Add(1) }

// drain calls f for all values that there are, in order. f must not keep the
// pointer.
func (r *ring[T]) drain(f func(*T)) {
	from, to := r.taken.Load(), r.put.Load()
	for ; from < to; from++ {
		f(&r.slots[from&uint64(len(r.slots)-1)])
		r.taken.Store(from + 1)
	}
}
