package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"goodput/loadgen/clock"
)

// maxAdminBody bounds the bodies that are no prompts, in bytes.
const maxAdminBody = 1 << 20

func writeText(w http.ResponseWriter, s string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(s)))
	_, _ = w.Write([]byte(s)) // nobody is left to tell
}

// version says what this is.
func (f *front) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, append(appendString([]byte(`{"version":`), f.srv.version), '}'))
}

// tokenize answers with the numbers of a prompt's tokens.
func (f *front) tokenize(w http.ResponseWriter, r *http.Request) {
	s := f.srv
	raw, err := readBody(w, r, nil, s.maxBody)
	if err != nil {
		err.write(w)
		return
	}
	t := tokenizer{keep: true}
	if err := f.decoder(shape{}).decodePrompt(raw, &t); err != nil {
		err.write(w)
		return
	}
	b := append([]byte(nil), `{"count":`...)
	b = strconv.AppendInt(b, int64(t.n), 10)
	b = append(b, `,"max_model_len":`...)
	b = strconv.AppendInt(b, int64(s.engine.MaxModelLen), 10)
	b = append(b, `,"tokens":[`...)
	b = list(b, 0, len(t.kept), func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(t.kept[i]), 10) })
	writeJSON(w, http.StatusOK, append(b, `],"token_strs":null}`...))
}

// resetCache has the replicas forget what is cached.
func (f *front) resetCache(w http.ResponseWriter, r *http.Request) {
	e := &cacheReset{srv: f.srv, replica: f.replica, done: make(chan []int, 1)}
	f.srv.loop.Post(e)
	select {
	case busy := <-e.done:
		if len(busy) > 0 {
			names := make([]string, len(busy))
			for i, n := range busy {
				names[i] = strconv.Itoa(n)
			}
			plainError(http.StatusConflict, "requests hold blocks of the cache of replica %s, which was not reset; try again when they have ended", strings.Join(names, ", ")).write(w)
			return
		}
		w.WriteHeader(http.StatusOK)
	case <-f.srv.closed:
		shuttingDown().write(w)
	case <-r.Context().Done():
	}
}

// cacheReset is a reset on the loop.
type cacheReset struct {
	srv     *Server
	replica int
	done    chan []int // replicas that could not; room for the one answer
}

var _ clock.Event = (*cacheReset)(nil)

// Fire implements clock.Event (R21: nothing is forgotten while a block is held).
func (e *cacheReset) Fire(clock.Time) {
	var busy []int
	for i, r := range e.srv.replicas {
		if (e.replica == anyReplica || e.replica == i) && !r.engine.ResetPrefixCache() {
			busy = append(busy, i)
		}
	}
	e.done <- busy
}

// Entity is the same for all resets: the second has nothing to do.
func (e *cacheReset) Entity() uint64 { return 0 }

func tooBusy(replica, waiting int) *apiError {
	return &apiError{
		status: http.StatusTooManyRequests, kind: "TooManyRequests", retryAfter: retryAfter,
		message: fmt.Sprintf("%d requests wait at replica %d; try again later", waiting, replica),
	}
}
