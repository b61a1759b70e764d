package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goodput/fakeengine/autoscale"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// pages is how many replicas the metrics tell of.
func pages(t *testing.T, g *rig) int {
	t.Helper()
	return strings.Count(get(t, g.Handler(), "/metrics").Body.String(), "\nvllm:num_requests_running{")
}

// A server of one replica gets more while requests wait, which take requests after their
// cold start, and loses them again when nobody has asked for some time. No request is lost.
func TestServerScales(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, func(c *Config) {
			c.Step, c.Engine.MaxNumSeqs = evenSteps(10*time.Millisecond), 1
			c.Scale = &autoscale.Config{
				Signal: autoscale.Queue, Target: 1, Min: 1, Max: 3,
				Every: time.Second, ColdStart: 2 * time.Second, CoolDown: 5 * time.Second,
			}
			var err error
			if c.Policy, err = router.New("least-outstanding:tie=first", 1); err != nil {
				t.Fatal(err)
			}
		}, clock.Portable())
		ask := func(tokens int) (replica string) {
			w := post(g.Handler(), "/v1/completions", fmt.Sprintf(`{"prompt":"a","max_tokens":%d,"ignore_eos":true}`, tokens))
			if w.Code != http.StatusOK {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			return w.Header().Get(headerReplica)
		}
		if n := pages(t, g); n != 1 {
			t.Errorf("metrics of %d replicas at the start, want 1", n)
		}
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if at := ask(300); at != "0" { // 3 s each, one after the other
					t.Errorf("replica %s had it before there was one", at)
				}
			})
		}
		<-time.After(2900 * time.Millisecond) // seen waiting at 1 s, and cold for 2 s
		if n := pages(t, g); n != 1 {
			t.Errorf("metrics of %d replicas while two are cold, want 1", n)
		}
		<-time.After(300 * time.Millisecond)
		if n := pages(t, g); n != 3 {
			t.Errorf("metrics of %d replicas after their cold start, want 3", n)
		}
		for _, want := range []string{"1", "1"} { // they are empty
			if at := ask(10); at != want {
				t.Errorf("replica %s has a new request, want %s", at, want)
			}
		}
		group.Wait()
		<-time.After(10 * time.Second)
		if n := pages(t, g); n != 1 {
			t.Errorf("metrics of %d replicas when nobody has asked for long, want 1", n)
		}
		if at := ask(10); at != "0" {
			t.Errorf("replica %s is left, want 0", at)
		}
	})
}
