package cli

import (
	"bytes"
	"testing"

	"goodput/loadgen/record"
)

// sessionsOf runs sessions of the smoke preset.
func sessionsOf(t *testing.T, args ...string) []record.Session {
	t.Helper()
	dir := t.TempDir() + "/run"
	var out, log bytes.Buffer
	env := Env{
		Args:   append([]string{"run", "--out", dir, "--dataset-name", "agent", "--agent-preset", "smoke", "--ignore-eos"}, args...),
		Stdout: &out, Stderr: &log, Getenv: func(string) string { return "" },
	}
	if code := Main(env); code != exitOK {
		t.Fatalf("exit code %d: %s", code, log.String())
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []record.Session
	if _, err := run.Sessions(func(s *record.Session) error { all = append(all, *s); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSlowdown: sessions that come one at a time to one replica are as fast as alone,
// to the nanosecond; under load none is faster but for what others leave in its cache,
// and most are slower.
func TestSlowdown(t *testing.T) {
	for _, more := range [][]string{
		nil,
		{"--agent-history", "live"},
		{"--prefill-replicas", "1", "--decode-replicas", "1"},
	} {
		args := append([]string{"--num-sessions", "8", "--sessions-rate", "0.001", "--burstiness", "inf"}, more...)
		if more == nil || more[0] != "--prefill-replicas" {
			args = append(args, "--replicas", "1")
		}
		for _, s := range sessionsOf(t, args...) {
			if ratio, ok := s.Slowdown(); !ok || ratio != 1 {
				t.Errorf("%v: session %s: %d ns, alone %d", more, s.SessionID, s.ModelTime, s.Unloaded)
			}
		}
	}
	slower := 0
	loaded := sessionsOf(t, "--num-sessions", "40", "--sessions-rate", "10", "--replicas", "1", "--goodput", "slowdown:1.2 turn:60000")
	for _, s := range loaded {
		ratio, ok := s.Slowdown()
		if !ok || ratio < 0.9 {
			t.Errorf("session %s: slowdown %v, %v", s.SessionID, ratio, ok)
		}
		if ratio > 1.2 {
			slower++
		}
		if met := ratio <= 1.2; s.SLOMet == record.Unknown || met != (s.SLOMet == record.Yes) {
			t.Errorf("session %s: slowdown %v, SLO met: %v", s.SessionID, ratio, s.SLOMet)
		}
	}
	if slower < len(loaded)/2 {
		t.Errorf("%d of %d sessions were slowed down", slower, len(loaded))
	}
}
