package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"goodput/loadgen/wire"
)

// maxModelsBytes bounds the list of models.
const maxModelsBytes = 1 << 20

// Models asks the servers for the names of the models that all of them serve, in the
// order of the first. It needs neither the loop nor the clock, and fails if there is no
// name.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	var common []string
	for i, e := range c.endpoints {
		names, err := c.listModels(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("asking %s for the served models: %w", e.models, err)
		}
		if i == 0 {
			common = names
			continue
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(names, name) })
		if len(common) == 0 {
			return nil, fmt.Errorf("%s serves no model that those before it serve; use base URLs of one model", e.models)
		}
	}
	return common, nil
}

func (c *Client) listModels(ctx context.Context, e *endpoint) ([]string, error) {
	req := &http.Request{Method: http.MethodGet, URL: e.models, Host: c.host, Header: c.header.Clone()}
	resp, err := e.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w; is the server running, and is the base URL right?", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxModelsBytes))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text := wire.Clip(c.secrets.Replace(wire.ErrorText(body)))
		return nil, fmt.Errorf("HTTP status %d: %s; name the model yourself, or check the base URL and the API key",
			resp.StatusCode, text)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the answer is not a list of models (%w); is this an OpenAI-compatible server?", err)
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the list is empty; name the model yourself")
	}
	return names, nil
}
