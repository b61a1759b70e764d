package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"goodput/loadgen/wire"
)

// Tokenized is what a server's tokenizer makes of a text.
type Tokenized struct {
	// Offered: the server has POST /tokenize below the base URL, as vLLM does.
	Offered bool
	// Tokens of the text alone, without those that a prompt begins with.
	Tokens int
}

// Tokenize asks the first server for the number of tokens of a text. A server without
// such an endpoint is no error. It needs neither the loop nor the clock.
func (c *Client) Tokenize(ctx context.Context, text string) (Tokenized, error) {
	e := c.endpoints[0]
	fields := map[string]any{"prompt": text, "add_special_tokens": false}
	if c.cfg.Model != "" {
		fields["model"] = c.cfg.Model
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return Tokenized{}, err
	}
	header := c.header.Clone()
	header.Set("Content-Type", "application/json")
	at := e.beside("/tokenize")
	req := &http.Request{
		Method: http.MethodPost, URL: at, Host: c.host, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	resp, err := e.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return Tokenized{}, fmt.Errorf("asking %s for tokens: %w", at, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxModelsBytes))
	if err != nil {
		return Tokenized{}, fmt.Errorf("asking %s for tokens: %w", at, err)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return Tokenized{}, nil
	case code != http.StatusOK:
		return Tokenized{}, fmt.Errorf("asking %s for tokens: HTTP status %d: %s", at, code, wire.Clip(c.secrets.Replace(wire.ErrorText(answer))))
	}
	var got struct {
		Count  *int              `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	switch err := json.Unmarshal(answer, &got); {
	case err != nil || got.Count == nil && got.Tokens == nil:
		return Tokenized{}, nil // something else has that name
	case got.Count != nil:
		return Tokenized{true, *got.Count}, nil
	}
	return Tokenized{true, len(got.Tokens)}, nil
}
