package agent_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"goodput/datasets"
	"goodput/datasets/agent"
)

// figures are the aggregates of the main threads of a set.
type figures struct {
	steps, in, growth, uncached, out, wall []float64
	compacted                              int
	sumIn, sumOut, hit, hitLive            float64
}

// measure walks the main threads. A step's planned hit is what it keeps of the last
// prompt; answers are not taken for cached, but in hitLive.
func measure(set *agent.Set, prefix int) figures {
	var f figures
	var s datasets.Session
	for i := range set.Sessions() {
		set.Session(i, &s)
		main := s.Threads[0].Steps
		f.steps = append(f.steps, float64(len(main)))
		wall, compacted := time.Duration(0), false
		for k := range main {
			st := &main[k]
			f.in, f.out = append(f.in, float64(st.In)), append(f.out, float64(st.Out))
			f.sumIn += float64(st.In)
			f.sumOut += float64(st.Out)
			hit, live := prefix, prefix
			if k > 0 {
				hit, live = min(st.Keep, main[k-1].In), st.Keep
				if st.In > main[k-1].In {
					f.growth = append(f.growth, float64(st.In-main[k-1].In))
				} else {
					compacted = true
				}
			}
			f.uncached = append(f.uncached, float64(st.In-hit))
			f.hit += float64(hit)
			f.hitLive += float64(live)
			wall += st.Wait + time.Second + time.Duration(float64(st.Out)/40.7*1e9)
		}
		f.wall = append(f.wall, wall.Seconds())
		if compacted {
			f.compacted++
		}
	}
	return f
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func quantile(v []float64, q float64) float64 {
	slices.Sort(v)
	return v[int(q*float64(len(v)))]
}

// plain is a preset as the published aggregates have it: the main thread alone, no
// request for a summary, and one draw for what follows the prefix afterwards.
func plain(t testing.TB, name string) agent.Config {
	c, err := agent.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	c.Fanout.Probability = 0
	if c.Compaction.At > 0 {
		c.Compaction.Request, c.Compaction.Summary = false, agent.Dist{}
		c.Compaction.Reattach = agent.Dist{Kind: agent.Lognormal, Median: 20_000, Sigma: 0.6}
		if name == "coding-128k" {
			c.Compaction.Reattach.Median = 15_000
		}
	}
	return c
}

// TestAggregates holds the presets to their published aggregates: main threads of
// 12,000 sessions, an answer taking a second and 1/40.7 s for each token.
func TestAggregates(t *testing.T) {
	type want struct {
		name   string
		value  func(*figures) float64
		wanted float64
		within float64 // relative
	}
	sessions := float64(aggregated)
	mk := func(steps, p50, p90, p99, in, inP50, out, outP90, hit, live, compacted, tokIn, tokOut, wall50, wall90, g50, g90, u50, u90 float64) []want {
		return []want{
			{"steps mean", func(f *figures) float64 { return mean(f.steps) }, steps, 0.05},
			{"steps p50", func(f *figures) float64 { return quantile(f.steps, .5) }, p50, 0.08},
			{"steps p90", func(f *figures) float64 { return quantile(f.steps, .9) }, p90, 0.05},
			{"steps p99", func(f *figures) float64 { return quantile(f.steps, .99) }, p99, 0.08},
			{"input mean", func(f *figures) float64 { return mean(f.in) }, in, 0.05},
			{"input p50", func(f *figures) float64 { return quantile(f.in, .5) }, inP50, 0.05},
			{"output mean", func(f *figures) float64 { return mean(f.out) }, out, 0.05},
			{"output p90", func(f *figures) float64 { return quantile(f.out, .9) }, outP90, 0.05},
			{"planned hit", func(f *figures) float64 { return f.hit / f.sumIn }, hit, 0.005},
			{"live hit", func(f *figures) float64 { return f.hitLive / f.sumIn }, live, 0.005},
			{"compacted", func(f *figures) float64 { return float64(f.compacted) / sessions }, compacted, 0.05},
			{"tokens in", func(f *figures) float64 { return f.sumIn / sessions }, tokIn, 0.05},
			{"tokens out", func(f *figures) float64 { return f.sumOut / sessions }, tokOut, 0.05},
			{"wall p50", func(f *figures) float64 { return quantile(f.wall, .5) }, wall50, 0.05},
			{"wall p90", func(f *figures) float64 { return quantile(f.wall, .9) }, wall90, 0.05},
			{"growth p50", func(f *figures) float64 { return quantile(f.growth, .5) }, g50, 0.05},
			{"growth p90", func(f *figures) float64 { return quantile(f.growth, .9) }, g90, 0.05},
			{"uncached p50", func(f *figures) float64 { return quantile(f.uncached, .5) }, u50, 0.05},
			{"uncached p90", func(f *figures) float64 { return quantile(f.uncached, .9) }, u90, 0.05},
		}
	}
	for _, c := range []struct {
		preset string
		prefix int
		want   []want
	}{
		{"coding", 15_000, mk(55.3, 17, 144, 564, 76345, 72402, 376, 827, .967, .972, .195, 4.23e6, 20.8e3, 425, 3456, 729, 3551, 773, 4415)},
		{"coding-128k", 15_000, mk(37.3, 15, 100, 280, 52335, 50196, 367, 820, .959, .966, .228, 1.95e6, 13.7e3, 389, 2656, 715, 3287, 770, 4311)},
		{"smoke", 2_000, mk(8.6, 8, 14, 19, 5003, 4529, 112, 187, .893, .913, 0, 43e3, 0.96e3, 31, 55, 406, 1055, 425, 1043)},
	} {
		t.Run(c.preset, func(t *testing.T) {
			set, err := agent.New(plain(t, c.preset), int(sessions), 1)
			if err != nil {
				t.Fatal(err)
			}
			f := measure(set, c.prefix)
			for _, w := range c.want {
				got := w.value(&f)
				bad := math.Abs(got-w.wanted) > w.within*w.wanted
				t.Logf("%-12s %12.5g want %12.5g (%+.1f %%) %v", w.name, got, w.wanted, 100*(got/w.wanted-1), bad)
				if bad {
					t.Errorf("%s is %.5g, want %.5g within %.1f %%", w.name, got, w.wanted, 100*w.within)
				}
			}
		})
	}
}
