package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkParts makes sure that the parts are those of one load, each there once and whole.
// It sorts them by index. With force it returns in words what is missing, instead of an
// error: of what can be left out honestly.
func checkParts(parts []*Run, force bool) (gaps []string, err error) {
	if len(parts) == 0 {
		return nil, errors.New("no runs to merge: name the directories of all parts")
	}
	for _, r := range parts {
		if r.Manifest.Shard == nil || r.Manifest.Shard.Of < 2 || r.Manifest.Shard.Index < 0 || r.Manifest.Shard.Index >= r.Manifest.Shard.Of {
			return nil, fmt.Errorf("%s is a whole run, no part of one: merge what goodput run --shard wrote", r.Dir)
		}
	}
	slices.SortStableFunc(parts, func(a, b *Run) int { return a.Manifest.Shard.Index - b.Manifest.Shard.Index })
	first := parts[0]
	for i, r := range parts {
		if err := sameLoad(first, r); err != nil {
			return nil, err
		}
		if i > 0 && r.Manifest.Shard.Index == parts[i-1].Manifest.Shard.Index {
			return nil, fmt.Errorf("%s and %s are both shard %d of %d: its requests would count twice; leave out one of the two", parts[i-1].Dir, r.Dir, r.Manifest.Shard.Index, r.Manifest.Shard.Of)
		}
		if m := &r.Manifest; m.State != Complete || m.Problem != "" {
			gaps = append(gaps, fmt.Sprintf("shard %d (%s) is %s", m.Shard.Index, r.Dir, strings.TrimSpace(string(m.State)+" "+m.Problem)))
		}
	}
	if missing := absent(parts); len(missing) > 0 {
		gaps = append(gaps, fmt.Sprintf("of %d shards %s missing", first.Manifest.Shard.Of, areMissing(missing)))
	}
	if len(gaps) > 0 && !force {
		return nil, fmt.Errorf("%s: a part of the load would be missing; run it again, or merge what there is with --force, as an invalid run", strings.Join(gaps, "; "))
	}
	return gaps, nil
}

// sameLoad compares what two parts of one load have in common.
func sameLoad(a, b *Run) error {
	m, n := &a.Manifest, &b.Manifest
	differ := func(what string, x, y any, hint string) error {
		return fmt.Errorf("%s and %s are no parts of one load: %s is %v in one and %v in the other; %s", a.Dir, b.Dir, what, x, y, hint)
	}
	const again = "give all parts the same flags"
	switch {
	case m.Shard.Of != n.Shard.Of:
		return differ("the number of shards", m.Shard.Of, n.Shard.Of, again)
	case m.PlanHash != n.PlanHash:
		return differ("the plan", m.PlanHash, n.PlanHash, again)
	case m.Seed != n.Seed:
		return differ("the seed", m.Seed, n.Seed, again)
	case m.Virtual || n.Virtual:
		return fmt.Errorf("%s is a run in virtual time, which has no parts: merge runs against a server", a.Dir)
	case !m.epoch().Equal(n.epoch()):
		return differ("the start", m.epoch().Format(stampFormat), n.epoch().Format(stampFormat), "give all parts the same --start-at")
	case m.RunID != n.RunID:
		return differ("the run's id", m.RunID, n.RunID, again)
	case m.Version != n.Version:
		return differ("the version of goodput", m.Version, n.Version, "the schedule is that of a version: run all parts with the same one")
	case m.Target[TargetModel] != n.Target[TargetModel]:
		return differ("the server's model", m.Target[TargetModel], n.Target[TargetModel], "name it with --model")
	}
	return nil
}

const stampFormat = "2006-01-02T15:04:05.000000Z07:00"

// absent are the indices that no part has.
func absent(parts []*Run) []string {
	var out []string
	for i := range parts[0].Manifest.Shard.Of {
		if !slices.ContainsFunc(parts, func(r *Run) bool { return r.Manifest.Shard.Index == i }) {
			out = append(out, fmt.Sprint(i))
		}
	}
	return out
}

func areMissing(list []string) string {
	const most = 8
	verb := "are"
	if len(list) == 1 {
		verb = "is"
	}
	if n := len(list); n > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(list, ", ") + " " + verb
}

// ledger counts the requests of all parts, to see that each planned one is there once.
type ledger struct {
	of       int
	pages    map[int64]*[1 << 10]uint64 // seen numbers, 65,536 to a page
	warm     extent
	measured extent
	sessions map[string]int // part by id
	lost     int64          // rows that the parts themselves know to have lost
}

// extent is a set of numbers.
type extent struct{ first, last, n int64 }

func (e *extent) add(seq int64) {
	if e.n == 0 {
		e.first, e.last = seq, seq
	}
	e.first, e.last = min(e.first, seq), max(e.last, seq)
	e.n++
}

// holes is how many numbers between the first and the last are missing. A measured
// schedule begins at 0.
func (e *extent) holes() int64 {
	if e.n == 0 {
		return 0
	}
	return e.last - e.first + 1 - e.n
}

// take reads the numbers of a part.
func (l *ledger) take(r *Run) error {
	shard := r.Manifest.Shard
	l.lost += r.Manifest.Counters[CounterDropped] + r.Manifest.Counters[CounterLost]
	rows := int64(0)
	err := r.Requests(func(q *Request) error {
		if int(q.Shard) != shard.Index || q.Seq < 0 || q.Seq%int64(l.of) != int64(shard.Index) {
			return fmt.Errorf("request %d is recorded as of shard %d, and the plan gives it to shard %d of %d: the files of two runs are mixed up", q.Seq, q.Shard, ((q.Seq%int64(l.of))+int64(l.of))%int64(l.of), l.of)
		}
		if !q.Final {
			return nil
		}
		rows++
		if !l.see(q.Seq) {
			return fmt.Errorf("request %d is there twice: it would count twice", q.Seq)
		}
		if q.Phase == Warmup {
			l.warm.add(q.Seq)
		} else {
			l.measured.add(q.Seq)
		}
		return nil
	}, Columns("seq", "shard", "final", "phase"))
	if err != nil {
		return fmt.Errorf("%s: %w", r.Dir, err)
	}
	if c := r.Manifest.Counts; c != nil && rows+r.Manifest.Counters[CounterDropped]+r.Manifest.Counters[CounterLost] < c.Scheduled {
		return fmt.Errorf("%s: %d requests were scheduled, and %d have a row: copy the whole directory", r.Dir, c.Scheduled, rows)
	}
	_, err = r.Sessions(func(s *Session) error {
		if i, twice := l.sessions[s.SessionID]; twice {
			return fmt.Errorf("session %s is in shard %d, too: it would count twice", s.SessionID, i)
		}
		l.sessions[s.SessionID] = shard.Index
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.Dir, err)
	}
	return nil
}

// see notes a number; false: it was there already.
func (l *ledger) see(seq int64) bool {
	p := l.pages[seq>>16]
	if p == nil {
		p = new([1 << 10]uint64)
		l.pages[seq>>16] = p
	}
	word, bit := &p[seq>>6&(1<<10-1)], uint64(1)<<(seq&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// balance says what is missing of the schedule of single requests, whose numbers follow
// on each other; "": nothing but rows that the parts know to have lost. Numbers of the
// steps of sessions depend on when these were sent.
func (l *ledger) balance() string {
	if len(l.sessions) > 0 {
		return ""
	}
	holes := l.warm.holes() + l.measured.holes()
	if l.measured.n > 0 {
		holes += l.measured.first
	}
	if holes <= l.lost {
		return ""
	}
	return fmt.Sprintf("%d requests of the schedule are in none of the parts", holes-l.lost)
}
