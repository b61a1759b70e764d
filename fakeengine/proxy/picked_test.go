package proxy_test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/proxy"
	"goodput/fakeengine/proxy/extproc"
	"goodput/fakeengine/proxy/pickertest"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// patient is a timeout that no busy machine reaches, short one that is to be reached.
const (
	patient = 60 * time.Second
	short   = 100 * time.Millisecond
)

// rig is a proxy that asks a picker.
type rig struct {
	*proxy.Proxy
	client *extproc.Client
	url    string
}

// picking puts a proxy that asks a picker before backends.
func picking(t *testing.T, b pickertest.Behaviour, timeout time.Duration, open bool, backends ...string) rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pickertest.Serve(l, b))
	return pickingAt(t, l.Addr().String(), timeout, open, backends...)
}

func pickingAt(t *testing.T, addr string, timeout time.Duration, open bool, backends ...string) rig {
	t.Helper()
	policy, err := router.New("round-robin", 1)
	if err != nil {
		t.Fatal(err)
	}
	loop, err := clock.NewReal(clock.Speed(1))
	if err != nil {
		t.Fatal(err)
	}
	loop.Start(0)
	endpoints, err := proxy.Endpoints(backends)
	if err != nil {
		t.Fatal(err)
	}
	client, err := extproc.New(extproc.Config{Addr: addr, Timeout: timeout, Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := proxy.New(proxy.Config{Policy: policy, Backends: backends, Stamp: loop, ID: "a", Cooldown: time.Hour, Picker: client, FailOpen: open})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s := httptest.NewServer(p)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return rig{p, client, s.URL}
}

// said is a backend that says its name and the request's body.
func said(t *testing.T, name string) string {
	return backend(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s got %s", name, b)
	})
}

func endpoint(url string) string { return strings.TrimPrefix(url, "http://") }

// read is an answer, whole; err tells that it broke off.
func read(t *testing.T, resp *http.Response) (int, string, error) {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// Headers, body and endpoint are as the picker wants them, each event is at the client
// before the backend makes the next one, and the picker sees the answer to its end.
func TestPickedStreams(t *testing.T) {
	taken := make(chan struct{})
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != `{"model":"real"}` || r.ContentLength != int64(len(got)) || r.URL.String() != "/v1/completions?a=b" {
			t.Errorf("the backend got %q of %d bytes at %s, %v", got, r.ContentLength, r.URL, err)
		}
		want := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "X-Picked": {"yes"}, "X-Secret": nil}
		for k, v := range want {
			if d := cmp.Diff(v, r.Header[k]); d != "" {
				t.Errorf("%s:%s", k, d)
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for i := range 5 {
			fmt.Fprintf(w, "data: %d\xff\x00\n\n", i)
			_ = rc.Flush()
			<-taken
		}
	})
	other := said(t, "other")
	ended := make(chan pickertest.Ended, 1)
	r := picking(t, pickertest.Duplex(func(a pickertest.Asked) pickertest.Choice {
		for k, v := range map[string]string{":method": "POST", ":path": "/v1/completions?a=b", ":scheme": "http", "x-many": "2"} {
			if a.Header[k] != v {
				t.Errorf("the picker got %s: %q", k, a.Header[k])
			}
		}
		if d := cmp.Diff([]string{endpoint(other), endpoint(up)}, a.Subset); d != "" {
			t.Error(d)
		}
		if string(a.Body) != `{"model":"alias"}` {
			t.Errorf("the picker got %q", a.Body)
		}
		c := pickertest.To(endpoint(up))
		c.Set, c.Remove, c.Body = map[string]string{"X-Picked": "yes", ":path": "/elsewhere", "host": "x"}, []string{"x-secret"}, []byte(`{"model":"real"}`)
		c.Answer = map[string]string{"x-went-into-resp-headers": "true"}
		return c
	}, func(e pickertest.Ended) { ended <- e }), patient, false, other, up)
	resp := post(t, r.url+"/v1/completions?a=b", `{"model":"alias"}`, http.Header{
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "X-Many": {"1", "2"}, "X-Secret": {"s"},
	})
	if resp.StatusCode != 200 || resp.Header.Get("X-Goodput-Replica") != "1" || resp.Header.Get("X-Went-Into-Resp-Headers") != "true" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	in := bufio.NewReader(resp.Body)
	var all string
	for i := range 5 {
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\xff\x00\n", i) {
			t.Fatalf("event %d: %q %v", i, line, err)
		}
		empty, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		all += line + empty
		taken <- struct{}{}
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("behind the last event: %q %v", rest, err)
	}
	if d := cmp.Diff(pickertest.Ended{Status: "200", Served: endpoint(up), Body: []byte(all)}, <-ended); d != "" {
		t.Error(d)
	}
	for c, want := range map[extproc.Counter]int64{extproc.Asked: 1, extproc.Picked: 1, extproc.Dropped: 2, extproc.Failed: 0} {
		if got := r.client.Count(c); got != want {
			t.Errorf("%d %s, want %d", got, c, want)
		}
	}
}

