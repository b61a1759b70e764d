package pickertest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
)

// Stream is one exchange as the picker sees it.
type Stream = extprocv3.ExternalProcessor_ProcessServer

// Behaviour is what a picker does in an exchange.
type Behaviour func(s Stream) error

// Serve serves a picker on l until stop is called, which breaks off what is under way.
func Serve(l net.Listener, b Behaviour) (stop func()) {
	s := grpc.NewServer()
	extprocv3.RegisterExternalProcessorServer(s, processor{behave: b})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // it ends with Stop
	}()
	return func() {
		s.Stop()
		<-done
	}
}

type processor struct {
	extprocv3.UnimplementedExternalProcessorServer
	behave Behaviour
}

func (p processor) Process(s Stream) error { return p.behave(s) }

// Asked is a request as a picker sees it.
type Asked struct {
	Header map[string]string
	Body   []byte
	// Subset is what may be picked, by the hint of the proxy.
	Subset []string
}

// Choice is what a picker decides.
type Choice struct {
	// Endpoints is the list; InHeader and InMetadata say where it is told.
	Endpoints            string
	InHeader, InMetadata bool
	// Set changes headers of the request; Answer headers of the answer.
	Set, Answer map[string]string
	Remove      []string
	// Body is what the request is to be; nil: what it was.
	Body []byte
	// Immediate is the status of an answer of the picker's own, with Body; 0: none.
	Immediate int
}

// To chooses endpoints, told in the header and in the metadata.
func To(endpoints ...string) Choice {
	return Choice{Endpoints: strings.Join(endpoints, ","), InHeader: true, InMetadata: true}
}

// Ended is what a picker learns of an answer.
type Ended struct {
	Status, Served string
	Body           []byte
}

// Duplex behaves as the llm-d router does: it reads the whole request, decides by choose,
// sends the body back in pieces, and then each piece of the answer. It calls ended, if
// there is one, with the answer that it saw.
func Duplex(choose func(Asked) Choice, ended func(Ended)) Behaviour {
	return func(s Stream) error {
		asked, err := readRequest(s)
		if err != nil {
			return err
		}
		c := choose(asked)
		if c.Immediate != 0 {
			return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode(c.Immediate)}, Headers: mutation(c.Set, nil), Body: c.Body,
			}}})
		}
		if err := s.Send(decision(&c)); err != nil {
			return err
		}
		body := asked.Body
		if c.Body != nil {
			body = c.Body
		}
		if asked.Body != nil {
			if err := sendBody(s, body); err != nil {
				return err
			}
		}
		return readAnswer(s, &c, ended)
	}
}

// readRequest reads until the end of the request; Body is nil if it has none.
func readRequest(s Stream) (Asked, error) {
	out := Asked{Header: map[string]string{}}
	for {
		m, err := s.Recv()
		if err != nil {
			return out, err
		}
		for _, v := range m.GetMetadataContext().GetFilterMetadata()["envoy.lb.subset_hint"].GetFields()["x-gateway-destination-endpoint-subset"].GetListValue().GetValues() {
			out.Subset = append(out.Subset, v.GetStringValue())
		}
		switch r := m.Request.(type) {
		case *extprocv3.ProcessingRequest_RequestHeaders:
			for _, h := range r.RequestHeaders.Headers.Headers {
				out.Header[h.Key] = string(h.RawValue)
			}
			if r.RequestHeaders.EndOfStream {
				return out, nil
			}
		case *extprocv3.ProcessingRequest_RequestBody:
			if out.Body == nil {
				out.Body = []byte{}
			}
			out.Body = append(out.Body, r.RequestBody.Body...)
			if r.RequestBody.EndOfStream {
				return out, nil
			}
		default:
			return out, fmt.Errorf("%T in a request", r)
		}
	}
}

func mutation(set map[string]string, remove []string) *extprocv3.HeaderMutation {
	out := &extprocv3.HeaderMutation{RemoveHeaders: remove}
	for k, v := range set {
		out.SetHeaders = append(out.SetHeaders, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: k, RawValue: []byte(v)}})
	}
	return out
}

// decision is the answer to the headers of a request.
func decision(c *Choice) *extprocv3.ProcessingResponse {
	m := mutation(c.Set, c.Remove)
	if c.InHeader {
		m.SetHeaders = append(m.SetHeaders, mutation(map[string]string{"x-gateway-destination-endpoint": c.Endpoints}, nil).SetHeaders...)
	}
	out := &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: &extprocv3.HeadersResponse{
		Response: &extprocv3.CommonResponse{HeaderMutation: m, ClearRouteCache: true},
	}}}
	if c.InMetadata {
		out.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{"envoy.lb": structpb.NewStructValue(&structpb.Struct{
			Fields: map[string]*structpb.Value{"x-gateway-destination-endpoint": structpb.NewStringValue(c.Endpoints)},
		})}}
	}
	return out
}

// pieceSize is how large pieces are that a picker sends: Envoy takes no more than 64 KiB.
const pieceSize = 62000

func sendBody(s Stream, body []byte) error {
	for {
		n := min(len(body), pieceSize)
		end := n == len(body)
		err := s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: streamed(body[:n], end)}})
		if err != nil || end {
			return err
		}
		body = body[n:]
	}
}

func streamed(piece []byte, end bool) *extprocv3.BodyResponse {
	return &extprocv3.BodyResponse{Response: &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
		Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{Body: piece, EndOfStream: end}},
	}}}
}

// readAnswer echoes the answer.
func readAnswer(s Stream, c *Choice, ended func(Ended)) error {
	var e Ended
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var out *extprocv3.ProcessingResponse
		end := false
		switch r := m.Request.(type) {
		case *extprocv3.ProcessingRequest_ResponseHeaders:
			for _, h := range r.ResponseHeaders.Headers.Headers {
				if h.Key == ":status" {
					e.Status = string(h.RawValue)
				}
			}
			e.Served = m.GetMetadataContext().GetFilterMetadata()["envoy.lb"].GetFields()["x-gateway-destination-endpoint-served"].GetStringValue()
			end = r.ResponseHeaders.EndOfStream
			out = &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &extprocv3.HeadersResponse{
				Response: &extprocv3.CommonResponse{HeaderMutation: mutation(c.Answer, nil)},
			}}}
		case *extprocv3.ProcessingRequest_ResponseBody:
			e.Body = append(e.Body, r.ResponseBody.Body...)
			end = r.ResponseBody.EndOfStream
			out = &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: streamed(r.ResponseBody.Body, end)}}
		default:
			continue // the rest of a request that was decided before its end
		}
		if end && ended != nil {
			ended(e)
		}
		if err := s.Send(out); err != nil {
			return err
		}
	}
}
