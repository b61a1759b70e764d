package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"goodput/loadgen/clock"
)

// CounterSamplesTwice counts samples of engines that a merged run leaves out, because
// another part sampled the same replica.
const CounterSamplesTwice = "engine_samples_of_other_shards"

// Merge describes a run that is to be made of its parts.
type Merge struct {
	// Dir is the new run's directory.
	Dir string
	// Parts are the runs of all shards, in any order, and Notes what is to be kept of
	// each, in the same order.
	Parts []*Run
	Notes []MergedShard
	// Files are put into the directory by name, such as plan.yaml.
	Files map[string][]byte
	// Force merges parts of which something is missing. The run then says so in its
	// Problem. What is there twice, or is of another plan, is an error all the same.
	Force bool
}

// Merged is what a merge has put together.
type Merged struct {
	Rows, Sessions, Spans, Samples int64
	// Problem says what is missing; empty: nothing.
	Problem string

	sampledTwice int64
}

// Run checks the parts and writes the merged run: rows in the order in which they ended,
// the histograms of all of them, sessions, spans, and of each replica the samples that
// the first part has. The times of all parts count from their common epoch. It is an
// error if a planned request is in no part, in two, or in one whose own it is not.
func (m *Merge) Run() (Merged, error) {
	var out Merged
	notes := map[string]MergedShard{}
	for i, n := range m.Notes {
		notes[m.Parts[i].Dir] = n
	}
	gaps, err := checkParts(m.Parts, m.Force)
	if err != nil {
		return out, fmt.Errorf("merge: %w", err)
	}
	if gaps, err = m.conserve(gaps); err != nil {
		return out, fmt.Errorf("merge: %w", err)
	}
	out.Problem = strings.Join(gaps, "; ")
	first := &m.Parts[0].Manifest
	w, err := Create(m.Dir, m.meta(), Blocking())
	if err != nil {
		return out, err
	}
	err = m.copy(w, &out)
	f := m.final(&out)
	for _, r := range m.Parts {
		if n, ok := notes[r.Dir]; ok {
			n.Shard, n.Started, n.Counts, n.Generator = *r.Manifest.Shard, r.Manifest.Started, r.Manifest.Counts, r.Manifest.Generator
			f.Shards = append(f.Shards, n)
		}
	}
	if err != nil {
		f.State, f.Problem = Interrupted, fmt.Sprintf("the merge broke off: %v", err)
	}
	w.mu.Lock()
	w.ended = [NumOutcomes]int64{} // of all requests, also those whose rows were lost
	for _, r := range m.Parts {
		for o := range w.ended {
			w.ended[o] += r.Manifest.Outcomes[Outcome(o).String()]
		}
	}
	w.mu.Unlock()
	if err = errors.Join(err, w.Close(f)); err != nil {
		return out, fmt.Errorf("merge run %s into %s: %w", first.RunID, m.Dir, err)
	}
	return out, nil
}

// conserve makes sure that each planned request is in exactly one part.
func (m *Merge) conserve(gaps []string) ([]string, error) {
	l := ledger{of: m.Parts[0].Manifest.Shard.Of, pages: map[int64]*[1 << 10]uint64{}, sessions: map[string]int{}}
	for _, r := range m.Parts {
		if err := l.take(r); err != nil {
			return gaps, err
		}
	}
	hole := l.balance()
	switch {
	case hole == "":
	case m.Force:
		gaps = append(gaps, hole)
	default:
		return gaps, errors.New(hole + ": copy the whole directories, or merge what there is with --force, as an invalid run")
	}
	return gaps, nil
}

// meta is what the merged run has from its parts.
func (m *Merge) meta() Meta {
	x := &m.Parts[0].Manifest
	out := Meta{
		RunID: x.RunID, PlanHash: x.PlanHash, Seed: x.Seed, Version: x.Version, Epoch: x.epoch(),
		Arms: x.Arms, Load: x.Load, Target: x.Target, Dataset: x.Dataset,
	}
	for _, r := range m.Parts {
		if t, err := time.Parse(time.RFC3339Nano, r.Manifest.Started); err == nil && (out.Started.IsZero() || t.Before(out.Started)) {
			out.Started = t
		}
	}
	return out
}

// final is the account of all parts together.
func (m *Merge) final(out *Merged) Final {
	f := Final{State: Complete, Problem: out.Problem, EndedAt: clock.Never, Counters: map[string]int64{}, Counts: &Counts{}}
	if out.Problem != "" {
		f.State = Interrupted
	}
	for _, r := range m.Parts {
		x := &r.Manifest
		if x.Counts == nil {
			f.Counts = nil // that of the whole is not known
		}
		if f.Counts != nil {
			f.Counts.add(x.Counts)
		}
		if w := x.Window; w != nil {
			if f.Window == nil {
				f.Window = &Window{Start: w.Start, End: w.End}
			}
			f.Window.Start, f.Window.End = min(f.Window.Start, w.Start), max(f.Window.End, w.End)
		}
		f.Events = append(f.Events, x.Events...)
		for name, n := range x.Counters {
			f.Counters[name] += n
		}
		for _, a := range x.Anchors {
			if t, err := time.Parse(time.RFC3339Nano, a.Wall); err == nil && a.At > 0 && t.After(f.Ended) {
				f.Ended, f.EndedAt = t, a.At
			}
		}
	}
	if twice := out.sampledTwice; twice > 0 {
		f.Counters[CounterSamplesTwice] += twice
	}
	return f
}

func (c *Counts) add(o *Counts) {
	c.Scheduled += o.Scheduled
	c.Completed += o.Completed
	c.Failed += o.Failed
	c.Dropped += o.Dropped
	c.Censored += o.Censored
	c.Canceled += o.Canceled
}