// The list of endpoints may be in the header, in the metadata, or in both; it goes on to
// the next one where a connection fails, and leaves out what is no backend.
func TestPickedEndpoints(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	a, b := said(t, "a"), said(t, "b")
	at := strings.Join([]string{endpoint(dead.URL), "10.0.0.1:1", " " + endpoint(b)}, ",")
	for name, c := range map[string]struct {
		choice pickertest.Choice
		says   string
		code   int
		picks  proxy.Picks
	}{
		"in the header":   {pickertest.Choice{Endpoints: endpoint(a), InHeader: true}, "a got {}", 200, proxy.Picks{}},
		"in the metadata": {pickertest.Choice{Endpoints: endpoint(b), InMetadata: true}, "b got {}", 200, proxy.Picks{}},
		"a list":          {pickertest.To(at), "b got {}", 200, proxy.Picks{FellBack: 1, Outside: 1}},
		"all dead":        {pickertest.To(endpoint(dead.URL)), "gave no answer", 502, proxy.Picks{}},
		"no backend":      {pickertest.To("10.0.0.1:1"), "no backends of this proxy", 500, proxy.Picks{Outside: 1}},
		"none":            {pickertest.Choice{}, "names no endpoint", 500, proxy.Picks{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := picking(t, pickertest.Duplex(func(pickertest.Asked) pickertest.Choice { return c.choice }, nil), patient, false, a, b, dead.URL)
			code, text, err := read(t, post(t, r.url, "{}", nil))
			if err != nil || code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("%d %s, %v", code, text, err)
			}
			if d := cmp.Diff(c.picks, r.Picks()); d != "" {
				t.Error(d)
			}
			for i, l := range r.Loads() {
				if l.Outstanding != 0 {
					t.Errorf("backend %d: %+v", i, l)
				}
			}
		})
	}
}

// A picker's own answer is the client's, whenever it comes before the backend's headers.
func TestPickerAnswers(t *testing.T) {
	up := said(t, "a")
	r := picking(t, pickertest.Duplex(func(pickertest.Asked) pickertest.Choice {
		return pickertest.Choice{Immediate: 429, Body: []byte("too much"), Set: map[string]string{"Retry-After": "3"}}
	}, nil), patient, true, up)
	resp := post(t, r.url, "{}", nil)
	if code, text, err := read(t, resp); code != 429 || text != "too much" || err != nil || resp.Header.Get("Retry-After") != "3" {
		t.Errorf("%d %q %v %v", code, text, err, resp.Header)
	}
	if n := r.client.Count(extproc.Answered); n != 1 {
		t.Errorf("%d are counted", n)
	}
	evicts := func(s pickertest.Stream) error {
		for {
			m, err := s.Recv()
			if err != nil {
				return err
			}
			switch q := m.Request.(type) {
			case *extprocv3.ProcessingRequest_RequestBody:
				if !q.RequestBody.EndOfStream {
					continue
				}
				if err := errors.Join(s.Send(to(endpoint(up))), s.Send(whole(q.RequestBody.Body))); err != nil {
					return err
				}
			case *extprocv3.ProcessingRequest_ResponseHeaders:
				return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					Status: &typev3.HttpStatus{Code: typev3.StatusCode_TooManyRequests}, Body: []byte("evicted"),
				}}})
			}
		}
	}
	r = picking(t, evicts, patient, true, up)
	if code, text, err := read(t, post(t, r.url, "{}", nil)); code != 429 || text != "evicted" || err != nil {
		t.Errorf("%d %q %v", code, text, err)
	}
}

