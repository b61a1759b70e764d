package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// A picker that fails before it has decided costs an error, or nothing if the rule may
// stand in. What it did is counted.
func TestPickerFails(t *testing.T) {
	up := said(t, "a")
	stall := make(chan struct{})
	t.Cleanup(func() { close(stall) })
	hang := func(pickertest.Stream) error { <-stall; return nil }
	for name, c := range map[string]struct {
		behave  pickertest.Behaviour
		timeout time.Duration
		code    int
		counter extproc.Counter
	}{
		"says nothing":     {hang, short, 504, extproc.TimedOut},
		"ends at once":     {func(pickertest.Stream) error { return nil }, patient, 500, extproc.Failed},
		"has an error":     {func(pickertest.Stream) error { return status.Error(codes.Internal, "oops") }, patient, 500, extproc.Failed},
		"is not available": {func(pickertest.Stream) error { return status.Error(codes.Unavailable, "not the leader") }, patient, 500, extproc.Unreachable},
		"decides, and no more": {func(s pickertest.Stream) error {
			if err := s.Send(to(endpoint(up))); err != nil {
				return err
			}
			<-stall
			return nil
		}, short, 504, extproc.TimedOut},
		"half of a body": {func(s pickertest.Stream) error {
			half := whole([]byte("{"))
			half.GetRequestBody().Response.BodyMutation.GetStreamedResponse().EndOfStream = false
			return errors.Join(s.Send(to(endpoint(up))), s.Send(half))
		}, patient, 500, extproc.Failed},
		"a body before its time": {func(s pickertest.Stream) error {
			return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: &extprocv3.BodyResponse{}}})
		}, patient, 500, extproc.Failed},
		"status 7": {func(s pickertest.Stream) error {
			return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{Status: &typev3.HttpStatus{Code: 7}}}})
		}, patient, 500, extproc.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			r := picking(t, c.behave, c.timeout, false, up)
			if code, text, err := read(t, post(t, r.url, "{}", nil)); code != c.code || err != nil {
				t.Errorf("closed: %d %s %v", code, text, err)
			}
			if n := r.client.Count(c.counter); n != 1 {
				t.Errorf("%d %s", n, c.counter)
			}
			r = picking(t, c.behave, c.timeout, true, up)
			if code, text, err := read(t, post(t, r.url, "{}", nil)); code != 200 || text != "a got {}" || err != nil {
				t.Errorf("open: %d %s %v", code, text, err)
			}
			if n := r.Picks().Opened; n != 1 {
				t.Errorf("%d went by the rule", n)
			}
		})
	}
}

// A picker that was not there, or went away, is asked again when it is back.
func TestPickerComesBack(t *testing.T) {
	up := said(t, "a")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	behave := pickertest.Duplex(func(pickertest.Asked) pickertest.Choice { return pickertest.To(endpoint(up)) }, nil)
	stop := pickertest.Serve(l, behave)
	r := pickingAt(t, addr, patient, false, up)
	ask := func() int {
		code, _, _ := read(t, post(t, r.url, "{}", nil))
		return code
	}
	if code := ask(); code != 200 {
		t.Fatalf("at first %d", code)
	}
	stop()
	if code := ask(); code != 500 || r.client.Count(extproc.Unreachable) != 1 {
		t.Errorf("without a picker %d, %d unreachable", code, r.client.Count(extproc.Unreachable))
	}
	if l, err = net.Listen("tcp", addr); err != nil {
		t.Skip("somebody else took the port: ", err)
	}
	t.Cleanup(pickertest.Serve(l, behave))
	for range 1000 { // the next try to connect comes within a second
		if ask() == 200 {
			return
		}
		<-time.NewTimer(10 * time.Millisecond).C
	}
	t.Error("the picker is back, and is not asked")
}

