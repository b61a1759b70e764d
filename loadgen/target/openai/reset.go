package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"goodput/loadgen/wire"
)

// ResetPrefixCache asks each server to forget the prompts that it has cached, by
// POST /reset_prefix_cache below the base URL, which vLLM offers in its development
// mode. It fails unless all say that they did.
func (c *Client) ResetPrefixCache(ctx context.Context) error {
	for _, e := range c.endpoints {
		if err := c.reset(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) reset(ctx context.Context, e *endpoint) error {
	at := e.beside("/reset_prefix_cache")
	header := c.header.Clone()
	header.Set("Content-Length", "0")
	req := &http.Request{Method: http.MethodPost, URL: at, Host: c.host, Header: header}
	resp, err := e.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("resetting the prefix cache: %w", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes)) // the status says enough
	text := wire.Clip(c.secrets.Replace(wire.ErrorText(body)))
	switch code := resp.StatusCode; code {
	case http.StatusOK, http.StatusNoContent:
		return nil
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return fmt.Errorf("%s does not offer to reset its prefix cache (HTTP status %d): vLLM does with VLLM_SERVER_DEV_MODE=1; without, leave it out: prompts of another run share nothing with this one unless you ask for that", at, code)
	default:
		return fmt.Errorf("resetting the prefix cache by %s: HTTP status %d: %s", at, code, text)
	}
}

// beside is a path of the server that is not one of the API's.
func (e *endpoint) beside(path string) *url.URL {
	at := &url.URL{Scheme: e.base.Scheme, Host: e.base.Host}
	at.Path = strings.TrimSuffix(strings.TrimRight(e.base.Path, "/"), "/v1") + path
	return at
}
