package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no scheme", func(c *Config) { c.BaseURLs = []string{"localhost:8000"} }, "http://HOST:PORT"},
		{"no host", func(c *Config) { c.BaseURLs = []string{"http://"} }, "http://HOST:PORT"},
		{"no URL", func(c *Config) { c.BaseURLs = []string{"http://a b%zz"} }, "http://HOST:PORT"},
		{"password", func(c *Config) { c.BaseURLs = []string{"http://u:hunter22@h"} }, "Authorization header"},
		{"query", func(c *Config) { c.BaseURLs = []string{"http://h/?a=b"} }, "query"},
		{"v1 twice", func(c *Config) { c.BaseURLs = []string{"http://h/v1/"} }, "leave it out"},
		{"endpoint", func(c *Config) { c.Endpoint = "v1/x" }, "write it as a path"},
		{"TTFT timeout", func(c *Config) { c.TTFTTimeout = -time.Second }, "negative"},
		{"request timeout", func(c *Config) { c.RequestTimeout = -time.Second }, "negative"},
		{"model", func(c *Config) { c.Model = "\xff" }, "UTF-8"},
		{"reserved header", func(c *Config) { c.Header = http.Header{"accept-encoding": {"gzip"}} }, "cannot be timed"},
		{"header name", func(c *Config) { c.Header = http.Header{"a b": {"c"}} }, "header name"},
		{"header value", func(c *Config) { c.Header = http.Header{"a": {"hunter22\n"}} }, "line break"},
		{"API key", func(c *Config) { c.APIKey = "hunter22\n" }, "line break"},
		{"two keys", func(c *Config) {
			c.APIKey = "hunter22"
			c.Header = http.Header{"Authorization": {"Bearer hunter22"}}
		}, "leave one out"},
		{"no loop", func(c *Config) { c.Loop = nil }, "must be set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{
				BaseURLs: []string{"http://h"}, Loop: newLoop(), Stamp: &ticks{},
				Prompt: func([]target.Span, ...target.Quote) wire.Prompt { return words("x") },
			}
			tt.change(&cfg)
			_, err := New(cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter22") {
				t.Errorf("error %v, want %q within and no secret", err, tt.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	tests := []struct {
		name, base, endpoint string
		chat                 bool
		api, models          string
	}{
		{"usual", "http://h:1", "", false, "http://h:1/v1/completions", "http://h:1/v1/models"},
		{"chat below a path", "https://h/a/", "", true, "https://h/a/v1/chat/completions", "https://h/a/v1/models"},
		{"v1 in the base", "http://h/v1", "/chat/completions", true, "http://h/v1/chat/completions", "http://h/v1/models"},
		{"other stem", "http://h", "/openai/v1/completions", false, "http://h/openai/v1/completions", "http://h/openai/v1/models"},
		{"own path", "http://h", "/generate", false, "http://h/generate", "http://h/v1/models"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Endpoint: tt.endpoint, API: map[bool]wire.API{true: wire.Chat}[tt.chat]}
			_, api, models, err := cfg.urls(tt.base)
			if err != nil {
				t.Fatal(err)
			}
			if api.String() != tt.api || models.String() != tt.models {
				t.Errorf("got %s and %s, want %s and %s", api, models, tt.api, tt.models)
			}
		})
	}
}

func TestModels(t *testing.T) {
	tests := []struct {
		name, status, body string
		want               []string
		err                string
	}{
		{"two", "200 OK", `{"object":"list","data":[{"id":"b"},{"id":"a"}]}`, []string{"b", "a"}, ""},
		{"none", "200 OK", `{"data":[]}`, nil, "the list is empty"},
		{"not a list", "200 OK", `<html>`, nil, "OpenAI-compatible"},
		{"not allowed", "401 No", `{"error":{"message":"bad key sk-1234567890"}}`, nil, "HTTP status 401: bad key [secret]; name the model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := listen(t, func(c *conn) {
				if req, _ := c.request(); req != nil && req.URL.Path == "/v1/models" {
					c.say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", tt.status, len(tt.body), tt.body))
				}
			})
			r := newRig(t, p.url(), func(c *Config) { c.APIKey = "sk-1234567890" })
			got, err := r.Models(t.Context())
			if strings.Join(got, " ") != strings.Join(tt.want, " ") || (err != nil) != (tt.err != "") {
				t.Fatalf("got %v, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q within", err, tt.err)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		p := listen(t, func(*conn) {})
		p.l.Close()
		_, err := newRig(t, p.url()).Models(t.Context())
		if err == nil || !strings.Contains(err.Error(), "is the server running") {
			t.Errorf("error %v", err)
		}
	})
}
