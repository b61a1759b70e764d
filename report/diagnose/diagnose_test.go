package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

const ms = 1e6

// healthy is a run with nothing wrong: two replicas, balanced.
func healthy() *query.Figures {
	f := &query.Figures{
		Scheduled: 1000, Sent: 1000, Attempts: query.Attempts{N: 1000}, Window: 100 * time.Second,
		Manifest:   record.Manifest{Counters: map[string]int64{}},
		PlannedHit: query.Ratio{Part: 80, Whole: 100}, PoolHit: query.Ratio{Part: 70, Whole: 100}, MeasuredHit: query.Ratio{Part: 65, Whole: 100},
		Signs: query.Signs{
			Streams: 1000, LateFirst: 10, Answered: stats.Summary{N: 1000, P50: 900 * ms},
			DTTFT: query.Spread10{N: 1000, P10: 0.5 * ms, P50: 1 * ms, P90: 2 * ms}, DTail: query.Spread10{N: 1000},
			RouterAttempts: 1000, RouterRequests: 1000,
		},
		Spent:    query.Spent{N: 1000, E2E: 900 * ms, Parts: []query.Part{{Name: query.SpentQueue, Mean: 50 * ms}, {Name: "decode", Mean: 850 * ms}}},
		Replicas: []query.Replica{{Name: "a", N: 500, OK: 500}, {Name: "b", N: 500, OK: 500}},
		Timeline: query.Timeline{Width: time.Second, Bins: make([]query.Bin, 100)},
		Metrics: []query.Metric{
			{Name: "ttft", Summary: stats.Summary{N: 1000, Mean: 100 * ms, P99: 400 * ms}},
			{Name: "lag", Summary: stats.Summary{N: 1000, P99: 0.2 * ms}},
		},
	}
	f.Outcomes[record.OK] = 1000
	for i := range f.Timeline.Bins {
		f.Replicas[0].InFlight = append(f.Replicas[0].InFlight, int64(9+i%3))
		f.Replicas[1].InFlight = append(f.Replicas[1].InFlight, int64(11-i%3))
	}
	return f
}

func TestAHealthyRunHasNoFinding(t *testing.T) {
	for _, f := range All(healthy()) {
		t.Errorf("found %+v", f)
	}
	if got := All(&query.Figures{}); got != nil {
		t.Errorf("an empty run has findings: %+v", got)
	}
}

