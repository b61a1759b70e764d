package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"goodput/datasets"
	"goodput/datasets/prompt"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/target/openai"
)

// sampleTokens are asked of a server's tokenizer: each of the 512 words of prompts about
// four times, next to others.
const sampleTokens = 2048

// tokenizeTimeout is what a check of words may take.
const tokenizeTimeout = 5 * time.Second

// checkTokens compares the vocabulary of prompts with the server's tokenizer, and says on
// the error output, once for each program, if it is not known to be one token a word.
func (s *session) checkTokens(env *Env, tokenize func(context.Context, string) (openai.Tokenized, error)) error {
	p := &s.plan
	if p.CheckTokens == "off" || p.PromptTokenIDs {
		return nil
	}
	text, err := io.ReadAll(prompt.New([]datasets.Span{{Key: 1, Tokens: sampleTokens}}).Reader())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tokenizeTimeout)
	defer cancel()
	got, err := tokenize(ctx, string(text))
	problem := tokenProblem(p, got, err)
	if got.Offered {
		s.facts[record.TargetPerWord] = strconv.FormatFloat(float64(got.Tokens)/sampleTokens, 'f', -1, 64)
	}
	switch {
	case problem == "":
	case p.CheckTokens == "require":
		return exitf(exitTarget, "--check-tokens require: %s", problem)
	case !env.tokensTold:
		env.tokensTold = true
		fmt.Fprintf(env.Stderr, "goodput: %s\n", problem)
	}
	return nil
}

// tokenProblem says what is not as planned about a server's tokens; "": nothing.
func tokenProblem(p *plan.Plan, got openai.Tokenized, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("whether prompts have as many tokens there as planned is not known: %v", err)
	case !got.Offered:
		return "the server has no /tokenize to tell whether prompts have as many tokens there as planned; the report compares its own counts with the plan"
	case got.Tokens == sampleTokens:
		return ""
	}
	ratio := float64(got.Tokens) / sampleTokens
	advice := "choose lengths accordingly"
	if p.Backend == "openai" || p.Backend == "vllm" {
		advice = "send exact ones by --prompt-token-ids, or " + advice
	}
	return fmt.Sprintf("the server's tokenizer makes %d tokens of %d words, %.3f of each, and so many times longer are prompts than planned: %s", got.Tokens, sampleTokens, ratio, advice)
}
