package openai

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"goodput/loadgen/target"
)

// answers is a handler that gives a complete answer.
func answers(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "data: "+tok+"\n\ndata: "+finish+"\n\ndata: [DONE]\n\n")
}

func TestTrust(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(answers))
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	tests := []struct {
		name  string
		trust *tls.Config
		want  target.Cause
	}{
		{"the system's", nil, target.CauseConnect},
		{"its own certificate", &tls.Config{RootCAs: roots}, target.CauseEOF},
		{"anybody", &tls.Config{InsecureSkipVerify: true}, target.CauseEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, s.URL, func(c *Config) { c.TLS = tt.trust })
			first, second := r.one(t), r.one(t)
			if first.result.Cause != tt.want || second.result.Cause != tt.want {
				t.Fatalf("%+v, then %+v", first.result, second.result)
			}
			if tt.want != target.CauseEOF {
				return
			}
			if n := first.result.Net; n == nil || n.Dial <= 0 || n.TLS <= 0 || n.DNS != target.Unknown || n.URL != target.Unknown {
				t.Errorf("a new connection is %+v", n)
			}
			if n := second.result.Net; n != nil {
				t.Errorf("a connection that served before is %+v", n)
			}
		})
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(answers))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	if rec := newRig(t, "unix://"+path).one(t); rec.result.Cause != target.CauseEOF || rec.count(target.Done) != 1 {
		t.Errorf("%+v", rec.result)
	}
}
