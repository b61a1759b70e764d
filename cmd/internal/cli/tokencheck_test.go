package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/target/openai"
)

func TestCheckTokens(t *testing.T) {
	for _, c := range []struct {
		name     string
		got      openai.Tokenized
		err      error
		ids      bool
		fact     string
		problem  string // with warn; with require the error
		unasked  bool
		whenever string
	}{
		{name: "one token a word", got: openai.Tokenized{Offered: true, Tokens: 2048}, fact: "1"},
		{name: "more", got: openai.Tokenized{Offered: true, Tokens: 3072}, fact: "1.5", problem: "3072 tokens of 2048 words, 1.500 of each"},
		{name: "what to do", got: openai.Tokenized{Offered: true, Tokens: 3072}, fact: "1.5", problem: "--prompt-token-ids"},
		{name: "not offered", problem: "no /tokenize"},
		{name: "an error", err: errors.New("HTTP status 500"), problem: "HTTP status 500"},
		{name: "token numbers", ids: true, unasked: true},
		{name: "off", whenever: "off", unasked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []string{"warn", "require"} {
				if c.whenever != "" {
					mode = c.whenever
				}
				p := plan.Default()
				p.CheckTokens, p.PromptTokenIDs, p.Backend = mode, c.ids, "openai"
				var log bytes.Buffer
				env := &Env{Stderr: &log}
				asked := false
				s := &session{plan: p, facts: map[string]string{}}
				check := func() error {
					return s.checkTokens(env, func(_ context.Context, text string) (openai.Tokenized, error) {
						asked = len(strings.Fields(text)) == 2048
						return c.got, c.err
					})
				}
				err := check()
				told := log.String()
				if mode == "require" && err != nil {
					told = err.Error()
				} else if err != nil {
					t.Errorf("%s: %v", mode, err)
				}
				if !strings.Contains(told, c.problem) || c.problem == "" && told != "" || asked == c.unasked || s.facts["tokens_per_word"] != c.fact {
					t.Errorf("%s: told %q, asked %v, facts %v", mode, told, asked, s.facts)
				}
				if mode == "warn" {
					log.Reset()
					if check() != nil || log.Len() > 0 {
						t.Errorf("told twice: %q", log.String())
					}
				}
			}
		})
	}
}
