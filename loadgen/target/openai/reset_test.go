package openai

import (
	"fmt"
	"strings"
	"testing"
)

func TestResetPrefixCache(t *testing.T) {
	for _, tt := range []struct{ name, status, body, path, err string }{
		{"done", "200 OK", "", "", ""},
		{"below a path", "200 OK", "", "/tenant/v1", ""},
		{"not offered", "404 Not Found", `{"detail":"Not Found"}`, "", "VLLM_SERVER_DEV_MODE=1"},
		{"busy", "409 Conflict", `{"error":{"message":"requests hold blocks, says sk-1234567890"}}`, "", "HTTP status 409: requests hold blocks, says [secret]"},
		{"broken", "500 Oh", ``, "", "HTTP status 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked string
			p := listen(t, func(c *conn) {
				if req, _ := c.request(); req != nil {
					asked = req.Method + " " + req.URL.Path
					c.say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", tt.status, len(tt.body), tt.body))
				}
			})
			err := newRig(t, p.url()+tt.path, func(c *Config) { c.APIKey, c.Endpoint = "sk-1234567890", "/completions" }).ResetPrefixCache(t.Context())
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q within", err, tt.err)
			}
			if want := "POST " + strings.TrimSuffix(tt.path, "/v1") + "/reset_prefix_cache"; asked != want {
				t.Errorf("asked %q, want %q", asked, want)
			}
		})
	}
}
