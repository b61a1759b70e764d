package evidence

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Stage is a measured stage of an open-loop run: a constant rate for a time, of prompts
// of which a part is shared. Times are in ms.
type Stage struct {
	File string
	Line int

	Run      string
	Model    string // the checkpoint
	Hardware string
	// Engine is the name of the engine and its version, as in profiles.LoadEngine;
	// empty: the table does not say.
	Engine                     string
	TP                         int
	MaxSeqs, MaxTokens, Blocks int
	System, Question, Output   int // tokens of a request; the first are shared
	Prompts                    int // distinct shared parts
	// Distinct is how many whole prompts there are, sent in turn; 0: the table does not
	// say.
	Distinct                    int
	Rate, Duration              float64
	TTFT, ITL                   float64 // means
	E2EMean, E2EP90, E2EP99     float64
	TTFTP90, TTFTP99            float64
	CPUBlocks, Users, MultiTurn string // as the table has them; nothing depends on them
	Index                       int
}

// Where is file and line, for messages.
func (s *Stage) Where() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// PerToken is E2E over the tokens of an answer.
func (s *Stage) PerToken() float64 { return s.E2EMean / float64(s.Output) }

// agreement is how far ITL may be from PerToken: of tables whose ITL leaves the first
// token out it is less by TTFT over the answer, of others by rounding alone.
const agreement = 0.05

// Contradiction says why ITL can't be right, or the length of the answers: with both,
// E2E is not their product. Empty: they agree.
func (s *Stage) Contradiction() string {
	tokens := s.E2EMean / s.ITL
	if math.Abs(tokens/float64(s.Output)-1) <= agreement || math.Abs(1+(s.E2EMean-s.TTFT)/s.ITL-float64(s.Output)) <= agreement*float64(s.Output) {
		return ""
	}
	return fmt.Sprintf("contradicted by its own E2E: %.0f ms at %.4g ms a token are %.0f tokens, and %d were asked for", s.E2EMean, s.ITL, tokens, s.Output)
}

type stageColumn struct {
	name     string
	optional bool
	set      func(s *Stage, cell string) error
}

