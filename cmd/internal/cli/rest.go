package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/clock"
)

// idleWithin is how long a server may take to end what a trial has left behind, and
// idleEvery the time between two looks.
const (
	idleWithin = 60 * time.Second
	idleEvery  = 500 * time.Millisecond
)

// rest waits between two trials against a server: for the cool-down, and until the
// engines behind it run nothing, where /metrics tells. Some routers do not pass on that a
// client has left, and the next trial would begin with a backlog.
func (r *trialRunner) rest(ctx context.Context) error {
	r.lock.Lock()
	first := r.number <= 2 // the probes
	r.lock.Unlock()
	if !first {
		if err := pause(ctx, r.plan.Cooldown); err != nil {
			return err
		}
	}
	for waited := time.Duration(0); ; waited += idleEvery {
		running := 0.0
		for _, base := range r.plan.BaseURL {
			if !strings.HasPrefix(base, "unix:") {
				running += engineLoad(ctx, strings.TrimRight(base, "/")+"/metrics")
			}
		}
		if running == 0 {
			return ctx.Err()
		}
		if waited >= idleWithin {
			fmt.Fprintf(r.env.Stderr, "goodput: the engines still run %g requests after %v: the next trial begins with them\n", running, idleWithin)
			return nil
		}
		if err := pause(ctx, idleEvery); err != nil {
			return err
		}
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	over := make(chan struct{}, 1)
	defer clock.Every(d, func() {
		select {
		case over <- struct{}{}:
		default:
		}
	})()
	select {
	case <-ctx.Done():
	case <-over:
	}
	return ctx.Err()
}

// mostMetrics is the most of a page of metrics that is read.
const mostMetrics = 8 << 20

// engineLoad sums what engines say they run or have waiting; 0 where no such metrics are
// offered, since there is nothing to wait for that could be seen.
func engineLoad(ctx context.Context, url string) (requests float64) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return 0
	}
	lines := bufio.NewScanner(io.LimitReader(a.Body, mostMetrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := loadSample(lines.Text())
		if ok && (strings.HasSuffix(name, "num_requests_running") || strings.HasSuffix(name, "num_requests_waiting")) {
			requests += value
		}
	}
	return requests
}

// loadSample splits a line of the Prometheus text format.
func loadSample(line string) (name string, value float64, ok bool) {
	if strings.HasPrefix(line, "#") {
		return "", 0, false
	}
	at := strings.LastIndexByte(line, '}')
	name, _, labelled := strings.Cut(line, "{")
	rest := line[at+1:]
	if !labelled {
		name, rest, _ = strings.Cut(line, " ")
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, value, err == nil
}