// An answer never looks whole when the picker did not send all of it back, and no stream
// gets stuck, whatever the picker does.
func TestPickerFailsInAnswer(t *testing.T) {
	stall := make(chan struct{})
	t.Cleanup(func() { close(stall) })
	for name, c := range map[string]struct {
		// then is what the picker does from the first piece of the answer on.
		then    func(s pickertest.Stream) error
		timeout time.Duration
		counter extproc.Counter
	}{
		"ends with an error": {func(pickertest.Stream) error { return status.Error(codes.Internal, "oops") }, patient, extproc.Failed},
		"says nothing more": {func(s pickertest.Stream) error {
			for {
				if _, err := s.Recv(); err != nil {
					return err
				}
			}
		}, short, extproc.TimedOut},
		"reads no more": {func(pickertest.Stream) error { <-stall; return nil }, short, extproc.TimedOut},
		"evicts": {func(s pickertest.Stream) error {
			return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{Status: &typev3.HttpStatus{Code: 429}}}})
		}, patient, extproc.Answered},
		"more after the end": {func(s pickertest.Stream) error {
			m := func(end bool) *extprocv3.ProcessingResponse {
				b := whole([]byte("more")).GetRequestBody()
				b.Response.BodyMutation.GetStreamedResponse().EndOfStream = end
				return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: b}}
			}
			return errors.Join(s.Send(m(false)), status.Error(codes.Aborted, "and no end"))
		}, patient, extproc.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			up := backend(t, func(w http.ResponseWriter, r *http.Request) {
				piece := bytes.Repeat([]byte("data: x\n\n"), 4<<10)
				for range 100 { // 3.6 MB: more than there is room for on the way
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			})
			r := picking(t, func(s pickertest.Stream) error {
				for {
					m, err := s.Recv()
					if err != nil {
						return err
					}
					switch q := m.Request.(type) {
					case *extprocv3.ProcessingRequest_RequestBody:
						if q.RequestBody.EndOfStream {
							err = errors.Join(s.Send(to(endpoint(up))), s.Send(whole([]byte("{}"))))
						}
					case *extprocv3.ProcessingRequest_ResponseHeaders:
						err = s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{}}})
					case *extprocv3.ProcessingRequest_ResponseBody:
						return c.then(s)
					}
					if err != nil {
						return err
					}
				}
			}, c.timeout, false, up)
			resp := post(t, r.url, "{}", nil)
			if _, _, err := read(t, resp); err == nil && resp.StatusCode == 200 {
				t.Error("the answer looks whole")
			}
			if n := r.client.Count(c.counter); n != 1 {
				t.Errorf("%d %s", n, c.counter)
			}
		})
	}
}

// An answer that the backend broke off is broken off, too, and the picker is not blamed.
func TestPickedBrokenAnswer(t *testing.T) {
	up := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := picking(t, pickertest.Duplex(func(pickertest.Asked) pickertest.Choice { return pickertest.To(endpoint(up)) }, nil), patient, false, up)
	if code, text, err := read(t, post(t, r.url, "{}", nil)); err == nil && code != 502 {
		t.Errorf("%q looks whole", text)
	}
	if r.client.Count(extproc.Failed) != 0 || r.Picks().Cut != 0 {
		t.Error("it is said to be the picker's fault")
	}
}

// A client that leaves takes its exchange out of the picker and its request out of the
// backend.
func TestPickedClientLeaves(t *testing.T) {
	gone, over := make(chan error, 1), make(chan error, 1)
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	})
	duplex := pickertest.Duplex(func(pickertest.Asked) pickertest.Choice { return pickertest.To(endpoint(up)) }, nil)
	r := picking(t, func(s pickertest.Stream) error {
		err := duplex(s)
		over <- err
		return err
	}, patient, false, up)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = resp.Body.Close()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-over; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	if n := r.client.Count(extproc.Failed) + r.client.Count(extproc.TimedOut); n != 0 {
		t.Errorf("%d exchanges failed", n)
	}
}

func TestPickerAddress(t *testing.T) {
	for _, addr := range []string{"", "9002", "http://127.0.0.1:9002", ":9002", "tls://x"} {
		if _, err := extproc.New(extproc.Config{Addr: addr}); err == nil || !strings.Contains(err.Error(), "write it as") {
			t.Errorf("%q: %v", addr, err)
		}
	}
	names := map[string]bool{}
	for _, c := range extproc.Counters() {
		names[c.String()] = true
	}
	if len(names) != len(extproc.Counters()) || slices.Contains(extproc.Counters(), extproc.Counter(100)) {
		t.Error("two counters have one name")
	}
}