// Each case makes one thing wrong; near is the same just below the rule's bound.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct {
		wrong, near func(*query.Figures)
		evidence    string
	}{
		"router-buffers": {
			func(f *query.Figures) { f.Signs.LateFirst, f.Signs.Looked, f.Signs.Bunched = 1000, 1000, 990 },
			func(f *query.Figures) { f.Signs.LateFirst, f.Signs.Looked, f.Signs.Bunched = 1000, 1000, 300 },
			"99 % of 1000 streams",
		},
		"router-blocks": {
			func(f *query.Figures) {
				f.Signs.DTTFT = query.Spread10{N: 1000, P10: 100 * ms, P50: 105 * ms, P90: 210 * ms}
				f.Signs.DTail = query.Spread10{N: 1000, P50: -100 * ms}
				f.Coalesced = query.Ratio{Part: 90, Whole: 100}
			},
			func(f *query.Figures) { // a busy client reads so, too
				f.Signs.DTTFT = query.Spread10{N: 1000, P10: 1 * ms, P50: 5 * ms, P90: 210 * ms}
				f.Signs.DTail = query.Spread10{N: 1000, P50: -5 * ms}
				f.Coalesced = query.Ratio{Part: 90, Whole: 100}
			},
			"105ms (P10 to P90 100ms to 210ms) later than the engine made it, in 1000 streams; the rest makes up for it, and 90 % of the chunks",
		},
		"first-chunk-delayed": {
			func(f *query.Figures) {
				f.Signs.DTTFT = query.Spread10{N: 1000, P10: 195 * ms, P50: 203 * ms, P90: 210 * ms}
				f.Signs.DTail = query.Spread10{N: 1000, P50: -200 * ms}
			},
			func(f *query.Figures) {
				f.Signs.DTTFT = query.Spread10{N: 1000, P10: 20 * ms, P50: 203 * ms, P90: 900 * ms}
			},
			"203ms (P10 to P90 195ms to 210ms) later than the engine made it, in 1000 streams; the rest",
		},
		"silent-truncation": {
			func(f *query.Figures) { f.Signs.CleanEnds = 3 },
			func(f *query.Figures) { f.Outcomes[record.Truncated] = 3 },
			"3 of 1000 requests",
		},
		"retry-amplification": {
			func(f *query.Figures) { f.Signs.RouterAttempts = 3000 },
			func(f *query.Figures) { f.Signs.RouterAttempts = 1050 },
			"3000 attempts for 1000 requests, 3 each",
		},
		"orphaned-work": {
			func(f *query.Figures) {
				f.Signs.Left, f.Signs.Orphans, f.Signs.OrphanTime, f.Signs.OrphanTokens = 100, 100, 50_000*ms, 5000
			},
			func(f *query.Figures) { f.Signs.Left, f.Signs.Orphans = 100, 2 },
			"of 100 requests given up, the engine worked on at 100, for 50s in total, about 5000 tokens",
		},
		"black-hole": {
			func(f *query.Figures) {
				f.Replicas[0].N, f.Replicas[0].OK, f.Replicas[0].Failed = 900, 0, 900
				f.Replicas[0].FailedAfter = stats.Summary{N: 900, P50: 2 * ms}
				f.Replicas[1].N, f.Replicas[1].OK = 100, 100
			},
			func(f *query.Figures) { // all fail alike
				for i := range f.Replicas {
					f.Replicas[i].OK, f.Replicas[i].Failed = 200, 300
				}
			},
			"90 % of the requests of 2 replicas and failed 100 % of them, in 2ms",
		},
		"herding": {
			func(f *query.Figures) {
				for i := range f.Timeline.Bins {
					f.Replicas[i/5%2].InFlight[i], f.Replicas[1-i/5%2].InFlight[i] = 40, 0
				}
			},
			func(f *query.Figures) { // one replica is slower, always
				for i := range f.Timeline.Bins {
					f.Replicas[0].InFlight[i], f.Replicas[1].InFlight[i] = 40, 5
				}
			},
			"2 times the mean in flight (20 a replica)",
		},
		"cache-defeated": {
			func(f *query.Figures) { f.MeasuredHit.Part = 5 },
			func(f *query.Figures) { f.MeasuredHit.Part, f.PlannedHit.Part, f.PoolHit.Part = 1, 4, 4 },
			"5 % of the prompt tokens were found in caches; one cache as large as all together would have held 70 %",
		},
		"kv-bound": {
			func(f *query.Figures) { f.Manifest.Counters[record.CounterKVWaits], f.Preemptions = 80, 40 },
			func(f *query.Figures) { f.Preemptions = 2 },
			"80 requests at the head of a queue found too few blocks, and 40 were preempted, of 1000",
		},
		"slot-bound": {
			func(f *query.Figures) { f.Spent.Parts[0].Mean, f.Spent.E2E = 1800*ms, 2650*ms },
			func(f *query.Figures) { f.Spent.Parts[0].Mean, f.Spent.E2E = 200*ms, 1050*ms },
			"67.9 % of the time of a request, 1.8s",
		},
		"generator-bound": {
			func(f *query.Figures) { f.Metrics[1].P99 = 80 * ms },
			func(f *query.Figures) { f.Metrics[1].P99 = 4 * ms },
			"lag P99 is 80ms, TTFT P99 400ms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			c.wrong(f)
			got := All(f)
			if len(got) != 1 || got[0].Name != name {
				t.Fatalf("found %+v, want %s alone", got, name)
			}
			if !strings.Contains(got[0].Evidence, c.evidence) || got[0].Remedy == "" || got[0].What == "" {
				t.Errorf("evidence %q, want %q in it", got[0].Evidence, c.evidence)
			}
			f = healthy()
			c.near(f)
			for _, found := range All(f) {
				if found.Name == name {
					t.Errorf("found below its bound: %+v", found)
				}
			}
		})
	}
}

