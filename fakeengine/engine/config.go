package engine

import (
	"errors"
	"fmt"
	"time"
)

// Policy is the order of waiting sequences and of preemption.
type Policy uint8

// The policies.
const (
	FCFS     Policy = iota // first come, first served; the newest is preempted
	Priority               // smaller Seq.Priority first, then earlier arrival; the last is preempted
)

// Batching says when a waiting sequence may join.
type Batching uint8

// The modes.
const (
	Continuous Batching = iota // at every step
	// Static: only when no sequence runs, as servers did before Orca. All that fit
	// join at once and their prompts are computed in one step, whatever the token
	// budget; places of those that are done stay empty until the last one is. For
	// comparison.
	Static
)

// Config is an engine's settings, named as in vLLM.
type Config struct {
	// ID tells the engines of a loop apart and breaks ties between their events.
	ID int
	// MaxNumSeqs bounds the sequences and MaxNumBatchedTokens the tokens of a
	// step.
	MaxNumSeqs, MaxNumBatchedTokens int
	// MaxModelLen bounds prompt plus answer, in tokens.
	MaxModelLen int
	// BlockSize is in tokens. NumGPUBlocks counts the null block, so one block
	// fewer is usable (R2).
	BlockSize, NumGPUBlocks int
	// PrefixCaching: full blocks are found again by content.
	PrefixCaching bool
	// ChunkedPrefill: a prompt may be computed over several steps. Without it,
	// MaxNumBatchedTokens must be at least MaxModelLen.
	ChunkedPrefill bool
	Policy         Policy
	Batching       Batching
	// AsyncScheduling: the step after the next one is scheduled when a step ends,
	// while the next one executes, so that the GPU never waits for the scheduler.
	// An arrival waits for one step more (R25, R26).
	AsyncScheduling bool
	// ReserveFullISL: a sequence is admitted only if all its known tokens fit
	// into free blocks, not just the first chunk.
	ReserveFullISL bool
	// LongPrefillThreshold bounds the tokens of one sequence in one step; 0: only
	// the budget does.
	LongPrefillThreshold int
	// Watermark is the share of NumGPUBlocks that an admission must leave free
	// while others run; 0: none.
	Watermark float64
	// PrependUnhashed puts blocks without cached content to the front of the free
	// list, so that they are used before content is evicted (R18).
	PrependUnhashed bool
	// Speculation: tokens are drafted and verified several in a step.
	Speculation Speculation
	// FrontEnd is the time from Submit until the scheduler can see a sequence
	// (parsing, tokenising); 0: none.
	FrontEnd time.Duration
	// LoRA is the engine's adapters; the zero value: none.
	LoRA LoRA
	// Offload is the KV cache's tier in host memory; the zero value: none. It needs
	// PrefixCaching.
	Offload Offload
	// Steps hears of each step that gave output; nil: nobody wants to know.
	Steps StepSink
	// EveryStep makes each boundary between steps an event of the loop, and walks
	// all running sequences in each step. The result is the same, and takes much
	// longer; it is the reference that the engine is tested against.
	EveryStep bool

	ablate ablation
}

// ablation switches rules off that no engine goes without, so that tests can
// show what each is worth.
type ablation struct {
	appendPreempted bool // preempted sequences queue behind the waiting ones
	headFirstFree   bool // blocks of a sequence are freed from its head on
	coldResume      bool // preempted sequences find none of their blocks again
}

func (c *Config) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"MaxNumSeqs", c.MaxNumSeqs},
		{"MaxNumBatchedTokens", c.MaxNumBatchedTokens},
		{"MaxModelLen", c.MaxModelLen},
	} {
		if f.value < 1 {
			return fmt.Errorf("engine: %s is %d: need at least 1", f.name, f.value)
		}
	}
	switch {
	case c.ID < 0:
		return fmt.Errorf("engine: ID is %d: need 0 or more", c.ID)
	case c.LongPrefillThreshold < 0:
		return fmt.Errorf("engine: LongPrefillThreshold is %d: need a number of tokens, or 0 for no limit", c.LongPrefillThreshold)
	case !(c.Watermark >= 0 && c.Watermark < 1):
		return fmt.Errorf("engine: Watermark is %v: need a share of the blocks, 0 <= w < 1", c.Watermark)
	case c.FrontEnd < 0:
		return fmt.Errorf("engine: FrontEnd is %v: need 0 or more", c.FrontEnd)
	case c.Policy > Priority:
		return fmt.Errorf("engine: Policy is %d: use FCFS or Priority", c.Policy)
	case c.Batching > Static:
		return fmt.Errorf("engine: Batching is %d: use Continuous or Static", c.Batching)
	case !c.ChunkedPrefill && c.Batching != Static && c.MaxNumBatchedTokens < c.MaxModelLen:
		return fmt.Errorf("engine: MaxNumBatchedTokens is %d, less than MaxModelLen %d: without chunked prefill a prompt must fit into one step; raise the one, lower the other, or turn ChunkedPrefill on", c.MaxNumBatchedTokens, c.MaxModelLen)
	}
	if err := errors.Join(c.LoRA.validate(), c.Offload.validate()); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := c.Speculation.validate(c.AsyncScheduling); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// Refusal is why a sequence can never run.
type Refusal uint8

// The refusals.
const (
	NoPrompt       Refusal = iota // Prompt < 1
	NoOutput                      // MaxTokens < 1
	LongerThanLen                 // Prompt + MaxTokens > MaxModelLen
	LargerThanPool                // needs more blocks than there are
	NoAdapters                    // Adapter is set, and the engine serves none
)

// Rejected is Submit's error for a sequence that can never run, whatever the
// load: a bad request, not a busy engine.
type Rejected struct {
	Why Refusal
	// Need and Limit are in tokens, or in blocks for LargerThanPool.
	Need, Limit int
}

// Error says what is too large and what would fit.
func (r *Rejected) Error() string {
	switch r.Why {
	case NoPrompt:
		return fmt.Sprintf("prompt of %d tokens: need at least 1", r.Need)
	case NoOutput:
		return fmt.Sprintf("max_tokens is %d: need at least 1", r.Need)
	case LongerThanLen:
		return fmt.Sprintf("prompt and max_tokens make %d tokens, the model's context length is %d: shorten the prompt or ask for fewer tokens", r.Need, r.Limit)
	case NoAdapters:
		return fmt.Sprintf("adapter %d is asked for, the engine serves the base model only: leave it out, or give the engine places for adapters", r.Need)
	default:
		return fmt.Sprintf("prompt and max_tokens need %d KV blocks, the engine has %d: shorten the prompt or ask for fewer tokens", r.Need, r.Limit)
	}
}
