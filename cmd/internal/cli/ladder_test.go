package cli

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestLadder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1, 1e7).Draw(t, "limit")
		asked := 0
		l := ladder{from: 1000, least: 100, most: 1e6, near: 1.1, over: func() bool { return false }}
		l.holds = func(rate float64) (bool, error) {
			if asked++; rate < l.least || rate > l.most {
				t.Fatalf("asked for %v", rate)
			}
			return rate <= limit, nil
		}
		got, err := l.climb()
		switch {
		case err != nil:
			t.Fatal(err)
		case limit < l.least && got != 0, limit >= l.most && got != l.most:
			t.Fatalf("got %v for the limit %v", got, limit)
		case limit >= l.least && limit < l.most && !(got <= limit && got*l.near >= limit):
			t.Fatalf("got %v for the limit %v", got, limit)
		}
		if asked > 16 {
			t.Fatalf("%d runs", asked)
		}
	})
}

func TestLadderStopsInTime(t *testing.T) {
	asked := 0
	l := ladder{from: 1000, least: 100, most: 1e6, near: 1.1, over: func() bool { return true }}
	l.holds = func(rate float64) (bool, error) { asked++; return rate < 3000, nil }
	if got, err := l.climb(); got != 2000 || err != nil || asked != 3 {
		t.Errorf("%v, %v after %d runs", got, err, asked)
	}
	broken := errors.New("broken")
	l.holds = func(rate float64) (bool, error) { return rate < 3000, broken }
	if _, err := l.climb(); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
