package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MostShards is the largest number of processes that offer one load.
const MostShards = 4096

// Part is what Shard names: part index of so many; 0 of 1 if it is empty.
func (p *Plan) Part() (index, of int, err error) {
	if p.Shard == "" {
		return 0, 1, nil
	}
	a, b, ok := strings.Cut(p.Shard, "/")
	index, err1 := strconv.Atoi(a)
	of, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || of < 1 || of > MostShards || index < 0 || index >= of {
		return 0, 1, fmt.Errorf("%q is not INDEX/COUNT, such as 0/2 and 1/2 for two processes: an index counts from 0, and a count is up to %d", p.Shard, MostShards)
	}
	return index, of, nil
}

// Epoch is the instant of StartAt; zero: at once.
func (p *Plan) Epoch() (time.Time, error) {
	if p.StartAt == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, p.StartAt)
	if err != nil {
		return t, fmt.Errorf("%q is no instant such as 2031-05-04T10:30:00Z (date -u -d '+30 sec' +%%FT%%TZ prints one)", p.StartAt)
	}
	return t, nil
}

// checkShard checks that the load can be offered in parts.
func (p *Plan) checkShard(v *checker) {
	_, err := p.Epoch()
	v.ok(err == nil, "start-at", "%v", err)
	v.ok(p.StartAt == "" || !p.InPool(), "start-at", "engines in this process begin with the load: leave it out, or give --base-url")
	if p.Shard == "" {
		return
	}
	_, _, err = p.Part()
	v.ok(err == nil, "shard", "%v", err)
	v.ok(!p.InPool(), "shard", "each process would have engines of its own, and none the whole load: give --base-url, or leave it out")
	v.ok(p.StartAt != "", "start-at", "parts of one load need a common start: give all of them the same instant, some seconds ahead")
	v.ok(!p.Searches(), "shard", "a search for the highest rate is of one process: give --request-rate")
	v.ok(p.Concurrency == 0 && p.SessionsConcurrency == 0, "shard", "a closed loop has no schedule that could be divided: give a rate in place of --concurrency or --sessions-concurrency")
	v.ok(p.MaxConcurrency == 0 && p.MaxLiveSessions == 0, "shard", "processes don't know how much the others have in flight: leave out --max-concurrency and --max-live-sessions")
	v.ok(p.ProbeRate == 0, "probe-request-rate", "probes are sent by one process: send them with a run of one request-rate beside the parts, or leave them out")
	d, n, _ := p.Warming()
	v.ok(n == 0 && (p.Cache != CacheWarm || d > 0), "warmup", "the window has to open at one instant in all parts: give a time, such as 30s")
}
