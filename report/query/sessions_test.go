package query

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// runOfSessions writes a run with these sessions and requests, and loads its figures.
func runOfSessions(t *testing.T, sessions []record.Session, requests []record.Request) *Figures {
	t.Helper()
	dir := t.TempDir() + "/run"
	w, err := record.Create(dir, record.Meta{RunID: "r", Virtual: true})
	if err != nil {
		t.Fatal(err)
	}
	if sessions != nil {
		l, err := record.NewSessionLog(dir, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sessions {
			l.Write(&sessions[i])
		}
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range requests {
		w.Write(&requests[i])
	}
	if err := w.Close(record.Final{EndedAt: clock.Never}); err != nil {
		t.Fatal(err)
	}
	f, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func request(seq int64, trigger string, o record.Outcome, ttft clock.Time, cached int32) record.Request {
	var r record.Request
	r.Reset()
	r.Seq, r.Final, r.Trigger, r.Outcome, r.Turn = seq, true, trigger, o, int32(seq)
	r.Intended, r.Dispatched, r.Closed = 0, 0, ttft+10
	r.FirstToken, r.LastToken, r.OutputTokens = ttft, ttft+10, 2
	r.PlannedPromptTokens, r.PlannedCachedTokens = 100, 80
	r.PromptTokens, r.CachedTokens = 100, cached
	return r
}

// Only completed sessions have times, and only successes latencies; a server that does
// not say what it found in its cache has no hit rate, rather than none.
func TestSessionsAndTriggers(t *testing.T) {
	done := func(steps int32, sct int64) record.Session {
		return record.Session{SessionID: "x", Threads: 1, StepsPlanned: steps, StepsOK: steps, SCT: sct, ModelTime: sct, WaitTime: 0, Lag: 0, Unloaded: record.Null}
	}
	slow := done(3, 100)
	slow.Tenant, slow.Unloaded, slow.Turns, slow.SLOMet = "2", 40, []int64{70, 20, 30}, record.No
	failed := done(9, record.Null)
	failed.Outcome, failed.StepsOK, failed.StepsFailed, failed.StepsUnsent = record.SessionFailed, 2, 1, 6
	failed.ModelTime, failed.WaitTime, failed.Lag = record.Null, record.Null, record.Null
	f := runOfSessions(t, []record.Session{slow, failed, done(30, 300)}, []record.Request{
		request(0, "tool", record.OK, 50, 60),
		request(1, "user", record.OK, 20, record.Null32),
		request(2, "tool", record.HTTP5xx, 999, 0),
	})
	s := &f.Sessions
	if !s.Known || s.N != 3 || s.Steps != 42 || s.StepsUnsent != 6 || s.Outcomes[record.SessionFailed] != 1 {
		t.Errorf("sessions %+v", s)
	}
	got := map[string]float64{}
	for _, m := range slices.Concat(s.Metrics, s.BySteps, s.ByTurn) {
		if m.N > 0 {
			got[m.Name] = m.Mean
		}
	}
	want := map[string]float64{"sct": 200, "model_time": 200, "wait_time": 0, "session_lag": 0, "1-5 steps": 100, "21-60 steps": 300, "turn_response": 40, "turn 1": 70, "turns 2-5": 25}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("means (-want +got):\n%s", diff)
	}
	if s.Slowdown.N != 1 || s.Slowdown.Mean != 2.5 || !s.SLO || s.Judged != 1 || s.Met != 0 {
		t.Errorf("slowdown %+v, %d of %d met", s.Slowdown, s.Met, s.Judged)
	}
	if len(s.Tenants) != 1 || s.Tenants[0].Name != "2" || s.Tenants[0].N != 1 || s.Tenants[0].SCT.Mean != 100 || s.OtherTenants != 0 {
		t.Errorf("tenants %+v", s.Tenants)
	}
	if i := f.StepIndex; len(i) != 2 || i[0].Name != "step 1" || i[0].N != 1 || i[1].N != 2 {
		t.Errorf("by index %+v", i)
	}
	if len(f.Triggers) != 2 || f.Triggers[0].Name != "user" || f.Triggers[1].Name != "tool" {
		t.Fatalf("triggers %+v", f.Triggers)
	}
	user, tool := f.Triggers[0], f.Triggers[1]
	if tool.N != 2 || tool.OK != 1 || tool.TTFT.Mean != 50 || tool.MeasuredHit != (Ratio{60, 100}) || tool.PlannedHit != (Ratio{80, 100}) {
		t.Errorf("tool %+v", tool)
	}
	if user.MeasuredHit.Known() || !user.PlannedHit.Known() {
		t.Errorf("user %+v", user)
	}
}

func TestNoSessions(t *testing.T) {
	f := runOfSessions(t, nil, []record.Request{request(0, "", record.OK, 5, 0)})
	if f.Sessions.Known || len(f.Triggers) != 0 {
		t.Errorf("sessions %+v, triggers %+v", f.Sessions, f.Triggers)
	}
}
