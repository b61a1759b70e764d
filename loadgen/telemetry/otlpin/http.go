package otlpin

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

// Handler takes OTLP over HTTP: POST to /v1/traces, and to /v1/metrics and /v1/logs,
// which are read and forgotten.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, q *http.Request) { r.export(w, q, true) })
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, q *http.Request) { r.export(w, q, false) })
	mux.HandleFunc("POST /v1/logs", func(w http.ResponseWriter, q *http.Request) { r.export(w, q, false) })
	return mux
}

// export answers one request, in the media type that it came in.
func (r *Receiver) export(w http.ResponseWriter, q *http.Request, traces bool) {
	kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type"))
	if err != nil || kind != typeProtobuf && kind != typeJSON {
		r.refuse(w, typeJSON, http.StatusUnsupportedMediaType, errors.New("send "+typeProtobuf+" or "+typeJSON))
		return
	}
	body, err := payload(w, q)
	if err == nil && traces {
		in, e := decode(body, kind == typeJSON)
		if err = e; err == nil {
			r.take(in)
		}
	}
	switch {
	case errors.Is(err, errTooLarge):
		r.refuse(w, kind, http.StatusRequestEntityTooLarge, err)
		return
	case err != nil:
		r.refuse(w, kind, http.StatusBadRequest, err)
		return
	}
	// The empty message, which is full success.
	text := ""
	if kind == typeJSON {
		text = "{}"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text) // the sender asks again if it has not got it
}

// payload reads the body.
func payload(w http.ResponseWriter, q *http.Request) ([]byte, error) {
	if q.ContentLength > maxBody {
		w.Header().Set("Connection", "close")
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	switch enc := strings.ToLower(q.Header.Get("Content-Encoding")); enc {
	case "", "identity":
		return body, nil
	case "gzip":
		return inflate(body)
	default:
		return nil, errors.New("the body is encoded as " + enc + ": send gzip, or nothing")
	}
}

// refuse counts the request and says why, as OTLP has it: a google.rpc.Status.
func (r *Receiver) refuse(w http.ResponseWriter, kind string, code int, err error) {
	r.refused.Add(1)
	s := status.New(codes.InvalidArgument, err.Error()).Proto()
	marshal := proto.Marshal
	if kind == typeJSON {
		marshal = protojson.Marshal
	}
	text, e := marshal(s)
	if e != nil {
		text = nil
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(text) // who does not read it learns it from the code
}
