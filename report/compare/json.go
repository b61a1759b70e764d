package compare

import (
	"encoding/json"
	"io"
	"math"

	"goodput/report/gate"
	"goodput/report/render"
)

// schema is the version of the JSON. Keys are only ever added.
const schema = 1

// number is a JSON number, or null for one that does not exist.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

type jsonFigure struct {
	Metric string `json:"metric"`
	Agg    string `json:"agg"`
	Unit   string `json:"unit"`
	Mean   number `json:"mean"` // over seeds
}

type jsonArm struct {
	Name    string       `json:"name"`
	Figures []jsonFigure `json:"figures"`
	Knee    *jsonKnee    `json:"knee"` // null: not searched
	Runs    []any        `json:"runs"` // as run prints each
}

// jsonKnee is the knee of one arm, its interval that between seeds at 95 %.
type jsonKnee struct {
	SLO     string  `json:"slo"`
	Outcome string  `json:"outcome"`
	Why     *string `json:"why"`
	Rate    number  `json:"rate"`
	Lo      number  `json:"lo"`
	Hi      number  `json:"hi"`
	N       int     `json:"n"`
}

type jsonPair struct {
	Metric     string `json:"metric"`
	Agg        string `json:"agg"`
	Unit       string `json:"unit"`
	Base       string `json:"base"`
	Arm        string `json:"arm"`
	BaseMean   number `json:"base_mean"`
	ArmMean    number `json:"arm_mean"`
	Ratio      number `json:"ratio"`
	Difference number `json:"difference"` // of figures that may be 0, instead of the ratio
	Lo         number `json:"lo"`
	Hi         number `json:"hi"`
	N          int    `json:"n"`
	P          number `json:"p"`
	HolmP      number `json:"holm_p"`
	Conclusive bool   `json:"conclusive"`
}

// JSON writes the comparison as one object.
func (s *Set) JSON(w io.Writer) error {
	arms := make([]jsonArm, len(s.Arms))
	for a, name := range s.Arms {
		arms[a] = jsonArm{Name: name}
		for i := range measures {
			m := &measures[i]
			k := gate.Known(m.metric)
			arms[a].Figures = append(arms[a].Figures, jsonFigure{k.Name, m.agg.String(), k.Unit(), number(s.mean(a, m))})
		}
		if k := s.kneeOf(a); k != nil {
			arms[a].Knee = &jsonKnee{k.SLO, string(k.Outcome), nil, number(k.Rate), number(k.Lo), number(k.Hi), k.N}
			if k.Why != "" {
				arms[a].Knee.Why = &k.Why
			}
		}
		for _, t := range s.Trials[a] {
			arms[a].Runs = append(arms[a].Runs, render.Object(t.Report))
		}
	}
	var split *jsonSplit
	if s.Split != nil {
		split = &jsonSplit{s.Split.By, pairsJSON(s.Split.Set)}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema int        `json:"schema"`
		Run    string     `json:"run"`
		Seeds  []uint64   `json:"seeds"`
		Arms   []jsonArm  `json:"arms"`
		Pairs  []jsonPair `json:"pairs"`
		Split  *jsonSplit `json:"split"` // null: not asked
		Costs  []jsonCost `json:"router_cost"`
		// Classes are those of the load; none: it is all alike.
		Classes []jsonClass `json:"classes"`
	}{schema, s.Dir, s.Seeds, arms, pairsJSON(s), split, s.costsJSON(), s.classesJSON()})
}

// jsonSplit has the differences between the parts of one run.
type jsonSplit struct {
	By    string     `json:"by"`
	Pairs []jsonPair `json:"pairs"`
}

func pairsJSON(s *Set) []jsonPair { return jsonPairs(s.Pairs()) }

func jsonPairs(list []Pair) []jsonPair {
	pairs := []jsonPair{}
	for _, p := range list {
		j := jsonPair{
			Metric: p.Metric.Name, Agg: p.Agg.String(), Unit: p.Metric.Unit(), Base: p.Base, Arm: p.Arm,
			BaseMean: number(p.BaseMean), ArmMean: number(p.ArmMean), Ratio: number(math.NaN()), Difference: number(math.NaN()),
			Lo: number(p.Lo), Hi: number(p.Hi), N: p.N, P: number(p.P), HolmP: number(p.Holm), Conclusive: p.Conclusive(),
		}
		if p.Ratio {
			j.Ratio = number(p.Value)
		} else {
			j.Difference = number(p.Value)
		}
		pairs = append(pairs, j)
	}
	return pairs
}
