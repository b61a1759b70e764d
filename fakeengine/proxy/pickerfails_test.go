package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"goodput/fakeengine/proxy/extproc"
	"goodput/fakeengine/proxy/pickertest"
)

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
