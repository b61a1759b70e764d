package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client that floods the proxy with headers gets 431, no backend sees it, and others are
// served as before.
func TestProxyHeaderFlood(t *testing.T) {
	asked := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked++
		}
		fmt.Fprint(w, "well")
	}))
	defer up.Close()
	addr := proxyBefore(t, "round-robin", strings.TrimPrefix(up.URL, "http://"))
	ask := func(headers int) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/completions", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range headers {
			r.Header.Set(fmt.Sprint("X-Flood-", i), strings.Repeat("x", 1<<10))
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // of 431 the connection may break off
		return resp.StatusCode, string(text)
	}
	if status, text := ask(0); status != http.StatusOK || text != "well" {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := ask(80); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("80 KiB of headers: status %d: %s", status, text)
	}
	if status, text := ask(10); status != http.StatusOK || text != "well" {
		t.Errorf("after a flood: status %d: %s", status, text)
	}
	if up.Close(); asked != 2 {
		t.Errorf("the backend was asked %d times, want 2", asked)
	}
}
