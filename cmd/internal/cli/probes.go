package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"goodput/datasets"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/render"
)

// What a probe asks: fewer tokens than a block of KV cache holds, so that it neither finds
// anything cached nor leaves anything behind, and the least that can be answered.
const (
	probeIn  = 8
	probeOut = 1
)

// newProbes makes what is sent beside the load.
func newProbes(p *plan.Plan) (dispatch.Probes, error) {
	var out dispatch.Probes
	if p.ProbeRate == 0 {
		return out, nil
	}
	set, err := datasets.NewRandom(datasets.Random{InputLen: probeIn, OutputLen: probeOut, NumPrompts: 1, Seed: p.Seed})
	if err != nil {
		return out, fmt.Errorf("--probe-request-rate: %w", err)
	}
	set.Item(0, &out.Item)
	out.Every = time.Duration(float64(time.Second) / float64(p.ProbeRate))
	return out, nil
}

// describeProbes prints what is sent beside the load.
func describeProbes(w io.Writer, p *plan.Plan) {
	if p.ProbeRate > 0 {
		fmt.Fprintf(w, "probes     %v/s beside the load, of %d tokens for %d\n", p.ProbeRate, probeIn, probeOut)
	}
}

// loadProbes reads the figures of the probes of a run, behind those of its classes.
func loadProbes(r *render.Report, p *plan.Plan) error {
	if p.ProbeRate == 0 {
		return nil
	}
	f, err := query.Load(r.Dir, query.Scope{Label: "class", Value: record.ProbeClass})
	if err != nil && !errors.Is(err, query.ErrEmpty) {
		return err
	}
	r.Classes = append(r.Classes, render.Class{Name: record.ProbeClass, Probes: true, Figures: f})
	return nil
}
