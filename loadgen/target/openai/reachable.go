package openai

import (
	"context"
	"fmt"
	"net/http"
)

// Reachable asks for the list of models, and fails unless the server answers anything
// at all, be it that there is none.
func (c *Client) Reachable(ctx context.Context) error {
	req := &http.Request{Method: http.MethodGet, URL: c.models, Host: c.host, Header: c.header.Clone()}
	resp, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%s does not answer: %w; is the server running, and is the base URL right?", c.models, err)
	}
	return resp.Body.Close()
}
