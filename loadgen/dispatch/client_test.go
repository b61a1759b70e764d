package dispatch_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// attempts runs one request against a target that plays a script for each attempt, the
// last one for all further ones, and tells what became of them, in order of number.
func attempts(t *testing.T, c dispatch.Client, plays ...script) ([]record.Request, *run) {
	t.Helper()
	l := clock.NewVirtual()
	f := newFake(l, nil)
	f.plays = func(r *target.Request) script { return plays[min(r.Attempt, len(plays)-1)] }
	r := prepare(t, l, &list{at: []clock.Time{10 * ms}}, fakeCanceler{f}, func(cfg *dispatch.Config) { cfg.Client = c }).play()
	rows := slices.Clone(r.rows)
	slices.SortFunc(rows, func(a, b record.Request) int { return int(a.Attempt - b.Attempt) })
	return rows, r
}

// fates is each row in a word: the outcome, with ! for the one that decides and h for
// a hedge.
func fates(rows []record.Request) string {
	var out []string
	for i := range rows {
		s := rows[i].Outcome.String()
		if rows[i].Hedge {
			s += "h"
		}
		if rows[i].Final {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestClient(t *testing.T) {
	msec := time.Millisecond
	good := script{First: 5 * msec, Gap: msec, Tokens: 3}
	slow := script{First: 500 * msec, Gap: msec, Tokens: 3}
	fails := script{First: msec, Status: 500}
	busy := script{First: msec, Status: 429, RetryAfter: 70 * msec}
	reset := script{First: msec, Cause: target.CauseReset}
	breaks := script{First: 5 * msec, Gap: msec, Tokens: 2, Cause: target.CauseReset}
	hangs := script{Hang: true, First: msec}
	retry := dispatch.Client{Retries: 2, Budget: 0.1}
	hedge := dispatch.Client{HedgeAfter: 20 * msec, Budget: 0.1}
	both := dispatch.Client{Retries: 2, HedgeAfter: 20 * msec, Budget: 0.1}
	tests := []struct {
		name   string
		client dispatch.Client
		plays  []script
		want   string
	}{
		{"none", dispatch.Client{}, []script{fails}, "http_5xx!"},
		{"not needed", both, []script{good}, "ok!"},
		{"second try", retry, []script{fails, good}, "http_5xx ok!"},
		{"third try", retry, []script{fails, reset, good}, "http_5xx reset ok!"},
		{"never", retry, []script{fails}, "http_5xx http_5xx http_5xx!"},
		{"nothing after the first token", retry, []script{breaks, good}, "reset!"},
		{"a bad request stays one", retry, []script{{First: msec, Status: 400}, good}, "http_4xx!"},
		{"hedge wins", hedge, []script{slow, good}, "canceled okh!"},
		{"hedge loses", hedge, []script{{First: 30 * msec, Gap: 20 * msec, Tokens: 3}, slow}, "ok! canceledh"},
		{"hedge fails", hedge, []script{{First: 60 * msec, Tokens: 1}, fails}, "ok! http_5xxh"},
		{"first fails, hedge carries on", hedge, []script{{First: 30 * msec, Status: 500}, {First: 60 * msec, Tokens: 2}}, "http_5xx okh!"},
		{"both fail", hedge, []script{{First: 30 * msec, Status: 500}}, "http_5xx http_5xxh!"},
		{"both fail, then a retry", both, []script{{First: 30 * msec, Status: 500}, {First: 30 * msec, Status: 500}, good}, "http_5xx http_5xxh ok!"},
		{"hedge breaks after its first token", both, []script{slow, breaks, good}, "canceled reseth!"},
		{"the drain ends", retry, []script{hangs}, "censored!"},
		{"the drain ends a wait", dispatch.Client{Retries: 1, Budget: 1, HonorRetryAfter: true}, []script{{First: msec, Status: 429, RetryAfter: time.Minute}}, "http_429 censored!"},
		{"no time for a retry", dispatch.Client{Retries: 1, Budget: 1, HonorRetryAfter: true, RequestTimeout: 60 * msec}, []script{busy, good}, "http_429!"},
		{"leaves by the clock", dispatch.Client{CancelRate: 1, CancelAfter: 6 * msec}, []script{good}, "canceled!"},
		{"leaves too late", dispatch.Client{CancelRate: 1, CancelAfter: 8 * msec}, []script{good}, "ok!"},
		{"leaves by tokens", dispatch.Client{CancelRate: 1, CancelTokens: 2}, []script{good}, "canceled!"},
		{"leaves before a retry", dispatch.Client{CancelRate: 1, CancelAfter: 6 * msec, Retries: 1, Budget: 1, HonorRetryAfter: true}, []script{busy}, "http_429 canceled!"},
		{"leaves both attempts", dispatch.Client{CancelRate: 1, CancelAfter: 60 * msec, HedgeAfter: 20 * msec, Budget: 1}, []script{slow}, "canceled canceledh!"},
		{"stays", dispatch.Client{CancelRate: 1e-9, CancelAfter: msec}, []script{good}, "ok!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows, r := attempts(t, tt.client, tt.plays...)
			if got := fates(rows); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if c := r.Counts(); c.InFlight != 0 || c.Scheduled != 1 || len(r.finished) != 1 {
				t.Errorf("%+v, finished %v", c, r.finished)
			}
		})
	}
}

// Latencies count from the intended time through all attempts; lateness does not.
func TestARetryCountsFromTheIntendedTime(t *testing.T) {
	rows, _ := attempts(t, dispatch.Client{Retries: 1, Budget: 1, HonorRetryAfter: true},
		script{First: time.Millisecond, Status: 429, RetryAfter: 500 * time.Millisecond}, script{First: 5 * time.Millisecond, Tokens: 1})
	r := rows[1]
	if r.Lag() != 0 || r.Prior() != int64(501*ms) || r.TTFT() != int64(506*ms) || r.Intended != 10*ms {
		t.Errorf("lag %d, prior %d, ttft %d, intended %v", r.Lag(), r.Prior(), r.TTFT(), r.Intended)
	}
	if rows[0].TraceID == r.TraceID || rows[0].SpanID == r.SpanID || r.RequestID != hex.EncodeToString(r.TraceID[:]) {
		t.Errorf("%x %x %s, then %x %x %s", rows[0].TraceID, rows[0].SpanID, rows[0].RequestID, r.TraceID, r.SpanID, r.RequestID)
	}
}

// A server in trouble gets no more than the budget's share on top, and ten attempts.
func TestBudgetBoundsTheLoad(t *testing.T) {
	for _, n := range []int{5, 100, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := clock.NewVirtual()
			f := newFake(l, always(script{First: time.Millisecond, Status: 503}))
			r := prepare(t, l, every(ms, n), f, func(c *dispatch.Config) {
				c.Client = dispatch.Client{Retries: 3, Budget: 0.1, Backoff: time.Millisecond}
			}).play()
			a := r.Attempts()
			if most := int64(float64(n)*1.1) + 10; a.Sent > most || a.Sent != int64(len(r.rows)) {
				t.Errorf("%d attempts and %d rows for %d requests, at most %d are allowed", a.Sent, len(r.rows), n, most)
			}
			if n >= 100 && (a.Denied == 0 || a.Sent < int64(float64(n)*1.09)) {
				t.Errorf("%+v: the budget is not used", a)
			}
		})
	}
}

