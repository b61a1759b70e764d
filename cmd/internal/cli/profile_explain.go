package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/plan"
	"goodput/profiles"
)

// shape is a step to be explained.
type shape struct{ batch, context, prefill int }

func newProfileExplain(env *Env) *cobra.Command {
	var flags *planFlags
	var batches []int
	var s shape
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain",
		Short: "print the bill of an engine step, what bounds it, and its roofline",
		Long: `Explain computes how long one step of a fake engine takes, and why: a number of
answers that each attend to --context tokens and, with --prefill, a new prompt
beside them. TPOT is that of the answers alone; TTFT is that of the prompt beside
them, when it need not wait. With --engine.speculative-method each answer has drafts
to verify, the bill has the passes of the drafter, and TPOT is the time between two
steps over the tokens that the mean step gives; place and bound are the target's. The floor is what the GPU could do at best, at its
peak rate and full bandwidth. The bound is what takes most of the step: reading
weights, computing, reading the KV cache, the links between GPUs, or launches.

Between "at least" and "at most" lies what a real engine would show if the profile is
off by its error. A column that is not validated has something that no measurement
behind the profile had, so its error may be larger.

The roofline shows the arithmetic that each batch reaches over its arithmetic for each
byte read, on one GPU: left of the ridge the memory is the limit, right of it the
arithmetic. The distance to the roof is what launches, links and losses cost.

These are estimates for a batch that stays as it is; goodput run shows what comes
of arrivals.`,
		Example: `  goodput profile explain --gpu h100-sxm --engine-model llama-3.1-8b --batch 1,8,64
  goodput profile explain --engine-model llama-3.1-70b --tp 4 --engine.quantization fp8 --batch 32 --context 4096 --prefill 2048
  goodput profile explain --engine-model mixtral-8x7b --tp 2 --batch 1,4,16,64 --json
  goodput profile explain --engine.speculative-method eagle --engine.num-speculative-tokens 3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := flags.resolve(env, (*plan.Plan).ValidatePool)
			if err != nil {
				return err
			}
			h, err := newHardware(&p)
			if err != nil {
				return err
			}
			if !c.Flags().Changed("batch") {
				batches = slices.DeleteFunc(batches, func(n int) bool { return n > 1 && n*(1+p.EngineSpecTokens) >= p.EngineMaxNumBatchedTokens })
			}
			d, err := newDrafting(&p, &h)
			if err != nil {
				return err
			}
			x := newExplanation(&h, d)
			for _, s.batch = range batches {
				if err := s.check(&h.model, d.drafts(), p.EngineMaxNumBatchedTokens); err != nil {
					return err
				}
				x.add(&h, d, s, p.EngineMaxNumBatchedTokens)
			}
			if asJSON {
				return writeJSON(env.Stdout, x)
			}
			return x.text(env.Stdout, &h)
		},
	}
	c.Flags().IntSliceVar(&batches, "batch", []int{1, 8, 32, 128}, "answers in the step; several numbers make several columns")
	c.Flags().IntVar(&s.context, "context", 1024, "tokens that each answer attends to")
	c.Flags().IntVar(&s.prefill, "prefill", 0, "tokens of a new prompt beside them; 0: none")
	c.Flags().BoolVar(&asJSON, "json", false, "print the bill as JSON")
	flags = newPlanFlags(c, "hardware")
	return c
}

// check is of a step whose answers have drafts each.
func (s shape) check(m *profiles.Model, drafts, budget int) error {
	switch most := budget / (1 + drafts); {
	case s.batch < 0 || s.batch > most && drafts == 0:
		return fmt.Errorf("--batch: %d is outside 0 to %d, the token budget of a step (--engine.max-num-batched-tokens)", s.batch, budget)
	case s.batch > most:
		return fmt.Errorf("--batch: %d is outside 0 to %d, as each answer takes %d tokens of the budget of a step, %d (--engine.max-num-batched-tokens)",
			s.batch, most, 1+drafts, budget)
	case s.context < 1 || s.context > m.MaxLen:
		return fmt.Errorf("--context: %d is outside 1 to %d, the context length of %s", s.context, m.MaxLen, m.Name)
	case s.prefill < 0 || s.prefill > m.MaxLen:
		return fmt.Errorf("--prefill: %d is outside 0 to %d, the context length of %s", s.prefill, m.MaxLen, m.Name)
	case s.batch == 0 && s.prefill == 0:
		return fmt.Errorf("--batch: a step of no answers and no prompt is none: give --batch 1 or more, or --prefill")
	case s.prefill > 0 && s.batch*(1+drafts) == budget:
		return fmt.Errorf("--batch: %d answers use up the token budget, so the prompt of --prefill never starts: ask for fewer", s.batch)
	}
	return nil
}

// explanation is the answer of profile explain.
type explanation struct {
	Schema       int                   `json:"schema"`
	GPU          string                `json:"gpu"`
	Model        string                `json:"engine_model"`
	TP           int                   `json:"tp"`
	Quantization profiles.Quantization `json:"quantization"`
	KVCacheDType profiles.KVCacheDType `json:"kv_cache_dtype"`
	// Multiplies is the type in which the layers' matrices are multiplied.
	Multiplies   string          `json:"compute_dtype"`
	WeightBytes  float64         `json:"weight_bytes_per_gpu"`
	KVPerToken   int64           `json:"kv_bytes_per_token_per_gpu"`
	KVBlocks     int             `json:"kv_blocks"`
	BlockSize    int             `json:"block_size"`
	ITLError     float64         `json:"itl_error"`
	TTFTError    float64         `json:"ttft_error"`
	ErrorsStatus profiles.Status `json:"errors_status"`
	// Drafts are computed for each answer in a step, and AcceptanceLength is the mean
	// number of tokens that such a step gives it; 0 and 1 without a drafter.
	Drafts           int             `json:"drafts"`
	AcceptanceLength float64         `json:"acceptance_length"`
	Steps            []explainedStep `json:"steps"`
	Warnings         []string        `json:"warnings"`
}

type explainedStep struct {
	Batch   int `json:"batch"`
	Context int `json:"context"`
	// Prefill is the new prompt, Chunks in how many steps it is computed, Chunk how
	// much of it is in this one.
	Prefill int `json:"prefill"`
	Chunks  int `json:"prefill_steps"`
	Chunk   int `json:"prefill_chunk"`

	Bill       billMS         `json:"bill_ms"`
	StepMS     float64        `json:"step_ms"`
	FloorMS    float64        `json:"floor_ms"`
	Bound      steptime.Bound `json:"bound"`
	BoundShare float64        `json:"bound_share"`
	// KVUse is the share of the KV blocks that the contexts and the prompt take.
	KVUse  float64  `json:"kv_use"`
	TPOTMS *float64 `json:"tpot_ms"` // null: no answers
	TTFTMS *float64 `json:"ttft_ms"` // null: no prompt
	// The bands are the error of the profile to either side; null: as above.
	TPOTBand *band `json:"tpot_ms_band"`
	TTFTBand *band `json:"ttft_ms_band"`
	// Roof is the place of the step on the roofline.
	Roof roofPoint `json:"roofline"`
	// Unvalidated is what no measurement behind the profile had.
	Unvalidated []string `json:"unvalidated"`
}

type billMS struct {
	Matmul      float64 `json:"matmul"`
	KV          float64 `json:"kv"`
	Attention   float64 `json:"attention"`
	Elementwise float64 `json:"elementwise"`
	AllReduce   float64 `json:"all_reduce"`
	Head        float64 `json:"head"`
	Launch      float64 `json:"launch"`
	Sequences   float64 `json:"per_sequence"`
	Host        float64 `json:"host"`
	Drafter     float64 `json:"drafter"`
}

func newExplanation(h *hardware, d *drafting) *explanation {
	x := &explanation{
		Schema: 1, GPU: h.gpu.Name, Model: h.model.Name, TP: h.tp,
		Quantization: h.model.Quantization, KVCacheDType: h.model.KVCacheDType, Multiplies: "bf16",
		WeightBytes: h.model.WeightBytes() / float64(h.tp), KVPerToken: h.model.KVBytesPerToken(h.tp),
		KVBlocks: h.blocks, BlockSize: h.blockSize,
		ITLError: h.gpu.ITLError.Value, TTFTError: h.gpu.TTFTError.Value, ErrorsStatus: h.gpu.ITLError.Status,
		Drafts: d.drafts(), AcceptanceLength: d.length(),
		Warnings: []string{},
	}
	if h.model.Quantization == profiles.FP8 && h.gpu.FP8 != nil {
		x.Multiplies = "fp8"
	}
	return x
}

// add explains one step.
func (x *explanation) add(h *hardware, d *drafting, s shape, budget int) {
	k := d.drafts()
	e := explainedStep{Batch: s.batch, Context: s.context, Prefill: s.prefill, Unvalidated: []string{}}
	if s.batch > 0 {
		tpot := d.tpot(h, s)
		e.TPOTMS, e.TPOTBand = &tpot, newBand(tpot, x.ITLError)
	}
	if s.prefill > 0 {
		ttft := float64(h.gpu.FrontEndDelay()) / 1e6
		for done := 0; done < s.prefill; e.Chunks++ {
			n := min(s.prefill-done, budget-s.batch*(1+k))
			b := s.step(k, done, n)
			ttft += ms(d.step(h, &b))
			done += n
		}
		e.TTFTMS, e.TTFTBand = &ttft, newBand(ttft, x.TTFTError)
		e.Chunk = min(s.prefill, budget-s.batch*(1+k))
	}
	b := s.step(k, 0, e.Chunk)
	bill, total := h.step.Bill(&b), d.step(h, &b)
	e.Bill = billMS{
		Matmul: ms(bill.Matmul), KV: ms(bill.KV), Attention: ms(bill.Attention), Elementwise: ms(bill.Elementwise),
		AllReduce: ms(bill.AllReduce), Head: ms(bill.Head), Launch: ms(bill.Launch), Sequences: ms(bill.Sequences), Host: ms(bill.Host),
		Drafter: ms(total - bill.Total()),
	}
	e.StepMS, e.FloorMS = ms(total), ms(d.floor(h, &b))
	e.Roof = newRoofPoint(h, &b, bill.Total())
	bound, ps := h.step.Bound(&b)
	e.Bound, e.BoundShare = bound, float64(ps)/float64(total)

	each := blocksOf(s.context+k, h.blockSize)
	usable := h.blocks - 1 // without the null block
	used := s.batch*each + blocksOf(s.prefill, h.blockSize)
	e.KVUse = float64(used) / float64(usable)
	if used > usable {
		x.Warnings = append(x.Warnings, fmt.Sprintf("batch %d needs %d KV blocks of %d: at most %d answers of %d tokens fit, the others would wait or be preempted",
			s.batch, used, usable, usable/each, s.context))
	}
	e.Unvalidated = append(e.Unvalidated, h.gpu.Covered.Gaps(&h.model, h.tp, s.batch)...)
	if k > 0 {
		e.Unvalidated = append(e.Unvalidated, "speculative decoding")
	}
	x.Steps = append(x.Steps, e)
}

// step is the batch of the answers, each with so many drafts to verify, and n tokens
// of the prompt behind the first done.
func (s shape) step(drafts, done, n int) steptime.Batch {
	var b steptime.Batch
	for range s.batch {
		b.Add(s.context-1, 1+drafts)
	}
	b.Drafts = s.batch * drafts
	b.Emit = s.batch + b.Drafts
	if n > 0 {
		b.Add(done, n)
		if done+n == s.prefill {
			b.Emit++
		}
	}
	return b
}

func blocksOf(tokens, size int) int { return (tokens + size - 1) / size }

// ms converts picoseconds.
func ms(ps int64) float64 { return float64(ps) / 1e9 }

func (x *explanation) text(w io.Writer, h *hardware) error {
	var b strings.Builder
	fmt.Fprintln(&b, h)
	fmt.Fprintf(&b, "each GPU holds %.2f GB of weights, multiplied in %s, and %.1f KiB of KV cache per token\n",
		x.WeightBytes/1e9, x.Multiplies, float64(x.KVPerToken)/1024)
	first := x.Steps[0]
	fmt.Fprintf(&b, "one step of answers that attend to %d tokens%s\n", first.Context, prefillText(&first))
	if x.Drafts > 0 {
		fmt.Fprintf(&b, "with %d drafts each to verify; the mean step gives an answer %.2f tokens\n", x.Drafts, x.AcceptanceLength)
	}
	b.WriteByte('\n')

	x.line(&b, "batch", func(e *explainedStep) string { return fmt.Sprint(e.Batch) })
	for _, part := range []struct {
		name string
		of   func(*billMS) float64
	}{
		{"matrix products", func(b *billMS) float64 { return b.Matmul }},
		{"KV reads", func(b *billMS) float64 { return b.KV }},
		{"prompt attention", func(b *billMS) float64 { return b.Attention }},
		{"element-wise", func(b *billMS) float64 { return b.Elementwise }},
		{"all-reduce", func(b *billMS) float64 { return b.AllReduce }},
		{"output head", func(b *billMS) float64 { return b.Head }},
		{"kernel launches", func(b *billMS) float64 { return b.Launch }},
		{"per sequence", func(b *billMS) float64 { return b.Sequences }},
		{"wait for the host", func(b *billMS) float64 { return b.Host }},
		{"drafter", func(b *billMS) float64 { return b.Drafter }},
	} {
		if part.name == "drafter" && x.Drafts == 0 {
			continue
		}
		x.line(&b, part.name, func(e *explainedStep) string { return number(part.of(&e.Bill)) })
	}
	x.line(&b, "step, ms", func(e *explainedStep) string { return number(e.StepMS) })
	x.line(&b, "floor, ms", func(e *explainedStep) string { return number(e.FloorMS) })
	x.line(&b, "bound by", func(e *explainedStep) string { return string(e.Bound) })
	x.line(&b, "  its share", func(e *explainedStep) string { return fmt.Sprintf("%.0f %%", 100*e.BoundShare) })
	x.line(&b, "KV blocks in use", func(e *explainedStep) string { return fmt.Sprintf("%.1f %%", 100*e.KVUse) })
	x.predicted(&b, "TPOT, ms", func(e *explainedStep) (*float64, *band) { return e.TPOTMS, e.TPOTBand })
	x.predicted(&b, "TTFT, ms", func(e *explainedStep) (*float64, *band) { return e.TTFTMS, e.TTFTBand })
	x.line(&b, "validated", func(e *explainedStep) string { return validated(e.Unvalidated) })

	fmt.Fprintf(&b, "\nerror to expect: TPOT %.0f %%, TTFT %.0f %% (%s; goodput profile show %s)\n", 100*x.ITLError, 100*x.TTFTError, x.ErrorsStatus, x.GPU)
	if gaps := x.gaps(); len(gaps) > 0 {
		fmt.Fprintf(&b, "unvalidated: the measurements behind the errors do not cover %s\n", strings.Join(gaps, ", "))
	}
	for _, warning := range x.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	b.WriteByte('\n')
	if err := x.roofline(&b, h); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gaps lists what is unvalidated in any of the steps.
func (x *explanation) gaps() []string {
	var out []string
	for i := range x.Steps {
		for _, gap := range x.Steps[i].Unvalidated {
			if !slices.Contains(out, gap) {
				out = append(out, gap)
			}
		}
	}
	return out
}

// prefillText tells of the prompt, and how much of it is in the first step.
func prefillText(e *explainedStep) string {
	switch {
	case e.Prefill == 0:
		return ""
	case e.Chunks == 1:
		return fmt.Sprintf(", and a prompt of %d", e.Prefill)
	}
	return fmt.Sprintf(", and the first %d tokens of a prompt of %d, which takes %d steps", e.Chunk, e.Prefill, e.Chunks)
}

// line writes one row, a column for each step.
func (x *explanation) line(b *strings.Builder, name string, cell func(*explainedStep) string) {
	fmt.Fprintf(b, "%-18s", name)
	for i := range x.Steps {
		fmt.Fprintf(b, " %9s", cell(&x.Steps[i]))
	}
	b.WriteByte('\n')
}

// number has four significant digits, and no more than five decimals.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	return fmt.Sprintf("%.*f", min(max(digits, 0), 5), v)
}

func optional(v *float64) string {
	if v == nil {
		return "-"
	}
	return number(*v)
}
