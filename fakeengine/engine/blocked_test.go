package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A blocked sequence is passed by those behind it, and comes before them again
// when it is not blocked any more (R9).
func TestBlockedSequencesArePassed(t *testing.T) {
	for _, policy := range []Policy{FCFS, Priority} {
		cfg := small()
		cfg.MaxNumSeqs, cfg.Policy = 1, policy
		l := newLab(t, cfg)
		l.submit(0, 4, 3)      // until 3 ms
		b := l.submit(0, 4, 2) // blocked from 1.5 to 4.5 ms
		l.submit(0, 4, 2)
		l.submit(0, 4, 1)
		l.at(3*ms/2, func() {
			l.e.block(b, l.loop.Now())
			if got := l.e.Stats().Waiting; got != 3 {
				t.Errorf("%v: %d wait, want 3: blocked ones are among them", policy, got)
			}
		})
		l.at(9*ms/2, func() { l.e.unblock(b, l.loop.Now()) })
		l.wantSteps("1:4", "1:5", "1:6", "3:4", "3:5", "2:4", "2:5", "4:4")
		want := Spent{QueueNS: 2e6, PrefillNS: 1e6, DecodeNS: 1e6, TransferNS: 3e6}
		if diff := cmp.Diff(want, b.Spent); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// What is unblocked wakes an engine that has nothing else to do, and takes its
// old turn among others that were.
func TestUnblockedSequencesWakeTheEngine(t *testing.T) {
	cfg := small()
	cfg.MaxNumSeqs = 1
	l := newLab(t, cfg)
	l.submit(0, 4, 1)
	a, b := l.submit(0, 4, 1), l.submit(0, 4, 1)
	l.at(ms/2, func() { l.e.block(b, l.loop.Now()) })
	l.at(ms/2, func() { l.e.block(a, l.loop.Now()) })
	l.at(5*ms, func() {
		l.e.unblock(b, l.loop.Now())
		l.e.unblock(a, l.loop.Now())
	})
	l.loop.Run()
	want := []string{"1 token 1 at 1", "1 length at 1", "2 token 1 at 6", "2 length at 6", "3 token 1 at 7", "3 length at 7"}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAbortOfABlockedSequence(t *testing.T) {
	cfg := small()
	cfg.MaxNumSeqs = 1
	l := newLab(t, cfg)
	l.submit(0, 4, 3)
	s := l.submit(0, 4, 1)
	l.at(3*ms/2, func() { l.e.block(s, l.loop.Now()) })
	l.at(2*ms, func() { l.e.Abort(s) })
	l.loop.Run()
	if diff := cmp.Diff(Spent{QueueNS: 15e5, TransferNS: 5e5}, s.Spent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := l.e.Stats(); got.Waiting != 0 || got.Aborted != 1 {
		t.Errorf("%+v, want none waiting and one aborted", got)
	}
}