// Hedging after a quantile adds about the share of requests beyond it, and no more as
// hedges make the slow ones fast.
func TestHedgingAfterAQuantile(t *testing.T) {
	const n = 4000
	l := clock.NewVirtual()
	f := newFake(l, nil)
	f.plays = func(r *target.Request) script {
		first := time.Duration(10+r.Seq*7919%100) * time.Millisecond // uniform over 10 to 109 ms
		if r.Attempt > 0 {
			first = time.Millisecond
		}
		return script{First: first, Tokens: 2, Gap: time.Millisecond}
	}
	r := prepare(t, l, every(10*ms, n), fakeCanceler{f}, func(c *dispatch.Config) {
		c.Client = dispatch.Client{HedgeQuantile: 0.95, Budget: 1}
	}).play()
	a := r.Attempts()
	if share := float64(a.Hedges) / n; share < 0.02 || share > 0.08 {
		t.Errorf("%.3f of the requests were hedged, want about 0.05", share)
	}
	if a.HedgesWon == 0 || a.HedgesWon > a.Hedges {
		t.Errorf("%+v", a)
	}
}

// TestConservationOfAttempts is invariant 1 under a client that does everything at
// once: each request has one row that decides it, each attempt has one row, and none is
// tried again after its first token.
func TestConservationOfAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := clock.NewVirtual()
		n := rapid.IntRange(1, 25).Draw(t, "n")
		plays := rapid.SliceOfN(scripts(), 1, 10).Draw(t, "scripts")
		c := dispatch.Client{
			Retries: rapid.IntRange(0, 3).Draw(t, "retries"), Budget: rapid.Float64Range(0.01, 2).Draw(t, "budget"),
			Backoff:    time.Duration(rapid.IntRange(1, 50).Draw(t, "backoff")) * time.Millisecond,
			HedgeAfter: time.Duration(rapid.IntRange(0, 40).Draw(t, "hedge")) * time.Millisecond,
			CancelRate: rapid.Float64Range(0, 1).Draw(t, "cancel"), CancelAfter: time.Duration(rapid.IntRange(1, 80).Draw(t, "after")) * time.Millisecond,
			CancelTokens: rapid.IntRange(0, 3).Draw(t, "tokens"), Seed: 3,
		}
		f := newFake(l, nil)
		tokens := map[uint64]clock.Time{}
		f.plays = func(r *target.Request) script {
			if at, seen := tokens[r.Seq]; seen {
				t.Fatalf("request %d is tried again, and had a token at %v", r.Seq, at)
			}
			s := plays[int(r.Seq+uint64(r.Attempt))%len(plays)]
			s.Strays = 0
			return s
		}
		var rows []record.Request
		var finished int
		var d *dispatch.Dispatcher
		d, err := dispatch.New(dispatch.Config{
			Loop: l, Source: every(7*ms, n), Set: items(100), Target: fakeCanceler{f}, Client: c,
			Drain: time.Duration(rapid.IntRange(0, 150).Draw(t, "drain")) * time.Millisecond,
			Record: func(r *record.Request) {
				rows = append(rows, kept(r))
				if r.FirstToken.Known() && !r.Final && r.Outcome != record.Canceled && r.Outcome != record.Censored {
					tokens[uint64(r.Seq)] = r.FirstToken
				}
				checkCausality(t, r)
			},
			Finished: func() { finished++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "interrupts") {
			l.At(clock.Time(100+40*i)*ms, clock.RankControl, do(func(clock.Time) { d.Interrupt() }))
		}
		l.At(90*ms, clock.RankSample, do(func(clock.Time) {
			k := d.Counts()
			if sum := k.Completed() + k.Failed() + k.Canceled() + k.Dropped() + k.Censored() + k.InFlight; sum != k.Scheduled {
				t.Fatalf("conservation: %+v", k)
			}
		}))
		d.Begin()
		l.Run()
		finals, numbers := map[int64]int{}, map[[2]int64]bool{}
		for i := range rows {
			r := &rows[i]
			if r.Final {
				finals[r.Seq]++
			}
			if id := [2]int64{r.Seq, int64(r.Attempt)}; numbers[id] {
				t.Fatalf("attempt %v has two rows", id)
			} else {
				numbers[id] = true
			}
		}
		k := d.Counts()
		if finished != 1 || k.InFlight != 0 || int64(len(finals)) != k.Scheduled {
			t.Fatalf("finished %d times, %+v, %d requests decided", finished, k, len(finals))
		}
		for seq, n := range finals {
			if n != 1 {
				t.Fatalf("request %d was decided %d times", seq, n)
			}
		}
		if a := d.Attempts(); int64(len(rows)) < a.Sent || float64(a.Retries+a.Hedges) > 10+c.Budget*float64(k.Scheduled) {
			t.Fatalf("%d rows, %+v", len(rows), a)
		}
	})
}

func TestClientIsChecked(t *testing.T) {
	tests := []struct {
		name   string
		client dispatch.Client
		want   string
	}{
		{"no budget", dispatch.Client{Retries: 1}, "budget"},
		{"too many", dispatch.Client{Retries: 1000, Budget: 1}, "1000 retries"},
		{"no time to leave", dispatch.Client{CancelRate: 0.5}, "not when"},
		{"cannot cancel", dispatch.Client{HedgeAfter: 1, Budget: 1}, "take a request back"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := clock.NewVirtual()
			_, err := dispatch.New(dispatch.Config{
				Loop: l, Source: every(ms, 1), Set: items(1), Target: newFake(l, nil), Client: tt.client,
				Record: func(*record.Request) {}, Finished: func() {},
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want something of %q", err, tt.want)
			}
		})
	}
}
