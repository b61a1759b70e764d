package render

import (
	"encoding/json"
	"io"
	"math"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

// schema is the version of the JSON. Keys are only ever added.
const schema = 1

type jsonReport struct {
	Schema      int                   `json:"schema"`
	Run         string                `json:"run"`
	PlanHash    string                `json:"plan_hash"`
	Seed        uint64                `json:"seed"`
	Virtual     bool                  `json:"virtual"`
	State       string                `json:"state"`
	Load        map[string]string     `json:"load"`
	Arrivals    jsonArrivals          `json:"arrivals"`
	WindowS     float64               `json:"window_s"`
	Requests    int64                 `json:"requests"`
	ClosedLoop  *string               `json:"closed_loop_sessions"`
	OfferedRPS  *float64              `json:"offered_rps"`
	AchievedRPS *float64              `json:"achieved_rps"`
	OutputTokS  *float64              `json:"output_tok_s"`
	Outcomes    map[string]int64      `json:"outcomes"`
	Reasons     map[string]string     `json:"reasons"`
	Attempts    jsonAttempts          `json:"attempts"`
	SLO         *string               `json:"slo"`
	Attainment  *float64              `json:"attainment"`
	GoodputRPS  *float64              `json:"goodput_rps"`
	Metrics     map[string]jsonMetric `json:"metrics"`
	Exploratory []jsonExploratory     `json:"exploratory_within_run,omitempty"` // only when asked for
	Classes     []jsonClass           `json:"classes"`
	Replicas    []jsonReplica         `json:"replicas"`       // as answers name them
	OtherReps   int                   `json:"other_replicas"` // beyond those
	Cache       jsonCache             `json:"cache"`
	Engine      jsonEngine            `json:"engine"`
	Engines     *jsonEngines          `json:"engines"`
	Drafts      jsonDrafts            `json:"drafts"`
	Spent       *jsonSpent            `json:"spent"`
	Way         *jsonSpent            `json:"way"` // null in one process
	Server      *jsonServer           `json:"server"`
	Sessions    *jsonSessions         `json:"sessions"`
	Triggers    []jsonTrigger         `json:"triggers"`
	Index       []jsonTrigger         `json:"steps_by_index"`
	Events      []record.Event        `json:"events"`
	Health      jsonHealth            `json:"health"`
	Checks      jsonChecks            `json:"checks"`
	Diagnoses   []jsonFinding         `json:"diagnoses"`
	Generator   *jsonGenerator        `json:"generator"`
	Shard       *record.Shard         `json:"shard,omitempty"`  // of a run that is a part
	Shards      []record.MergedShard  `json:"shards,omitempty"` // of one that was merged
	Warnings    []string              `json:"warnings"`
}

type jsonMetric struct {
	Unit       string   `json:"unit"`
	N          int64    `json:"n"`
	NEff       *float64 `json:"n_eff"` // independent values that the n are worth
	Mean       *float64 `json:"mean"`
	P50        *float64 `json:"p50"`
	P90        *float64 `json:"p90"`
	P95        *float64 `json:"p95"`
	P99        *float64 `json:"p99"`
	P999       *float64 `json:"p99.9"`
	Max        *float64 `json:"max"`
	Unreliable []string `json:"unreliable"`
}

type jsonCache struct {
	PlannedHit  *float64 `json:"planned_hit"`
	PoolHit     *float64 `json:"pool_hit"` // of one cache of the pool's size
	MeasuredHit *float64 `json:"measured_hit"`
	Gap         *float64 `json:"gap"`
	Prompts     *string  `json:"prompts"`
	Reset       bool     `json:"reset"`
}

type jsonEngine struct {
	Preemptions      *int64 `json:"preemptions"`
	RecomputedTokens *int64 `json:"recomputed_tokens"`
}

// jsonDrafts is all null without speculative decoding.
type jsonDrafts struct {
	Verified         *int64   `json:"verified"`
	Tokens           *int64   `json:"tokens"`
	Accepted         *int64   `json:"accepted"`
	AcceptanceLength *float64 `json:"acceptance_length"`
	AcceptanceRate   *float64 `json:"acceptance_rate"`
}

type jsonHealth struct {
	Verdict string   `json:"verdict"`
	Why     []string `json:"why"`
}

// JSON writes the report as one indented object. Figures that do not exist are
// null; quantiles over too few values are there, and named under "unreliable".
func JSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(Object(r))
}

