package record

// logRows appends rows to the write-ahead files, in the order of Write, and
// hands full batches on. It writes whatever has come since the last time, so
// that a row waits for at most one write to the disk.
func (w *Writer) logRows(log *walWriter) {
	defer close(w.full)
	segment := 1
	var todo []*batch
	for more := true; more; {
		_, more = <-w.wake
		w.mu.Lock()
		todo, w.sealed = w.sealed, todo[:0]
		cur, rows := w.cur, 0
		if cur != nil {
			rows = cur.n
		}
		w.mu.Unlock()
		for _, b := range todo {
			w.fail(w.appendRows(log, segment, b, b.n))
			if b.last {
				segment++
				w.fail(log.close())
			}
			w.full <- b
		}
		clear(todo)
		if cur != nil {
			w.fail(w.appendRows(log, segment, cur, rows))
		}
	}
	w.fail(log.close())
}

// appendRows logs the rows of b below n that are not logged yet.
func (w *Writer) appendRows(log *walWriter, segment int, b *batch, n int) error {
	rows := b.rows[b.logged:n]
	b.logged = n
	if len(rows) == 0 || w.Err() != nil {
		return nil
	}
	if log.out == nil {
		out, err := w.disk.create(segmentName(segment, walSuffix))
		if err != nil {
			return err
		}
		if err := log.open(out); err != nil {
			return err
		}
	}
	if err := log.append(rows); err != nil {
		return err
	}
	w.logged(int64(len(rows)))
	return nil
}

// logged counts rows that are safe from now on.
func (w *Writer) logged(n int64) {
	w.mu.Lock()
	w.counts.logged += n
	w.mu.Unlock()
}

// writeSegments turns batches into Parquet files and the latency log.
func (w *Writer) writeSegments(made *segments, seg *segment, log *latencyLog) {
	defer close(w.done)
	segment := 1
	for b := range w.full {
		if w.Err() == nil {
			w.fail(w.writeBatch(made, &seg, segment, b, log))
		}
		if b.last {
			segment++
		}
		w.recycle(b)
	}
	if w.Err() == nil && seg != nil {
		w.fail(w.finishSegment(seg, segment))
		seg = nil
	}
	if seg != nil {
		w.fail(seg.abandon())
	}
	w.fail(log.close())
	w.mu.Lock()
	w.counts.clamped = log.clamped
	w.mu.Unlock()
}

func (w *Writer) writeBatch(made *segments, seg **segment, n int, b *batch, log *latencyLog) error {
	if *seg == nil {
		s, err := made.create(n)
		if err != nil {
			return err
		}
		*seg = s
	}
	rows := b.rows[:b.n]
	safe := (*seg).safe()
	err := (*seg).add(rows)
	w.logged((*seg).safe() - safe)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := log.add(&rows[i], made.placed(i)); err != nil {
			return err
		}
	}
	if !b.last {
		return nil
	}
	s := *seg
	*seg = nil
	return w.finishSegment(s, n)
}

// finishSegment completes a Parquet file; only then is the write-ahead file of
// its rows of no more use.
func (w *Writer) finishSegment(s *segment, n int) error {
	safe := s.safe()
	f, err := s.finish()
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.man.Files = append(w.man.Files, f)
	w.mu.Unlock()
	if w.virtual {
		w.logged(f.Rows - safe)
		return nil
	}
	if f.Rows == 0 {
		return nil
	}
	return w.disk.remove(segmentName(n, walSuffix))
}

func (w *Writer) recycle(b *batch) {
	b.n, b.logged, b.last = 0, 0, false
	b.ints.reset()
	w.mu.Lock()
	w.free = append(w.free, b)
	w.mu.Unlock()
	w.room.Broadcast()
}

// fail stops the recording at the first error; the ones that follow from it are
// not kept.
func (w *Writer) fail(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
	}
	w.mu.Unlock()
	w.room.Broadcast()
	if first && w.cfg.onError != nil {
		w.cfg.onError(err)
	}
}
