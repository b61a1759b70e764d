package openai

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokenize(t *testing.T) {
	for _, tt := range []struct {
		name, status, body string
		want               Tokenized
		err                string
	}{
		{"by count", "200 OK", `{"count":7,"max_model_len":9,"tokens":[1,2]}`, Tokenized{true, 7}, ""},
		{"by tokens", "200 OK", `{"tokens":[1,2,3]}`, Tokenized{true, 3}, ""},
		{"not offered", "404 Not Found", `{"detail":"Not Found"}`, Tokenized{}, ""},
		{"something else", "200 OK", `<html>`, Tokenized{}, ""},
		{"another shape", "200 OK", `{"ids":[1]}`, Tokenized{}, ""},
		{"broken", "500 Oh", `it was sk-1234567890`, Tokenized{}, "HTTP status 500: it was [secret]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, sent := "", ""
			p := listen(t, func(c *conn) {
				if req, body := c.request(); req != nil {
					asked, sent = req.Method+" "+req.URL.Path, body
					c.say(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", tt.status, len(tt.body), tt.body))
				}
			})
			r := newRig(t, p.url()+"/v1", func(c *Config) { c.APIKey, c.Endpoint = "sk-1234567890", "/completions" })
			got, err := r.Tokenize(t.Context(), ` a "b"`)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || got != tt.want {
				t.Errorf("%+v, error %v; want %+v, %q within", got, err, tt.want, tt.err)
			}
			if want := `{"add_special_tokens":false,"model":"m","prompt":" a \"b\""}`; asked != "POST /tokenize" || sent != want {
				t.Errorf("asked %q with %s, want %s", asked, sent, want)
			}
		})
	}
}
