package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/wire"
)

// readyEvery is the time between two attempts to reach a server.
const readyEvery = 250 * time.Millisecond

// awaitServer tries to reach the server until it answers, or seconds are over.
func awaitServer(env *Env, seconds int, reach func(context.Context) error) error {
	if seconds == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	err := reach(ctx)
	if err == nil {
		return nil
	}
	fmt.Fprintf(env.Stderr, "waiting up to %d s for the server (--ready-check-timeout-sec): %v\n", seconds, err)
	interrupts, release := env.interrupts()
	defer release()
	tick := make(chan struct{}, 1)
	defer clock.Every(readyEvery, func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})()
	for {
		select {
		case <-interrupts:
			return exitf(exitInterrupted, "interrupted while waiting for the server")
		case <-ctx.Done():
			return exitf(exitTarget, "no answer within %d s: %w", seconds, err)
		case <-tick:
		}
		if again := reach(ctx); again == nil {
			return nil
		} else if ctx.Err() == nil {
			err = again
		}
	}
}

// extraFields are those that the plan adds to each request's body, in the order of
// their names.
func extraFields(p *plan.Plan) ([]wire.Extra, error) {
	fields, err := p.Body()
	if err != nil {
		return nil, fmt.Errorf("--extra-body: %w", err)
	}
	var out []wire.Extra
	if p.TokenHistory() {
		fields["return_token_ids"] = json.RawMessage("true")
	}
	for k, v := range fields {
		out = append(out, wire.Extra{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b wire.Extra) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}
