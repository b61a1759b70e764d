package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"goodput/loadgen/record"
)

// Scope restricts figures to the requests whose label has a value. The labels are
// class, tenant, replica and, of a run with several, arm; and phase, without which only
// requests that were due in the window count. Probes are in no figures but those of their
// class.
type Scope struct{ Label, Value string }

// ofProbes reports whether the scopes are those of the probes.
func ofProbes(scopes []Scope) bool {
	return slices.Contains(scopes, Scope{"class", record.ProbeClass})
}

// labelOf reads the labels.
var labelOf = map[string]func(*record.Request) string{
	"phase":   func(r *record.Request) string { return r.Phase.String() },
	"arm":     func(r *record.Request) string { return r.Arm },
	"class":   func(r *record.Request) string { return r.Class },
	"tenant":  func(r *record.Request) string { return r.Tenant },
	"replica": func(r *record.Request) string { return r.Replica },
}

// ErrEmpty is that of scopes in which a run has no request.
var ErrEmpty = errors.New("no request is in scope")

// emptyScope is ErrEmpty in words.
type emptyScope string

func (e emptyScope) Error() string     { return string(e) }
func (e emptyScope) Is(err error) bool { return err == ErrEmpty }

// mostSeen bounds the values of a label that an error names.
const mostSeen = 8

// filter lets through the rows that are in all scopes.
type filter struct {
	scopes []Scope
	seen   [][]string // per scope, the values of the rows
	passed int64
	phase  record.Phase // that count
}

// newFilter returns an error for a label that rows do not have.
func newFilter(scopes []Scope) (*filter, error) {
	f := &filter{scopes: scopes, seen: make([][]string, len(scopes)), phase: record.Measure}
	for _, s := range scopes {
		if labelOf[s.Label] == nil {
			return nil, fmt.Errorf("{%s=%s}: the requests of a run have no column %s: use class, tenant, replica, phase or arm", s.Label, s.Value, s.Label)
		}
		for _, p := range [...]record.Phase{record.Warmup, record.Drain} {
			if s.Label == "phase" && s.Value == p.String() {
				f.phase = p
			}
		}
	}
	return f, nil
}

// pass reports whether the row counts.
func (f *filter) pass(r *record.Request) bool {
	in := true
	for i, s := range f.scopes {
		v := labelOf[s.Label](r)
		in = in && v == s.Value
		if v != "" && len(f.seen[i]) < mostSeen && !slices.Contains(f.seen[i], v) {
			f.seen[i] = append(f.seen[i], strings.Clone(v))
		}
	}
	if in {
		f.passed++
	}
	return in
}

// check returns an error if no row was in scope, which says what there is.
func (f *filter) check(dir string) error {
	if f.passed > 0 || len(f.scopes) == 0 {
		return nil
	}
	for i, s := range f.scopes {
		switch {
		case len(f.seen[i]) == 0:
			return emptyScope(fmt.Sprintf("{%s=%s}: no request of %s has a %s: leave the scope out", s.Label, s.Value, dir, s.Label))
		case !slices.Contains(f.seen[i], s.Value):
			slices.Sort(f.seen[i])
			return emptyScope(fmt.Sprintf("{%s=%s}: no request of %s has this %s; there are %s", s.Label, s.Value, dir, s.Label, strings.Join(f.seen[i], ", ")))
		}
	}
	return emptyScope(fmt.Sprintf("no request of %s is in all scopes at once", dir))
}