// to is the decision for an endpoint.
func to(endpoint string) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{
		Response: &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{
			{Header: &corev3.HeaderValue{Key: "x-gateway-destination-endpoint", Value: endpoint}},
		}}},
	}}}
}

// whole sends a body back in one piece.
func whole(body []byte) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: &extprocv3.BodyResponse{
		Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_StreamedResponse{
			StreamedResponse: &extprocv3.StreamedBodyResponse{Body: body, EndOfStream: true},
		}}},
	}}}
}

// pieceByPiece behaves as pickers for the mode STREAMED: it answers each piece before it
// decides at the end of the request, and leaves all of it as it is.
func pieceByPiece(endpoint string) pickertest.Behaviour {
	asIs := func() *extprocv3.BodyResponse {
		return &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{}}
	}
	return func(s pickertest.Stream) error {
		for {
			m, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			out := &extprocv3.ProcessingResponse{}
			switch q := m.Request.(type) {
			case *extprocv3.ProcessingRequest_RequestHeaders:
				if !q.RequestHeaders.EndOfStream {
					continue
				}
				out = to(endpoint)
			case *extprocv3.ProcessingRequest_RequestBody:
				if q.RequestBody.EndOfStream {
					if err := s.Send(to(endpoint)); err != nil {
						return err
					}
				}
				out.Response = &extprocv3.ProcessingResponse_RequestBody{RequestBody: asIs()}
			case *extprocv3.ProcessingRequest_ResponseHeaders:
				out.Response = &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{}}
			case *extprocv3.ProcessingRequest_ResponseBody:
				out.Response = &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: asIs()}
			}
			if err := s.Send(out); err != nil {
				return err
			}
		}
	}
}

// routesOnly behaves as the llm-d router does for what it has no interest in: it decides,
// sends the request back and ends the stream.
func routesOnly(endpoint string) pickertest.Behaviour {
	return func(s pickertest.Stream) error {
		var body []byte
		for {
			m, err := s.Recv()
			if err != nil {
				return err
			}
			end := m.GetRequestHeaders().GetEndOfStream()
			if b := m.GetRequestBody(); b != nil {
				body, end = append(body, b.Body...), b.EndOfStream
			}
			if end {
				if err := s.Send(to(endpoint)); err != nil || m.GetRequestBody() == nil {
					return err
				}
				return s.Send(whole(body))
			}
		}
	}
}

// Bodies of any size go through whole, with and without one, and with each way in which
// pickers answer.
func TestPickedBodies(t *testing.T) {
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %d %x ", r.Method, len(b), sha256.Sum256(b))
		_, _ = w.Write(b[:min(len(b), 200<<10)])
	})
	for name, b := range map[string]pickertest.Behaviour{
		"duplex":         pickertest.Duplex(func(pickertest.Asked) pickertest.Choice { return pickertest.To(endpoint(up)) }, nil),
		"piece by piece": pieceByPiece(endpoint(up)),
		"routes only":    routesOnly(endpoint(up)),
	} {
		t.Run(name, func(t *testing.T) {
			r := picking(t, b, patient, false, up)
			sizes := []int{0, 1, 200 << 10}
			if !testing.Short() {
				sizes = append(sizes, 9<<20) // beyond what is looked into
			}
			for _, size := range sizes {
				body := strings.Repeat("x", size)
				code, text, err := read(t, post(t, r.url, body, nil))
				want := fmt.Sprintf("POST %d %x %s", size, sha256.Sum256([]byte(body)), body[:min(size, 200<<10)])
				if code != 200 || err != nil || text != want {
					t.Errorf("%d bytes: %d, %d bytes, %v: %.100s", size, code, len(text), err, text)
				}
			}
			req, err := http.NewRequest(http.MethodGet, r.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if code, text, err := read(t, resp); code != 200 || !strings.HasPrefix(text, "GET 0 ") || err != nil {
				t.Errorf("%d %q %v", code, text, err)
			}
			_ = resp.Body.Close()
			if n := r.client.Count(extproc.Failed); n != 0 {
				t.Errorf("%d failed", n)
			}
		})
	}
}
