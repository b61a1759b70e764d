package render

import (
	"fmt"
	"strings"
	"time"

	"goodput/loadgen/record"
)

// generator writes how the process fared that offered the load.
func (r *Report) generator(b *strings.Builder) {
	verdict := "ok"
	if !r.Health.Valid() {
		verdict = string(r.Health.Verdict)
	}
	if shards := r.Manifest.Shards; len(shards) > 0 {
		fmt.Fprintf(b, "generator  %s: %d of %d shards\n", verdict, len(shards), shards[0].Of)
		for i := range shards {
			s := &shards[i]
			fmt.Fprintf(b, "           shard %d: %s%s\n", s.Index, s.Verdict, fared(s.Generator, scheduled(s)))
		}
		return
	}
	fmt.Fprintf(b, "generator  %s%s\n", verdict, fared(r.Manifest.Generator, r.taken()))
}

// scheduled is the number of a shard's requests; 0: unknown.
func scheduled(s *record.MergedShard) int64 {
	if s.Counts == nil {
		return 0
	}
	return s.Counts.Scheduled
}

// taken is the number of requests that took the process's time: all, also those of the
// warm-up and those whose rows were lost.
func (r *Report) taken() int64 {
	if c := r.Manifest.Counts; c != nil {
		return c.Scheduled
	}
	return r.Scheduled
}

// fared is what there is to tell of the process, after a colon; "" if nobody watched.
func fared(g *record.Generator, requests int64) string {
	if g == nil {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if share, ok := g.Share(); ok {
		add("CPU %.0f %% of %d", 100*share, g.Procs)
	}
	if v, ok := perRequest(g, requests); ok {
		add("%.3g ms CPU a request", v)
	}
	if g.MachineBusy != nil {
		add("machine busy %.0f %%", 100**g.MachineBusy)
	}
	if g.SchedP99 != nil {
		add("goroutines wait %s (P99)", brief(*g.SchedP99))
	}
	if g.GCPauseMax != nil {
		add("GC stops up to %s", brief(*g.GCPauseMax))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// perRequest is the process's CPU time in milliseconds over the requests.
func perRequest(g *record.Generator, requests int64) (ms float64, ok bool) {
	if g == nil || g.CPU == nil || requests == 0 {
		return 0, false
	}
	return g.CPU.Seconds() * 1e3 / float64(requests), true
}

// brief prints two or three digits.
func brief(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// jsonGenerator is null where nobody watched, as in virtual time.
type jsonGenerator struct {
	Procs       int      `json:"procs"`
	CPUShare    *float64 `json:"cpu_share"`
	Busiest     *float64 `json:"busiest_share"`
	MachineBusy *float64 `json:"machine_busy_share"`
	CPUMS       *float64 `json:"cpu_ms_per_request"`
	SchedP99    *float64 `json:"sched_p99_ms"`
	GCPauseMax  *float64 `json:"gc_pause_max_ms"`
	Files       *int64   `json:"files"`
	FileLimit   *int64   `json:"file_limit"`
	Sockets     *int64   `json:"sockets"`
	Ports       *int64   `json:"ports"`
}

func generatorJSON(g *record.Generator, requests int64) *jsonGenerator {
	if g == nil {
		return nil
	}
	ms := func(d *time.Duration) *float64 {
		if d == nil {
			return nil
		}
		return maybe(d.Seconds()*1e3, true)
	}
	return &jsonGenerator{
		Procs: g.Procs, CPUShare: maybe(g.Share()), Busiest: g.Busiest, MachineBusy: g.MachineBusy, CPUMS: maybe(perRequest(g, requests)),
		SchedP99: ms(g.SchedP99), GCPauseMax: ms(g.GCPauseMax),
		Files: g.Files, FileLimit: g.FileLimit, Sockets: g.Sockets, Ports: g.Ports,
	}
}
