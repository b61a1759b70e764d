package agent

import (
	"errors"
	"fmt"
	"time"
)

// Config are the parameters of a workload of sessions. Lengths are tokens, Dists of
// waits are seconds.
type Config struct {
	// Tenants is the number of groups that share a prefix, at least 1; group k is
	// asked for in proportion to k^-TenantZipf.
	Tenants    int     `yaml:"tenants"`
	TenantZipf float64 `yaml:"tenant_zipf"`

	Shape      Shape      `yaml:"shape"`
	Context    Context    `yaml:"context"`
	Append     Append     `yaml:"append"`
	Wait       Wait       `yaml:"wait"`
	Fanout     Fanout     `yaml:"fanout"`
	Compaction Compaction `yaml:"compaction"`

	// PrefixBreak is the chance of a step that changes all content after the tenant's
	// prefix, as an edit of the history does.
	PrefixBreak float64 `yaml:"prefix_break"`
}

// Shape says how many requests the main thread has: user turns of one step that
// follows on the user and others that follow on tools.
type Shape struct {
	UserTurns    Dist `yaml:"user_turns"`
	StepsPerTurn Dist `yaml:"steps_per_turn"`
	// MaxSteps bounds the steps of the main thread; 0: no bound.
	MaxSteps int `yaml:"max_steps"`
}

// Context is what a session begins with.
type Context struct {
	// MaxTokens is the context window.
	MaxTokens int `yaml:"max_tokens"`
	// GlobalPrefix is shared by all tenants, System and Tools by the sessions of one.
	GlobalPrefix int  `yaml:"global_prefix"`
	System       int  `yaml:"system"`
	Tools        int  `yaml:"tools"`
	Init         Dist `yaml:"init"`
	// ResumeFraction of the sessions begin with Resume instead of Init.
	ResumeFraction float64 `yaml:"resume_fraction"`
	Resume         Dist    `yaml:"resume"`
}

// Append is what each step adds: the user's text or all results of a step's tools,
// and the answer, which begins with Reasoning and stays in the context with it.
type Append struct {
	Reasoning Dist `yaml:"reasoning"`
	User      Dist `yaml:"user"`
	Tool      Dist `yaml:"tool"`
	Assistant Dist `yaml:"assistant"`
}

// Wait is the time between steps, in seconds. A tool that runs into its cap is cut off
// there; people who would take longer than theirs are drawn again, as if their session
// had ended instead.
type Wait struct {
	// ToolCalls run beside each other: the wait is the longest of so many of Tool.
	ToolCalls Dist          `yaml:"tool_calls_per_step"`
	Tool      Dist          `yaml:"tool"`
	ToolCap   time.Duration `yaml:"tool_cap"` // 0: none
	Human     Dist          `yaml:"human"`
	HumanCap  time.Duration `yaml:"human_cap"` // 0: none
}

// Fork and Fresh say what a sub-agent's context begins with, All and None whom the
// parent waits for.
const (
	Fresh = "fresh" // its type's prefix and its task
	Fork  = "fork"  // all that the parent had, and its task
	All   = "all"   // the parent's next step follows on the slowest of them
	None  = "none"  // they run in the background
)

// Fanout is how steps spawn sub-agents. They have the waits of Wait.Tool.
type Fanout struct {
	// Probability that a step which would follow on tools follows on sub-agents.
	Probability float64 `yaml:"probability"`
	Width       Dist    `yaml:"width"`
	Context     string  `yaml:"context"`
	// Prefix is shared by the sub-agents of one of the Types in a tenant.
	Prefix int  `yaml:"prefix"`
	Types  int  `yaml:"types"`
	Task   Dist `yaml:"task"`
	Steps  Dist `yaml:"steps"`
	Tool   Dist `yaml:"tool"`
	// Return is what the parent gets of each.
	Return Dist   `yaml:"return"`
	Join   string `yaml:"join"`
}

// Compaction replaces a context that grew too long by a summary.
type Compaction struct {
	// At is the share of Context.MaxTokens above which it happens; 0: never, and a
	// session ends before it would exceed the window.
	At float64 `yaml:"at"`
	// Request: a step of its own asks for the summary, with Instruction more tokens.
	Request     bool `yaml:"request"`
	Instruction int  `yaml:"instruction"`
	Summary     Dist `yaml:"summary_output"`
	// Reattach is what is put back behind the summary.
	Reattach Dist `yaml:"reattach"`
}

// prefix is what the sessions of a tenant begin with.
func (c *Config) prefix() int { return c.Context.GlobalPrefix + c.Context.System + c.Context.Tools }

// limit is the longest prompt of the main thread.
func (c *Config) limit() int {
	if c.Compaction.At > 0 {
		return int(c.Compaction.At * float64(c.Context.MaxTokens))
	}
	return c.Context.MaxTokens
}

func (c *Config) validate() error {
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	x := &c.Context
	for _, part := range []struct {
		name   string
		tokens int
	}{
		{"context.global_prefix", x.GlobalPrefix},
		{"context.system", x.System},
		{"context.tools", x.Tools},
		{"fanout.prefix", c.Fanout.Prefix},
		{"compaction.instruction", c.Compaction.Instruction},
	} {
		if part.tokens < 0 || part.tokens > maxDraw {
			return fmt.Errorf("%s is %d tokens: use 0 to %d", part.name, part.tokens, maxDraw)
		}
	}
	switch {
	case c.Tenants < 1 || c.Tenants > 1<<20:
		return fmt.Errorf("%d tenants: use 1 to %d", c.Tenants, 1<<20)
	case !(c.TenantZipf >= 0 && c.TenantZipf <= 100):
		return fmt.Errorf("tenant_zipf %v: use 0 (all alike) to 100", c.TenantZipf)
	case !share(c.PrefixBreak) || !share(c.Fanout.Probability) || !share(x.ResumeFraction) || !share(c.Compaction.At):
		return errors.New("prefix_break, resume_fraction, compaction.at and fanout.probability are shares: use 0 to 1")
	case x.MaxTokens < 16 || x.MaxTokens > maxDraw:
		return fmt.Errorf("max_tokens is %d: use 16 to %d", x.MaxTokens, maxDraw)
	case c.prefix() >= c.limit():
		return fmt.Errorf("the prefix of %d tokens leaves no room in a context of %d: raise max_tokens, or shorten system and tools", c.prefix(), c.limit())
	case c.Shape.MaxSteps < 0 || c.Shape.MaxSteps > mostSteps:
		return fmt.Errorf("max_steps is %d: use 0 to %d", c.Shape.MaxSteps, mostSteps)
	case c.Wait.ToolCap < 0 || c.Wait.HumanCap < 0:
		return errors.New("a cap of waits is negative: use 0 for none")
	}
	return c.validateFanout()
}

func (c *Config) validateFanout() error {
	f := &c.Fanout
	switch {
	case f.Probability == 0:
	case f.Context != Fresh && f.Context != Fork:
		return fmt.Errorf("fanout.context %q is unknown: use %s or %s", f.Context, Fresh, Fork)
	case f.Join != All && f.Join != None:
		return fmt.Errorf("fanout.join %q is unknown: use %s or %s", f.Join, All, None)
	case f.Types < 1:
		return errors.New("fanout.types: sub-agents need at least one type")
	}
	return nil
}
