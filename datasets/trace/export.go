package trace

import (
	"fmt"
	"io"
	"strconv"

	"goodput/datasets"
)

// Export writes the first n items of the set (at most all) in our own format, as
// planned rows: read as a flat set, they are the same items, bit for bit. Times are
// written if the set has them. An item that does not fit is an error.
func Export(w io.Writer, set datasets.Set, n int) error {
	out, err := newNativeWriter(w, planned(set, true))
	if err != nil {
		return err
	}
	var it datasets.Item
	for i := range min(n, set.Len()) {
		set.Item(i, &it)
		if err := fits(it.Prompt, 0, it.In, it.Out); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if it.Quoted {
			return fmt.Errorf("item %d: later items quote the server's answer to it, which %s can't hold", i, Native)
		}
		if it.Session == 0 && it.Turn > 0 {
			return fmt.Errorf("item %d: it is turn %d of no session", i, it.Turn)
		}
		r := Row{
			At: int64(it.At), In: it.In, Out: it.Out, Append: it.Prompt, Parent: -1, Spawn: -1, Join: -1,
			OutKey: it.OutKey, Prefix: it.Prefix, Conversation: it.Session, Turn: it.Turn,
		}
		if err := out.write(&r); err != nil {
			return err
		}
	}
	return out.flush()
}

// ExportSessions writes the sessions of the set in our own format, as planned rows:
// read as Sessions, they are the same ones with numbers from 1. Arrivals are written
// if the set is Timed; recorded times of steps are not, which their waits stand for.
// A session that is under way, or does not fit, is an error.
func ExportSessions(w io.Writer, set datasets.SessionSet) error {
	out, err := newNativeWriter(w, planned(set, false))
	if err != nil {
		return err
	}
	var s datasets.Session
	for i := range set.Sessions() {
		set.Session(i, &s)
		if s.Underway {
			return fmt.Errorf("session %d: it is under way when the run begins, which %s can't hold", i, Native)
		}
		for k := range s.Threads {
			if err := out.thread(&s, k, strconv.Itoa(i+1)); err != nil {
				return fmt.Errorf("session %d, thread %d: %w", i, k, err)
			}
		}
	}
	return out.flush()
}

// thread writes the steps of thread k of a session.
func (n *nativeWriter) thread(s *datasets.Session, k int, name string) error {
	t := &s.Threads[k]
	if len(t.Steps) == 0 {
		return fmt.Errorf("it has no steps, which %s can't hold", Native)
	}
	for i := range t.Steps {
		st := &t.Steps[i]
		if err := fits(st.Append, st.Keep, st.In, st.Out); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		r := Row{
			At: int64(s.At), In: st.In, Out: st.Out, Keep: st.Keep, Append: st.Append,
			Session: name, Thread: k, Parent: t.Parent, Spawn: t.Spawn, Join: t.Join,
			Before: st.Wait, Trigger: st.Trigger, Tenant: s.Tenant,
			OutKey: st.OutKey, Reasoning: st.Reasoning, Name: s.Name,
		}
		if err := n.write(&r); err != nil {
			return err
		}
	}
	return nil
}

// planned are the traits of an exported set. Those that only some sets have are asked
// for: whether it has times, whether it knows which prompts begin alike, and whether
// it is of a file whose lengths are estimates.
func planned(set any, recorded bool) Traits {
	t := Traits{Waits: true, Identified: true, Planned: true}
	if x, ok := set.(interface{ Timed() bool }); ok {
		t.Timed = x.Timed()
	}
	t.Recorded = recorded && t.Timed
	if x, ok := set.(interface{ PrefixesUnknown() bool }); ok {
		t.Identified = !x.PrefixesUnknown()
	}
	switch x := set.(type) {
	case *Table:
		t.Estimated = x.traits.Estimated
	case interface{ Trace() *Table }:
		t.Estimated = x.Trace().traits.Estimated
	}
	return t
}

// fits tests what a reader will.
func fits(spans []datasets.Span, keep, in, out int) error {
	sum := keep
	for _, s := range spans {
		sum += s.Tokens
	}
	switch {
	case in < 1 || in > datasets.MaxTokens || out < 1 || out > datasets.MaxTokens:
		return fmt.Errorf("%d tokens in and %d out: %s holds 1 to %d of each", in, out, Native, datasets.MaxTokens)
	case sum != in:
		return fmt.Errorf("its content has %d tokens and its prompt %d", sum, in)
	}
	return nil
}
