package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const text = `
# a comment
- {at: 60s, for: 30s, replica: 3, slow: 2.0}
- {at: 90s, for: 5s, replica: 0, stall: true}
- at: 2m
  for: 10s
  kill: true
- {at: 3m, replica: 1, restart: true}
- {at: 4m, for: 10s, http: 503}
- {at: 5m, http: 429, retry_after: 2s}
- {at: 6m, truncate: true}
- {at: 7m, usage: 0}
- {at: 0s, metrics: nan}
- {at: 8m, for: 1m, replica: 2, drain: true}
- {at: 9m, replica: 2, join: true}
`
	got, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, m := time.Second, time.Minute
	want := Script{
		{At: 60 * s, For: 30 * s, Replica: 3, Kind: Slow, Factor: 2},
		{At: 90 * s, For: 5 * s, Replica: 0, Kind: Stall},
		{At: 2 * m, For: 10 * s, Replica: All, Kind: Kill},
		{At: 3 * m, Replica: 1, Kind: Restart},
		{At: 4 * m, For: 10 * s, Replica: All, Kind: HTTP, Status: 503},
		{At: 5 * m, Replica: All, Kind: HTTP, Status: 429, RetryAfter: 2 * s},
		{At: 6 * m, Replica: All, Kind: Truncate},
		{At: 7 * m, Replica: All, Kind: Usage},
		{Replica: All, Kind: Metrics},
		{At: 8 * m, For: m, Replica: 2, Kind: Drain},
		{At: 9 * m, Replica: 2, Kind: Join},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
}

func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "[]\n"} {
		if s, err := Parse("f", []byte(text)); err != nil || len(s) != 0 {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		says       []string
	}{
		{"no list", "at: 1s", []string{"f.yaml", "1:3", "sequence"}},
		{"unknown key", "- at: 1s\n  slwo: 2", []string{"2:3", "slwo"}},
		{"doubled key", "- at: 1s\n  at: 2s\n  slow: 2", []string{"2:3"}},
		{"no YAML", "- {at: 1s", []string{"f.yaml", "1:"}},
		{"wrong type", "- {at: 1s, http: many}", []string{"1:18"}},
		{"no duration", "- {at: soon, slow: 2}", []string{":1:8", "soon", "unit"}},
		{"no unit", "- {at: 1s, for: 60, slow: 2}", []string{":1:17", "60s"}},
		{"empty entry", "-\n", []string{"fault 1", "empty"}},
		{"no instant", "- {slow: 2}", []string{"fault 1", "at is missing"}},
		{"before the epoch", "- {at: -1s, slow: 2}", []string{"f.yaml:1:8", "0s"}},
		{"too late", "- {at: 2000h, slow: 2}", []string{":1:8", "1000h"}},
		{"no length", "- {at: 1s, for: 0s, slow: 2}", []string{":1:17", "for is 0s"}},
		{"negative length", "- {at: 1s, for: -2s, slow: 2}", []string{":1:17", "for is -2s"}},
		{"negative replica", "- {at: 1s, replica: -1, slow: 2}", []string{":1:21", "leave it out for all"}},
		{"no fault", "- {at: 1s}\n", []string{"fault 1", "slow, stall, kill"}},
		{"several faults", "- {at: 1s, slow: 2}\n- {at: 1s,\n  slow: 2, kill: true}", []string{":3:18", "fault 2", "slow and kill"}},
		{"off", "- {at: 1s, kill: false}", []string{":1:18", "true"}},
		{"speed-up", "- {at: 1s, slow: 0.5}", []string{":1:18", "slow is 0.5", "from 1"}},
		{"not a number", "- {at: 1s, slow: .nan}", []string{":1:18", "NaN"}},
		{"no error", "- {at: 1s, http: 200}", []string{":1:18", "400 to 599"}},
		{"fraction of a second", "- {at: 1s, http: 429, retry_after: 100ms}", []string{":1:36", "whole seconds"}},
		{"retry without http", "- {at: 1s, retry_after: 1s, slow: 2}", []string{":1:25", "belongs to http"}},
		{"endless stall", "- {at: 1s, stall: true}", []string{":1:19", "add for"}},
		{"long restart", "- {at: 1s, for: 1s, restart: true}", []string{":1:17", "kill"}},
		{"long join", "- {at: 1s, for: 1s, join: true}", []string{":1:17", "drain"}},
		{"other metrics", "- {at: 1s, metrics: stale}", []string{":1:21", "nan"}},
		{"negative usage", "- {at: 1s, usage: -1}", []string{":1:19", "from 0"}},
		{"two documents", "- {at: 1s, slow: 2}\n---\n- {at: 1s, slow: 2}", []string{"second document"}},
		{"too large", strings.Repeat("#", MaxScript+1), []string{"limit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("f.yaml", []byte(tt.text))
			if err == nil {
				t.Fatalf("accepted as %+v", s)
			}
			for _, want := range tt.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestCheckReplicas(t *testing.T) {
	s := Script{{Kind: Slow, Factor: 2, Replica: All}, {At: time.Minute, Kind: Kill, Replica: 2}}
	if err := s.Check(3); err != nil {
		t.Error(err)
	}
	if err := s.Check(2); err == nil || !strings.Contains(err.Error(), "fault 2 (kill at 1m0s): replica 2") {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"- {at: 60s, for: 30s, replica: 3, slow: 2.0}\n- at: 2m\n  kill: true\n",
		"- {at: 5m, http: 429, retry_after: 2s}\n- {at: 6m, truncate: true}\n- {at: 8m, metrics: nan}",
		"- &a {at: 1s, usage: 2}\n- *a\n- {<<: *a}", "- !!float 3", "at: 1s", "-", "- - -", "[", "- {at: 1s, slow: !!int x}", "\xff", "--- |\n", "- ? a",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f", text)
		if err != nil {
			return
		}
		for i := range s {
			if _, err := s[i].check(); err != nil {
				t.Errorf("accepted %+v: %v", s[i], err)
			}
		}
	})
}
