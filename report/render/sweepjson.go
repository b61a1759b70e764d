package render

import (
	"encoding/json"
	"io"

	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/query"
	"goodput/report/stats"
)

type jsonSweep struct {
	Schema      int         `json:"schema"`
	Run         string      `json:"run"`
	PlanHash    string      `json:"plan_hash"`
	Method      string      `json:"method"`
	Preset      string      `json:"preset"`
	Virtual     bool        `json:"virtual"`
	Target      string      `json:"target"`
	N           int         `json:"n"`
	Seeds       []uint64    `json:"seeds"`
	Tolerance   float64     `json:"tolerance"`
	Interrupted bool        `json:"interrupted"`
	Knees       []jsonKnee  `json:"knees"`
	Trials      []jsonTrial `json:"trials"`
	Inflections []jsonBend  `json:"inflections"`
}

type jsonKnee struct {
	Arm      string         `json:"arm"`
	SLO      string         `json:"slo"`
	Outcome  string         `json:"outcome"`
	Why      *string        `json:"why"`
	Rate     *float64       `json:"rate"`
	Lo       *float64       `json:"lo"`
	Hi       *float64       `json:"hi"`
	Interval string         `json:"interval"`
	N        int            `json:"n"`
	AtLeast  *float64       `json:"at_least"` // censored: it is no less than that
	Alone    jsonAlone      `json:"alone"`
	Seeds    []jsonSeedKnee `json:"seeds"`
}

type jsonAlone struct {
	Requests int     `json:"requests"`
	Good     int     `json:"good"`
	Feasible bool    `json:"feasible"`
	Tightest *string `json:"tightest"`
}

type jsonSeedKnee struct {
	Seed    uint64   `json:"seed"`
	Outcome string   `json:"outcome"`
	Why     *string  `json:"why"`
	Rate    *float64 `json:"rate"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
}

type jsonTrial struct {
	Arm        string                `json:"arm"`
	SLO        *string               `json:"slo"`
	Seed       uint64                `json:"seed"`
	Rate       float64               `json:"rate"`
	N          int                   `json:"n"`
	Warmup     int                   `json:"warmup"`
	Good       int                   `json:"good"`
	Bad        int                   `json:"bad"`
	Attainment *float64              `json:"attainment"`
	Goodput    *float64              `json:"goodput"`
	Delivered  *float64              `json:"delivered"`
	Clauses    []jsonTally           `json:"clauses"`
	Verdict    string                `json:"verdict"`
	Stop       string                `json:"stop"`
	Drift      bool                  `json:"drift"`
	Invalid    *string               `json:"invalid"`
	Verify     bool                  `json:"verify"`
	InFlight   int                   `json:"max_in_flight"`
	HitRate    *float64              `json:"hit_rate"`
	LagP99     *float64              `json:"lag_p99_ms"`
	Metrics    map[string]jsonMetric `json:"metrics"`
}

type jsonTally struct {
	Good int `json:"good"`
	Bad  int `json:"bad"`
}

type jsonBend struct {
	Name string   `json:"name"`
	Rate *float64 `json:"rate"`
	Note string   `json:"note"`
}

// SweepJSON writes a sweep as one indented object.
func SweepJSON(w io.Writer, s *Sweep) error {
	out := jsonSweep{
		Schema: schema, Run: s.Dir, PlanHash: s.PlanHash, Method: s.Method, Preset: s.Preset, Virtual: s.Virtual, Target: s.Target,
		N: s.N, Seeds: s.Seeds, Tolerance: s.Tolerance, Interrupted: s.Interrupted,
		Knees: []jsonKnee{}, Trials: []jsonTrial{}, Inflections: []jsonBend{},
	}
	for i := range s.Knees {
		k := &s.Knees[i]
		if s.Method == "bisect" {
			out.Knees = append(out.Knees, s.kneeJSON(k))
		}
		for j := range k.Trials {
			out.Trials = append(out.Trials, trialJSON(s.Arm, k.SLO, &k.Trials[j]))
		}
	}
	for _, x := range s.Bends {
		out.Inflections = append(out.Inflections, jsonBend{x.Name, number(x.Rate), x.Note})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func (s *Sweep) kneeJSON(k *SweepKnee) jsonKnee {
	out := jsonKnee{
		Arm: s.Arm, SLO: k.SLO, Outcome: string(k.Outcome), Why: phrase(k.Why), Rate: number(k.Rate), Lo: number(k.Lo), Hi: number(k.Hi),
		Interval: IntervalLabel(s.N), N: s.N, Seeds: []jsonSeedKnee{},
		Alone: jsonAlone{k.Zero.Requests, k.Zero.Good, k.Zero.Feasible, phrase(k.Zero.Tightest)},
	}
	if lo := k.Passed(); k.Outcome == knee.Censored && lo > 0 {
		out.AtLeast = &lo
	}
	for _, x := range k.Seeds {
		out.Seeds = append(out.Seeds, jsonSeedKnee{x.Seed, string(x.Outcome), phrase(x.Why), number(x.Rate), number(x.Lo), number(x.Hi)})
	}
	return out
}

func trialJSON(arm, slo string, t *knee.Trial) jsonTrial {
	f := &t.Figures
	out := jsonTrial{
		Arm: arm, SLO: phrase(slo), Seed: t.Seed, Rate: t.Rate, N: t.N, Warmup: t.Warmup, Good: t.Good, Bad: t.Bad,
		Goodput: number(t.Goodput()), Clauses: []jsonTally{}, Verdict: Verdict(t), Stop: string(t.Stop), Drift: t.Drift, Invalid: phrase(t.Invalid),
		Verify: t.Verify, InFlight: f.MaxInFlight, HitRate: number(f.HitRate), Metrics: map[string]jsonMetric{},
	}
	if lo, _ := t.Attainment(); t.Whole() {
		out.Attainment = number(lo)
	}
	if f.Span > 0 {
		out.Delivered = &f.Delivered
	}
	if f.LagP99 != record.Null {
		lag := float64(f.LagP99) / 1e6
		out.LagP99 = &lag
	}
	for _, c := range t.Clauses {
		out.Clauses = append(out.Clauses, jsonTally(c))
	}
	for _, m := range []struct {
		name string
		s    stats.Summary
	}{{"ttft", f.TTFT}, {"tpot", f.TPOT}, {"e2e", f.E2E}} {
		out.Metrics[m.name] = metricJSON(inUnit(query.Metric{Summary: m.s}))
	}
	return out
}

// number is nil for a figure that does not exist.
func number(v float64) *float64 { return maybe(v, true) }

// phrase is nil for the empty one.
func phrase(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
