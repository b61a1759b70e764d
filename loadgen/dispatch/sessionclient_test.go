package dispatch_test

import (
	stdcmp "cmp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// A step of a session is over when its request is, whichever attempt decides: the next
// one is due that much later, and none is sent twice.
func TestSessionsWithAttempts(t *testing.T) {
	msec := time.Millisecond
	good := script{First: 100 * msec, Gap: 10 * msec, Tokens: 2}
	fails := script{First: 40 * msec, Status: 500}
	slow := script{First: 5 * time.Second, Gap: msec, Tokens: 2}
	retry := dispatch.Client{Retries: 1, Budget: 1, Backoff: 1}
	hedge := dispatch.Client{HedgeAfter: 50 * msec, Budget: 1}
	tests := []struct {
		name   string
		client dispatch.Client
		second []script // the attempts at the second step
		due    []clock.Time
		fates  string
		want   record.Session
	}{
		{
			"not needed", retry,
			[]script{good},
			[]clock.Time{0, 110 * ms, 220 * ms},
			"ok! ok! ok!",
			record.Session{StepsOK: 3, ModelTime: 330e6},
		},
		{
			"a retry is part of its step", retry,
			[]script{fails, good},
			[]clock.Time{0, 110 * ms, 110 * ms, 260 * ms},
			"ok! http_5xx ok! ok!",
			record.Session{StepsOK: 3, ModelTime: 370e6},
		},
		{
			"no retry is left", retry,
			[]script{fails},
			[]clock.Time{0, 110 * ms, 110 * ms},
			"ok! http_5xx http_5xx!",
			record.Session{Outcome: record.SessionFailed, StepsOK: 1, StepsFailed: 1, StepsUnsent: 1},
		},
		{
			"the hedge's end is the step's", hedge,
			[]script{slow, good},
			[]clock.Time{0, 110 * ms, 110 * ms, 270 * ms},
			"ok! canceled okh! ok!",
			record.Session{StepsOK: 3, ModelTime: 380e6},
		},
		{
			"a hedge that loses ends nothing", hedge,
			[]script{good, slow},
			[]clock.Time{0, 110 * ms, 110 * ms, 220 * ms},
			"ok! ok! canceledh ok!",
			record.Session{StepsOK: 3, ModelTime: 330e6},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := plans{{ID: 1, Threads: []datasets.Thread{steps(0, 0, 0)}}}
			r := playSessions(t, set, 0, nil, func(c *dispatch.Config) {
				c.Client = tt.client
				c.Target.(fakeCanceler).plays = func(r *target.Request) script {
					if r.Turn == 1 {
						return tt.second[min(r.Attempt, len(tt.second)-1)]
					}
					// The others are too quick to be hedged.
					return script{First: 45 * msec, Gap: 65 * msec, Tokens: 2}
				}
			})
			rows := byAttempt(r.rows)
			if got := fates(rows); got != tt.fates {
				t.Errorf("rows %s, want %s", got, tt.fates)
			}
			var due []clock.Time
			finals := map[int32]int{}
			for i := range rows {
				due = append(due, rows[i].Intended)
				if rows[i].Final {
					finals[rows[i].Turn]++
				}
			}
			if diff := cmp.Diff(tt.due, due); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
			for turn, n := range finals {
				if n != 1 {
					t.Errorf("turn %d was decided %d times", turn, n)
				}
			}
			got := r.sessions[0]
			if len(r.sessions) != 1 || got.Outcome != tt.want.Outcome || got.StepsOK != tt.want.StepsOK || got.StepsFailed != tt.want.StepsFailed ||
				got.StepsUnsent != tt.want.StepsUnsent || tt.want.ModelTime != 0 && (got.ModelTime != tt.want.ModelTime || got.SCT != tt.want.ModelTime) {
				t.Errorf("session %+v, want %+v", got, tt.want)
			}
		})
	}
}

// byAttempt sorts rows by request and attempt: an attempt that is given up may be
// recorded after the one that won.
func byAttempt(rows []record.Request) []record.Request {
	slices.SortFunc(rows, func(a, b record.Request) int {
		return stdcmp.Or(stdcmp.Compare(a.Seq, b.Seq), stdcmp.Compare(a.Attempt, b.Attempt))
	})
	return rows
}
