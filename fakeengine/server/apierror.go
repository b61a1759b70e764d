package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// apiError is an answer that says why there is no other, in the shape that vLLM
// gives it.
type apiError struct {
	status  int
	kind    string // "type" on the wire
	param   string // the field at fault; "" is null
	message string
	// retryAfter goes into the header of that name, in whole seconds; 0: no header.
	retryAfter time.Duration
}

// retryAfter is when a client whose request found the queue full may ask again.
// Nobody knows how long the queue will take; it is the least that the header can
// say.
const retryAfter = time.Second

func (e *apiError) Error() string { return e.message }

// badRequest refuses what the client can put right; param may be "".
func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: "BadRequestError", param: param, message: fmt.Sprintf(format, args...)}
}

// plainError is an error of HTTP itself, not of the request's content.
func plainError(status int, format string, args ...any) *apiError {
	return &apiError{status: status, kind: http.StatusText(status), message: fmt.Sprintf(format, args...)}
}

func unknownModel(name, base string) *apiError {
	return &apiError{
		status: http.StatusNotFound, kind: "NotFoundError", param: "model",
		message: fmt.Sprintf("the model %q does not exist here; this server has %q and the adapters that /v1/models lists", name, base),
	}
}

// write sends e, with a length, so that the connection can be used again.
func (e *apiError) write(w http.ResponseWriter) {
	b := append([]byte(nil), `{"error":{"message":`...)
	b = appendString(b, e.message)
	b = append(b, `,"type":`...)
	b = appendString(b, e.kind)
	b = append(b, `,"param":`...)
	if e.param == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, e.param)
	}
	b = append(b, `,"code":`...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	b = append(b, "}}"...)
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(e.retryAfter/time.Second), 10))
	}
	writeJSON(w, e.status, b)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // nobody is left to tell
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("server: a string has no JSON form: %v", err)) // strings always have one
	}
	return append(dst, b...)
}
