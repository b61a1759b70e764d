package openai

import (
	"net/http"
	"strings"
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// The load that an engine tells with its answer is asked for and passed on, with who told
// it; what is no report is not.
func TestLoadIsTold(t *testing.T) {
	for _, c := range []struct {
		report string
		told   int
	}{
		{"TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=3", 1},
		{"TEXT cpu_utilization=0.3", 0},
		{"nonsense", 0},
	} {
		var got *http.Request
		p := listen(t, func(k *conn) {
			got, _ = k.request()
			k.say(strings.Replace(head, "\r\n", "\r\nX-Goodput-Replica: 7\r\nEndpoint-Load-Metrics: "+c.report+"\r\n", 1), data(role, tok, finish, usage, done), last)
			k.gone()
		})
		told := 0
		r := newRig(t, p.url(), func(x *Config) {
			x.Load = func(replica string, at clock.Time, l wire.Load) {
				told++
				if replica != "7" || !at.Known() || l.KVUsed != 0.4 || l.Waiting != 3 {
					t.Errorf("%q at %v: %+v", replica, at, l)
				}
			}
		})
		rec := newRecorder(t)
		r.Start(r.request(), rec)
		r.loop.await(rec)
		r.Close()
		if told != c.told || got.Header.Get("Endpoint-Load-Metrics-Format") != "TEXT" {
			t.Errorf("%q: told %d times, want %d; asked for %q", c.report, told, c.told, got.Header.Get("Endpoint-Load-Metrics-Format"))
		}
	}
}