// A router that waits for more to send lets go what comes just when it gives up waiting; a
// client that is late at most of what it does is no sign of that.
func TestBlocksOfWhichSomeFirstTokensAreInTime(t *testing.T) {
	for name, c := range map[string]struct {
		lag  float64
		want string
	}{"in time": {0.3 * ms, "router-blocks"}, "a busy client": {60 * ms, ""}} {
		f := healthy()
		f.Signs.DTTFT = query.Spread10{N: 1000, P10: 8 * ms, P50: 206 * ms, P90: 209 * ms}
		f.Signs.DTail = query.Spread10{N: 1000, P50: -205 * ms}
		f.Coalesced = query.Ratio{Part: 73, Whole: 100}
		f.Metrics[1].N, f.Metrics[1].P50 = 1000, c.lag
		var names []string
		for _, found := range All(f) {
			names = append(names, found.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

// A router that gave requests up and sent them again shows in the engines' own counters
// only, where these can be compared.
func TestRetriesByTheEnginesCounters(t *testing.T) {
	retried := func() *query.Figures {
		f := healthy()
		f.Signs.RouterRequests, f.Checks.Attempts = 0, 1000
		f.Engines = query.Engines{Replicas: 2, Source: record.SampleScrape, Idle: true, Answering: 1600}
		return f
	}
	got := All(retried())
	if len(got) != 1 || got[0].Name != "retry-amplification" || !strings.Contains(got[0].Evidence, "1600 requests ended at the engines, by their own counters, and 1000 were sent, 1.6 each") {
		t.Errorf("found %+v", got)
	}
	for name, near := range map[string]func(e *query.Engines){
		"below the bound":                    func(e *query.Engines) { e.Answering = 1090 },
		"engines that began anew":            func(e *query.Engines) { e.Resets = 1 },
		"others were at work before":         func(e *query.Engines) { e.Idle = false },
		"engines that do not tell":           func(e *query.Engines) { e.Answering = math.NaN() },
		"engines in process, which are ours": func(e *query.Engines) { e.Source = record.SampleInProcess },
	} {
		f := retried()
		near(&f.Engines)
		if got := All(f); got != nil {
			t.Errorf("%s: found %+v", name, got)
		}
	}
}

// Errors that do not say who made them, and the client's own retries.
func TestOtherEvidenceOfTheSame(t *testing.T) {
	f := healthy()
	f.Replicas = nil
	f.Outcomes[record.OK], f.Outcomes[record.HTTP5xx] = 110, 890
	f.Signs.FailedAfter = stats.Summary{N: 890, P50: 3 * ms}
	f.Signs.RouterRequests = 0
	f.Attempts.N, f.Attempts.Retried[record.HTTP5xx] = 2500, 1500
	var names []string
	for _, found := range All(f) {
		names = append(names, found.Name)
	}
	if got := strings.Join(names, " "); got != "retry-amplification black-hole" {
		t.Errorf("found %s", got)
	}
}

func TestShort(t *testing.T) {
	for ns, want := range map[float64]string{0: "0s", 10.036 * ms: "10ms", 92.568 * ms: "92.6ms", 103.94 * ms: "104ms", 999.6 * ms: "1s", 3058.9 * ms: "3.06s", 1234: "1.23µs", -25.44 * ms: "-25.4ms"} {
		if got := short(ns); got != want {
			t.Errorf("%v ns: %s, want %s", ns, got, want)
		}
	}
}
