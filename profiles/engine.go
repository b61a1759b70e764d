package profiles

import (
	"errors"
	"fmt"
	"strings"
)

// Stated is the status of a setting that the source states.
const Stated Status = "stated"

// Engine is what one version of a serving engine does by default: the switches
// in which versions differ.
type Engine struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`

	// AsyncScheduling: the step after the next one is scheduled when a step ends, so
	// that an arrival waits for one step more.
	AsyncScheduling Switch `yaml:"async_scheduling"`
	// HostOverlap: the host prepares a step while the GPU computes the last one.
	HostOverlap Switch `yaml:"host_overlap"`
	// ReserveFullISL: the whole prompt must fit into free KV blocks, not just the
	// first chunk.
	ReserveFullISL Switch `yaml:"scheduler_reserve_full_isl"`
	// PrependUnhashed: KV blocks without cached content are used first.
	PrependUnhashed Switch `yaml:"prepend_unhashed_blocks"`
	// SpeculativeAdmission: KV slots for the drafter of speculative decoding are
	// kept from admission on.
	SpeculativeAdmission Switch `yaml:"speculative_admission_lookahead"`
	// Watermark is the share of the KV blocks that admission leaves free; 0: none.
	Watermark Coefficient `yaml:"watermark"`
	// Limits bound a step.
	Limits Limits `yaml:"step_limits"`
}

// Switch is a setting that is on or off, and where that is known from.
type Switch struct {
	Value  bool   `yaml:"value"`
	Source string `yaml:"source"`
	Date   string `yaml:"date"`
	Status Status `yaml:"status"`
	Note   string `yaml:"note,omitempty"`
}

// Limits are the defaults that depend on the GPU.
type Limits struct {
	Large  StepLimits `yaml:"large"`
	Other  StepLimits `yaml:"other"`
	Source string     `yaml:"source"`
	Date   string     `yaml:"date"`
	Status Status     `yaml:"status"`
	Note   string     `yaml:"note,omitempty"`
}

// StepLimits bound the tokens and the sequences of one step.
type StepLimits struct {
	MaxNumBatchedTokens int `yaml:"max_num_batched_tokens"`
	MaxNumSeqs          int `yaml:"max_num_seqs"`
}

// Engines lists the names that LoadEngine knows, sorted.
func Engines() []string { return names("engine") }

// LoadEngine returns an engine profile. An unknown name is an error that lists
// the known ones.
func LoadEngine(name string) (Engine, error) {
	data, err := read("engine", name)
	if err != nil {
		return Engine{}, err
	}
	return parseEngine(name, data)
}

// StepLimits are the limits on a GPU: vLLM calls one large from 70 GiB on, but
// never an A100.
func (e *Engine) StepLimits(gpu *GPU) StepLimits {
	if gpu.Memory.Value >= 70<<30 && !strings.HasPrefix(gpu.Name, "a100") {
		return e.Limits.Large
	}
	return e.Limits.Other
}

func parseEngine(name string, data []byte) (Engine, error) {
	var e Engine
	if err := decode(data, &e); err != nil {
		return Engine{}, fmt.Errorf("engine profile %s: %w", name, err)
	}
	if e.Name != name {
		return Engine{}, fmt.Errorf("engine profile %s: name is %q: need the name of the file", name, e.Name)
	}
	if err := e.validate(); err != nil {
		return Engine{}, fmt.Errorf("engine profile %s: %w", name, err)
	}
	return e, nil
}

func (e *Engine) validate() error {
	var errs []error
	l := &e.Limits
	for _, f := range []struct {
		name, source, date string
		status             Status
	}{
		{"async_scheduling", e.AsyncScheduling.Source, e.AsyncScheduling.Date, e.AsyncScheduling.Status},
		{"host_overlap", e.HostOverlap.Source, e.HostOverlap.Date, e.HostOverlap.Status},
		{"scheduler_reserve_full_isl", e.ReserveFullISL.Source, e.ReserveFullISL.Date, e.ReserveFullISL.Status},
		{"prepend_unhashed_blocks", e.PrependUnhashed.Source, e.PrependUnhashed.Date, e.PrependUnhashed.Status},
		{"speculative_admission_lookahead", e.SpeculativeAdmission.Source, e.SpeculativeAdmission.Date, e.SpeculativeAdmission.Status},
		{"watermark", e.Watermark.Source, e.Watermark.Date, e.Watermark.Status},
		{"step_limits", l.Source, l.Date, l.Status},
	} {
		switch {
		case f.source == "" || f.date == "":
			errs = append(errs, fmt.Errorf("%s: need a source and a date", f.name))
		case f.status != Stated && f.status != Measured && f.status != Assumed:
			errs = append(errs, fmt.Errorf("%s has status %q: need %s, %s or %s", f.name, f.status, Stated, Measured, Assumed))
		}
	}
	if w := e.Watermark.Value; !(w >= 0 && w < 1) {
		errs = append(errs, fmt.Errorf("watermark is %v: need a share, 0 <= v < 1", w))
	}
	for _, n := range []int{l.Large.MaxNumBatchedTokens, l.Large.MaxNumSeqs, l.Other.MaxNumBatchedTokens, l.Other.MaxNumSeqs} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("step_limits holds %d: need at least 1", n))
		}
	}
	return errors.Join(errs...)
}
