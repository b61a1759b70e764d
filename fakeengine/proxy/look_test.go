package proxy

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzParseMetrics(f *testing.F) {
	for _, s := range []string{
		"vllm:num_requests_running 1\nvllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc 0.5\n", "# TYPE x gauge\nx{a=\"b\"} 1e9 5\n",
		"sglang:num_running_reqs NaN\nsglang:num_queue_reqs +Inf\n", "x{", "# HELP\n", "vllm:num_requests_running{a=\"\\\"\"} -1\n\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		r, err := parseMetrics(bytes.NewReader(page))
		if err == nil && (r.running < 0 || r.waiting < 0 || !(r.kv >= 0 && r.kv <= 1)) {
			t.Errorf("%+v of %q", r, page)
		}
	})
}

// Equal beginnings have equal hashes, block by block; another model or salt has none
// of them.
func TestHashes(t *testing.T) {
	a := hashes([]byte(strings.Repeat("a", 200)+"x"), 1)
	b := hashes([]byte(strings.Repeat("a", 150)+strings.Repeat("b", 100)), 1)
	c := hashes([]byte(strings.Repeat("a", 200)), 2)
	if len(a) != 3 || len(b) != 3 || a[1] != b[1] || a[2] == b[2] || a[0] == a[1] || a[0] == c[0] {
		t.Errorf("%x %x %x", a, b, c)
	}
	if got := hashes([]byte("short"), 1); len(got) != 0 {
		t.Errorf("%x", got)
	}
}

func TestAdapterNumbersAreBounded(t *testing.T) {
	var a adapters
	if a.number("") != 0 || a.number("x") != 1 || a.number("y") != 2 || a.number("x") != 1 {
		t.Error("names are not numbered in order")
	}
	for i := range 2 * maxAdapters {
		a.number(strings.Repeat("z", i+1))
	}
	if len(a.of) != maxAdapters || a.number("new") != a.number("newer") {
		t.Errorf("%d names are kept", len(a.of))
	}
}