// Object is what JSON writes, for encoding as a part of something else.
func Object(r *Report) any {
	out := jsonReport{
		Schema: schema, Run: r.Dir, PlanHash: r.Manifest.PlanHash, Seed: r.Manifest.Seed,
		Virtual: r.Manifest.Virtual, State: string(r.Manifest.State),
		Load:     r.Manifest.Load,
		Arrivals: arrivalsJSON(&r.Arrivals),
		WindowS:  r.Window.Seconds(), Requests: r.Scheduled,
		OfferedRPS: maybe(r.Offered()), AchievedRPS: maybe(r.Achieved()), OutputTokS: maybe(r.throughput()),
		Outcomes: outcomesJSON(r.Figures), Reasons: map[string]string{}, GoodputRPS: maybe(r.goodput()),
		Attempts: r.attemptsJSON(),
		Metrics:  metricsJSON(r.Figures), Exploratory: exploratoryJSON(r.Exploratory),
		Classes:  r.classesJSON(),
		Replicas: r.replicasJSON(), OtherReps: r.OtherReplicas,
		Spent: spentJSON(&r.Spent), Way: r.wayJSON(),
		Server:   r.joinedJSON(),
		Engines:  r.enginesJSON(),
		Sessions: r.sessionsJSON(),
		Triggers: triggersJSON(r.Triggers),
		Index:    triggersJSON(r.StepIndex),
		Events:   append([]record.Event{}, r.Manifest.Events...),
		Health:   jsonHealth{string(r.Health.Verdict), some(r.Health.Why)},
		Checks:   r.checksJSON(), Diagnoses: r.findingsJSON(),
		Generator: generatorJSON(r.Manifest.Generator, r.taken()),
		Shard:     r.Manifest.Shard, Shards: r.Manifest.Shards,
		Warnings: some(r.Warnings()),
	}
	if all, _, ok := r.attainment(); ok {
		out.Attainment = &all
	}
	if n := r.Manifest.Load[record.LoadLive]; n != "" {
		out.ClosedLoop = &n
	}
	if r.SLO != "" {
		out.SLO = &r.SLO
	}
	for o := range r.Outcomes {
		if why := r.Reasons[o]; why != "" {
			out.Reasons[record.Outcome(o).String()] = why
		}
	}
	out.Cache.PlannedHit = maybe(r.PlannedHit.Value(), r.PlannedHit.Known())
	out.Cache.PoolHit = maybe(r.PoolHit.Value(), r.PoolHit.Known())
	out.Cache.MeasuredHit = maybe(r.MeasuredHit.Value(), r.MeasuredHit.Known())
	out.Cache.Gap = maybe(r.HitGap())
	if state := r.Manifest.Dataset[record.DatasetCache]; state != "" {
		out.Cache.Prompts = &state
	}
	out.Cache.Reset = r.Manifest.Target[record.TargetCacheReset] != ""
	if r.Accounts > 0 {
		out.Engine = jsonEngine{&r.Preemptions, &r.Recomputed}
	}
	if d := &r.Drafts; d.Requests > 0 {
		out.Drafts = jsonDrafts{&d.Verified, &d.Tokens, &d.Accepted, maybe(d.Length()), maybe(d.Rate())}
	}
	return out
}

// outcomesJSON counts how requests ended.
func outcomesJSON(f *query.Figures) map[string]int64 {
	out := map[string]int64{}
	for o, n := range f.Outcomes {
		if n > 0 {
			out[record.Outcome(o).String()] = n
		}
	}
	return out
}

func metricsJSON(f *query.Figures) map[string]jsonMetric {
	out := map[string]jsonMetric{}
	for _, m := range f.Metrics {
		j := metricJSON(inUnit(m))
		j.NEff, j.Unreliable = maybe(m.Independent, m.Independent > 0), some(stats.Unreliable(m.Worth()))
		out[m.Name] = j
	}
	return out
}

func metricJSON(s stats.Summary) jsonMetric {
	out := jsonMetric{Unit: unitName, N: s.N, Unreliable: some(stats.Unreliable(s.N))}
	if s.N == 0 {
		return out
	}
	out.Mean, out.P50, out.P90, out.P95 = number(s.Mean), number(s.P50), number(s.P90), number(s.P95)
	out.P99, out.P999, out.Max = number(s.P99), number(s.P99_9), number(s.Max)
	return out
}

// maybe is nil for a figure that does not exist.
func maybe(v float64, ok bool) *float64 {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// some makes an empty list of a nil one, so that readers can iterate.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
