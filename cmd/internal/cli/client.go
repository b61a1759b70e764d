package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"goodput/datasets/prompt"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// wireAPI is what a backend speaks.
func wireAPI(backend string) wire.API {
	switch backend {
	case "openai-chat":
		return wire.Chat
	case "openai-responses":
		return wire.Responses
	case "openai-embeddings":
		return wire.Embeddings
	}
	return wire.Completions
}

// structured reports whether prompts go out as JSON values in place of one text.
func structured(p *plan.Plan) bool { return wireAPI(p.Backend) == wire.Chat || p.PromptTokenIDs }

// promptOf makes prompts as the backend takes them.
func promptOf(p *plan.Plan) func([]target.Span, ...target.Quote) wire.Prompt {
	if p.PromptTokenIDs {
		return func(spans []target.Span, quotes ...target.Quote) wire.Prompt { return prompt.NewIDs(spans, quotes...) }
	}
	if wireAPI(p.Backend) == wire.Chat {
		return func(spans []target.Span, quotes ...target.Quote) wire.Prompt { return prompt.NewChat(spans, quotes...) }
	}
	return func(spans []target.Span, quotes ...target.Quote) wire.Prompt { return prompt.New(spans, quotes...) }
}

// newClient is what the plan's client does beside sending each request once. The plan
// was validated.
func newClient(p *plan.Plan) dispatch.Client {
	if !p.Client() {
		return dispatch.Client{}
	}
	c := dispatch.Client{
		Retries: p.Retries, Budget: float64(p.RetryBudget), Backoff: p.RetryBackoff, HonorRetryAfter: p.HonorRetryAfter,
		CancelRate: float64(p.CancelRate), RequestTimeout: p.RequestTimeout, Seed: p.Seed,
	}
	if h, err := p.Hedge(); err == nil {
		c.HedgeAfter, c.HedgeQuantile = h.After, h.Quantile
	}
	if l, err := p.Leave(); err == nil {
		c.CancelAfter, c.CancelTokens = l.After, l.Tokens
	}
	return c
}

// clientCounters says what was sent beside each request once.
func clientCounters(to map[string]int64, a dispatch.Attempts) {
	to["attempts"], to["retries"], to["hedges"] = a.Sent, a.Retries, a.Hedges
	to["hedges_won"], to["retries_denied"] = a.HedgesWon, a.Denied
}

// maxCAFile bounds a file of certificates, in bytes.
const maxCAFile = 4 << 20

// newTrust says whose certificates are good; nil: those that the system trusts.
func newTrust(p *plan.Plan) (*tls.Config, error) {
	switch {
	case p.Insecure:
		return &tls.Config{InsecureSkipVerify: true}, nil
	case p.CAFile == "":
		return nil, nil
	}
	text, err := readLimited(p.CAFile, maxCAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca-file: %s holds no certificate in PEM form", p.CAFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}