func stageColumns() []stageColumn {
	word := func(f func(*Stage) *string) func(*Stage, string) error {
		return func(s *Stage, cell string) error { *f(s) = cell; return nil }
	}
	whole := func(least float64, f func(*Stage) *int) func(*Stage, string) error {
		return func(s *Stage, cell string) error {
			v, err := decimal(cell)
			if err != nil || v != math.Trunc(v) || v < least || v > 1e9 {
				return fmt.Errorf("%q: need a whole number from %g on", cell, least)
			}
			*f(s) = int(v)
			return nil
		}
	}
	amount := func(least, most float64, unit string, f func(*Stage) *float64) func(*Stage, string) error {
		return func(s *Stage, cell string) error {
			v, err := decimal(cell)
			if err != nil || !(v >= least && v <= most) {
				return fmt.Errorf("%q: need %g to %g %s", cell, least, most, unit)
			}
			*f(s) = v
			return nil
		}
	}
	ms := func(f func(*Stage) *float64) func(*Stage, string) error { return amount(0.1, 1e7, "ms", f) }
	return []stageColumn{
		{"exp", false, word(func(s *Stage) *string { return &s.Run })},
		{"model", false, word(func(s *Stage) *string { return &s.Model })},
		{"hardware", false, word(func(s *Stage) *string { return &s.Hardware })},
		{"engine", true, word(func(s *Stage) *string { return &s.Engine })},
		{"tp", false, whole(1, func(s *Stage) *int { return &s.TP })},
		{"max_num_seqs", false, whole(1, func(s *Stage) *int { return &s.MaxSeqs })},
		{"max_num_batched_tokens", false, whole(1, func(s *Stage) *int { return &s.MaxTokens })},
		{"num_gpu_blocks", false, whole(2, func(s *Stage) *int { return &s.Blocks })},
		{"cpu_blocks", true, word(func(s *Stage) *string { return &s.CPUBlocks })},
		{"system_prompt_len", false, whole(0, func(s *Stage) *int { return &s.System })},
		{"question_len", false, whole(1, func(s *Stage) *int { return &s.Question })},
		{"output_len", false, whole(2, func(s *Stage) *int { return &s.Output })},
		{"num_system_prompts", false, whole(1, func(s *Stage) *int { return &s.Prompts })},
		{"distinct_prompts", true, whole(1, func(s *Stage) *int { return &s.Distinct })},
		{"users_per_system_prompt", true, word(func(s *Stage) *string { return &s.Users })},
		{"multi_turn", true, word(func(s *Stage) *string { return &s.MultiTurn })},
		{"stage", false, whole(0, func(s *Stage) *int { return &s.Index })},
		{"rate_rps", false, amount(1e-3, 1e4, "requests per second", func(s *Stage) *float64 { return &s.Rate })},
		{"duration_s", false, amount(1, 1e5, "s", func(s *Stage) *float64 { return &s.Duration })},
		{"ttft_mean_ms", false, ms(func(s *Stage) *float64 { return &s.TTFT })},
		{"ttft_p90_ms", true, ms(func(s *Stage) *float64 { return &s.TTFTP90 })},
		{"ttft_p99_ms", true, ms(func(s *Stage) *float64 { return &s.TTFTP99 })},
		{"e2e_mean_ms", false, ms(func(s *Stage) *float64 { return &s.E2EMean })},
		{"e2e_p90_ms", false, ms(func(s *Stage) *float64 { return &s.E2EP90 })},
		{"e2e_p99_ms", false, ms(func(s *Stage) *float64 { return &s.E2EP99 })},
		{"itl_mean_ms", false, ms(func(s *Stage) *float64 { return &s.ITL })},
	}
}

// ParseStages reads a table of stages. The first thing that is wrong is an *Error.
func ParseStages(file string, r io.Reader) ([]Stage, error) {
	rows := csv.NewReader(r)
	header, err := rows.Read()
	if err != nil {
		return nil, unreadable(file, 1, err)
	}
	at, err := stageHeader(file, header)
	if err != nil {
		return nil, err
	}
	var out []Stage
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(file, len(out)+2, err)
		}
		line, _ := rows.FieldPos(0)
		s := Stage{File: file, Line: line}
		for i, c := range at {
			if why := c.set(&s, strings.TrimSpace(cells[i])); why != nil {
				return nil, &Error{file, line, c.name, why.Error()}
			}
		}
		if s.E2EMean < s.TTFT {
			return nil, &Error{file, line, "e2e_mean_ms", fmt.Sprintf("%v is less than ttft_mean_ms, %v: are the units right?", s.E2EMean, s.TTFT)}
		}
		if s.Rate*s.Duration > 1e6 {
			return nil, &Error{file, line, "duration_s", fmt.Sprintf("%.0f requests: need a million at most", s.Rate*s.Duration)}
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, &Error{file, 1, "", "no rows behind the header: need at least one"}
	}
	return out, nil
}

// stageHeader finds the columns of a header.
func stageHeader(file string, header []string) ([]stageColumn, error) {
	known := map[string]stageColumn{}
	for _, c := range stageColumns() {
		known[c.name] = c
	}
	var out []stageColumn
	seen := map[string]bool{}
	for _, name := range header {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		c, ok := known[name]
		switch {
		case !ok:
			return nil, &Error{file, 1, name, "no such column of a table of stages"}
		case seen[name]:
			return nil, &Error{file, 1, name, "the column is there twice: need it once"}
		}
		seen[name] = true
		out = append(out, c)
	}
	for _, c := range stageColumns() {
		if !c.optional && !seen[c.name] {
			return nil, &Error{file, 1, c.name, "the column is missing"}
		}
	}
	return out, nil
}
