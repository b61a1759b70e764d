package wire

import (
	"math"
	"strings"
	"testing"
)

func TestParseLoad(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		value       string
		kv, waiting float64
		ok          bool
	}{
		{"TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3", 0.4, 3, true},
		{"named_metrics.kv_cache_usage_perc=0.4,named_metrics.num_requests_waiting=3", 0.4, 3, true},
		{"text cpu_utilization=0.3, named_metrics.KV_cache_usage_perc=1", 1, nan, true},
		{`JSON {"cpu_utilization":0.3,"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":0}}`, 0.25, 0, true},
		{`{"named_metrics":{"num_requests_waiting":7}}`, nan, 7, true},
		{"TEXT cpu_utilization=0.3, mem_utilization=0.8", 0, 0, false},
		{"TEXT named_metrics.kv_cache_usage_perc=1.5", 0, 0, false},
		{"TEXT named_metrics.num_requests_waiting=-1", 0, 0, false},
		{"TEXT named_metrics.kv_cache_usage_perc=NaN", 0, 0, false},
		{`JSON {"named_metrics":{"kv_cache_usage_perc":"0.4"}}`, 0, 0, false},
		{"JSON {", 0, 0, false},
		{"", 0, 0, false},
		{"TEXT named_metrics.kv_cache_usage_perc=0.4" + strings.Repeat(" ", mostLoad) + ",", 0, 0, false},
	} {
		l, ok := ParseLoad(c.value)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if ok != c.ok || ok && (!same(l.KVUsed, c.kv) || !same(l.Waiting, c.waiting)) {
			t.Errorf("%q: %+v, %v", c.value, l, ok)
		}
	}
}

// What is read is possible, and reads the same when it is sent again in either format.
func FuzzParseLoad(f *testing.F) {
	f.Add("TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3")
	f.Add(`JSON {"named_metrics":{"kv_cache_usage_perc":0.25}}`)
	f.Add("named_metrics.num_requests_waiting=1e3,=,named_metrics.=2")
	f.Fuzz(func(t *testing.T, value string) {
		l, ok := ParseLoad(value)
		if !ok {
			return
		}
		for _, again := range []string{l.Text(), l.JSON()} {
			m, ok := ParseLoad(again)
			if !ok || math.Float64bits(m.KVUsed+0) != math.Float64bits(l.KVUsed+0) && !(math.IsNaN(m.KVUsed) && math.IsNaN(l.KVUsed)) ||
				m.Waiting != l.Waiting && !(math.IsNaN(m.Waiting) && math.IsNaN(l.Waiting)) {
				t.Errorf("%q reads as %+v, and %q as %+v", value, l, again, m)
			}
		}
	})
}
