package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code.
func Main(env Env) (code int) {
	stderr := newPatient(env.Stderr)
	defer stderr.close()
	env.Stderr = stderr
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(env.Stderr, "goodput: internal error: %v\n%s\nplease report this, with the command that you ran\n", r, debug.Stack())
			code = exitInternal
		}
	}()
	root := newRoot(&env)
	args := env.Args
	if len(args) > 0 && args[0] == "run" {
		args = spread(args)
	}
	root.SetArgs(args)
	err := root.Execute()
	if err != nil {
		fmt.Fprintf(env.Stderr, "goodput: %s\n", strings.TrimSpace(err.Error()))
	}
	return exitCode(err)
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "goodput",
		Short: "measure how much load an LLM serving stack carries while users get what they were promised",
		Long: `goodput offers load open-loop to any OpenAI-compatible server or router, or to its
own pool of fake GPU engines, and records every request.

A first test, in virtual time, without any server:

  goodput run --request-rate 8 --num-prompts 500 --dataset-name prefix_repetition`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(commands(env)...)
	return root
}

// commands are those below the root. Each has its flags from the first moment, which
// takes longer than a short command itself: where the command line begins with the
// name of one, nothing asks for the others.
func commands(env *Env) []*cobra.Command {
	all := []struct {
		name string
		make func(*Env) *cobra.Command
	}{
		{"run", newRun},
		{"sweep", newSweep},
		{"compare", newCompare},
		{"gate", newGate},
		{"serve", newServe},
		{"proxy", newProxy},
		{"report", newReport},
		{"watch", newWatch},
		{"recover", newRecover},
		{"merge", newMerge},
		{"profile", newProfile},
		{"dataset", newDataset},
		{"version", newVersion},
		{guardName, newGuard},
		{"vllm-flags", func(*Env) *cobra.Command { return newVLLMTopic() }},
	}
	var out []*cobra.Command
	for _, c := range all {
		if len(env.Args) > 0 && env.Args[0] == c.name {
			return []*cobra.Command{c.make(env)}
		}
	}
	for _, c := range all {
		out = append(out, c.make(env))
	}
	return out
}
