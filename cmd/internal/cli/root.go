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
	root.AddCommand(newRun(env), newSweep(env), newCompare(env), newGate(env), newServe(env), newProxy(env), newReport(env), newWatch(env), newRecover(env), newProfile(env), newDataset(env), newVersion(env), newVLLMTopic())
	return root
}
