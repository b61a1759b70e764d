package openai

import (
	"context"
	"fmt"
	"net/http"
)

// Reachable asks for the list of models, and fails unless each server answers anything
// at all, be it that there is none.
func (c *Client) Reachable(ctx context.Context) error {
	for _, e := range c.endpoints {
		req := &http.Request{Method: http.MethodGet, URL: e.models, Host: c.host, Header: c.header.Clone()}
		resp, err := e.transport.RoundTrip(req.WithContext(ctx))
		if err != nil {
			return fmt.Errorf("%s does not answer: %w; is the server running, and is the base URL right?", e.models, err)
		}
		if err := resp.Body.Close(); err != nil {
			return fmt.Errorf("the answer of %s: %w", e.models, err)
		}
	}
	return nil
}
